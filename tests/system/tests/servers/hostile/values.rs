//! Values of parameters, written as they stand in a query or a form.

/// Stands in values, so that it is found wherever one comes back.
pub(crate) const MARK: &str = "h0st1le";

/// A percent sign that no two hexadecimal digits follow.
pub(crate) const BROKEN: [&str; 8] =
    ["%", "%h0st1le", "h0st1le%", "h0st1le%4", "%zzh0st1le", "%-1h0st1le", "%u003ch0st1le", "%%33ch0st1le"];

/// Bytes that are not UTF-8: alone, overlong, surrogates, beyond the last character, cut off.
pub(crate) const BYTES: [&str; 8] = [
    "%ffh0st1le",
    "h0st1le%80",
    "%c0%afh0st1le",
    "%c0%8aX-h0st1le:%20x",
    "%ed%a0%80h0st1le",
    "%f4%90%80%80h0st1le",
    "h0st1le%e2%82",
    "%fe%ffh0st1le",
];

/// Line ends and characters that are taken for one, ends of texts, and control characters of terminals.
pub(crate) const CONTROLS: [&str; 14] = [
    "%00",
    "h0st1le%00x",
    "%0d%0aX-Hostile:%20h0st1le",
    "%0aSet-Cookie:%20session=h0st1le",
    "%0dLocation:%20https://h0st1le.example/",
    "%0d%0a%0d%0a%3cp%3eh0st1le",
    "h0st1le%0d",
    "%e5%98%8a%e5%98%8dX-Hostile:%20h0st1le",
    "%c4%8d%c4%8aX-Hostile:%20h0st1le",
    "%e2%80%a8h0st1le",
    "%c2%85h0st1le",
    "%09h0st1le%0b%0c",
    "%1b%5b31mh0st1le%7f",
    "%ef%bb%bf%e2%80%aeh0st1le",
];

/// Script for every place of a page and for those who decode twice.
pub(crate) const SCRIPTS: [&str; 16] = [
    "%3Cscript%3Eh0st1le()%3C/script%3E",
    "%3CSCRIPT%20SRC=//h0st1le.example/x.js%3E",
    "%22%3E%3Cimg%20src=x%20onerror=h0st1le()%3E",
    "%27%20onmouseover=%27h0st1le()",
    "%3C/title%3E%3Csvg/onload=h0st1le()%3E",
    "--%3E%3Ch0st1le%3E%3C!--",
    "javascript:h0st1le()",
    "data:text/html,%3Cscript%3Eh0st1le()%3C/script%3E",
    "%253Cscript%253Eh0st1le()%253C/script%253E",
    "%26lt;script%26gt;h0st1le()",
    "%2BADw-script%2BAD4-h0st1le()",
    "%5Cu003cscript%5Cu003eh0st1le()",
    "%EF%BC%9Cscript%EF%BC%9Eh0st1le()",
    "%22%2C%22access_token%22%3A%22h0st1le",
    "%7B%7Bh0st1le%7D%7D$%7Bh0st1le%7D",
    "%22%5D%7D%3Bh0st1le()%2F%2F",
];

/// All values that are decoded to text.
pub(crate) fn texts() -> impl Iterator<Item = &'static str> {
    CONTROLS.into_iter().chain(SCRIPTS)
}

/// Writes names and values so that every reader finds the same bytes.
pub(crate) fn encode(pairs: &[(&str, &str)]) -> String {
    pairs.iter().map(|(name, value)| format!("{name}={}", escape(value.as_bytes()))).collect::<Vec<_>>().join("&")
}

pub(crate) fn escape(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let escaped = |byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") };
    bytes.iter().map(escaped).collect()
}
