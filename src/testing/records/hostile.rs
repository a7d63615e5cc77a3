//! Texts that have broken stores before: markup, escapes, wildcards, and texts that only look the same.

use crate::base::id::ClientId;
use crate::base::subject::Subject;
use crate::model::protected_resource::Audience;
use crate::scope::{ResourceList, ResourceScope};
use crate::testing::draw::{sound, subject_of, unique};

/// Every character that a scope may consist of [RFC 6749 appendix A.4].
pub(super) const SCOPES: &str =
    "!#$%&'()*+,-./:;<=>?@[]^_`{|}~ 0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz";

const TEXTS: [&str; 14] = [
    "\0",
    "a\0b",
    "'; DROP TABLE grants; --",
    "\"\\\"\\\\",
    "\\x00\\u0000\\'",
    "%_*?[a-z]{1}:$1?1@p",
    "line\r\nnext\tcell",
    "\u{1}\u{1b}[31m\u{7f}\u{80}\u{85}",
    "\u{202e}txt.exe\u{2066}",
    "\u{feff}\u{200b}\u{ad}",
    "\u{1f600}\u{1f468}\u{200d}\u{1f469}",
    "e\u{301}\u{e9}\u{212b}\u{fb01}",
    "\u{ffff}\u{10ffff}\u{e000}",
    " leading and trailing ",
];

/// Returns new users with hostile names, one of them as long as a name may be.
pub(super) fn subjects() -> Vec<Subject> {
    let mut subjects: Vec<_> = TEXTS.iter().map(|text| subject_of(&format!("{text}{}{text}", unique()))).collect();
    subjects.push(long_subject());
    subjects
}

/// Returns users that a careless comparison takes for the first one.
pub(in crate::testing) fn similar_subjects() -> Vec<Subject> {
    let name = unique();
    let plain = format!("Stra\u{df}e \u{e9} {name}x");
    let long = format!("{plain}{}", "x".repeat(254 - plain.len()));
    let similar = [
        plain.clone(),
        format!("stra\u{df}e \u{e9} {name}x"),
        format!("STRASSE \u{c9} {}X", name.to_uppercase()),
        format!("Stra\u{df}e e\u{301} {name}x"),
        format!("Strasse e {name}x"),
        format!("{plain} "),
        format!(" {plain}"),
        format!("{plain}\0"),
        format!("{plain}\u{200b}"),
        format!("{plain}x"),
        format!("Stra\u{df}e \u{e9} {name}"),
        format!("Stra\u{df}e \u{e9} {name}_"),
        format!("Stra\u{df}e \u{e9} {name}%"),
        format!("{long}1"),
        format!("{long}2"),
    ];
    similar.iter().map(|text| subject_of(text)).collect()
}

/// Returns a user of 255 bytes with a unique beginning.
pub(in crate::testing) fn long_subject() -> Subject {
    subject_of(&format!("{}\u{202e}\0'\"{}~~~", unique(), "\u{1f600}".repeat(56)))
}

/// Returns a client id with all characters that it may hold, and a unique beginning [RFC 6749 appendix A.1].
pub(super) fn client_id(length: usize) -> ClientId {
    let characters = (' '..='~').cycle();
    sound(ClientId::new(unique().chars().chain(characters).take(length).collect::<String>()))
}

/// Returns client ids that a careless comparison takes for the first one.
pub(in crate::testing) fn similar_client_ids() -> Vec<ClientId> {
    let name = unique();
    let similar = [
        format!("Client {name}x"),
        format!("client {name}x"),
        format!("CLIENT {}X", name.to_uppercase()),
        format!("Client {name}x "),
        format!(" Client {name}x"),
        format!("Client  {name}x"),
        format!("Client {name}"),
        format!("Client {name}_"),
        format!("Client {name}%"),
        format!("\"Client {name}x\""),
    ];
    similar.iter().map(|text| sound(ClientId::new(text))).collect()
}

/// Returns resources as a store may have them, including some that no form accepts.
pub(super) fn resources() -> ResourceScope {
    let names = TEXTS.iter().filter(|text| !text.chars().any(char::is_control));
    ResourceScope::Specified(sound(ResourceList::from_record(names.copied().collect())))
}

/// Returns the longest list: 100 names of 4096 bytes in total. Each digit gives another list.
pub(super) fn longest_list(digit: u8) -> ResourceScope {
    let end = |name: usize| if name < 96 { "xxxx" } else { "xxx" };
    let names = (0..100).map(|name| format!("{digit}/{name:02}/{}{}", "\u{1f600}".repeat(8), end(name)));
    sound(ResourceScope::specified(names))
}

/// Returns two protected resources.
pub(super) fn audience() -> Audience {
    Audience::new(["https://api.example/%27;--", "https://api.example"])
}

/// Returns as many protected resources as one consent may have, each as long as it may be.
pub(super) fn largest_audience() -> Audience {
    let identifier = |number| format!("https://api.example/{number}{}", "x".repeat(2027));
    let identifiers: Vec<String> = (0..8).map(identifier).collect();
    Audience::new(identifiers.iter().map(String::as_str))
}

pub(super) fn many_scopes() -> String {
    let scopes: Vec<_> = (0..512).map(|number| format!("scope-number-{number}:rw")).collect();
    scopes.join(" ")
}
