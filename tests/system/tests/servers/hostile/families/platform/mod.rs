//! The platform, whose pages show what was typed: hostile words in every field of every form.

mod fields;
mod site;
mod stored;

/// Words that would end an attribute, an element or a comment, or begin a line of a header; `h0st1le` is where it must
/// never be without an escape.
const WORDS: [&str; 12] = [
    "</textarea></title></script><h0st1le onload=x>",
    "x\" h0st1le=\"1",
    "x' h0st1le='1",
    "&quot;h0st1le",
    "javascript:h0st1le()",
    "--><h0st1le><!--",
    "x\r\nX-h0st1le: 1",
    "x\r\n\r\n<h0st1le>",
    "h0st1le\0x",
    "\u{2028}\u{202e}<h0st1le>\u{feff}",
    "{{h0st1le}}${h0st1le}",
    "\x1b[31m\"><h0st1le\x7f",
];

/// How they would stand in a page that does not escape them.
const RAW: [&str; 9] = [
    "<h0st1le",
    "\" h0st1le=\"",
    "' h0st1le='",
    "&quot;h0st1le",
    "href=\"javascript:",
    "src=\"javascript:",
    "action=\"javascript:",
    "href=\"data:",
    "<script",
];
