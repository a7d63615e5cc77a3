//! The forms in which bytes are written, and how pieces of them are found again.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// How bytes may be written as a text.
///
/// Base64 comes in three ways each, since what stands in front shifts it.
pub(crate) fn written(bytes: &[u8]) -> Vec<Vec<u8>> {
    let each = |write: &dyn Fn(&u8) -> String| bytes.iter().map(write).collect::<String>().into_bytes();
    let mut forms = vec![
        each(&|byte| format!("{byte:02x}")),
        each(&|byte| format!("{byte:02X}")),
        each(&|byte| format!("%{byte:02x}")),
        each(&|byte| format!("%{byte:02X}")),
        bytes.escape_ascii().collect(),
    ];
    for shift in 0..3 {
        // What follows would change the last character, unless groups are whole.
        let whole = &bytes[shift..][..(bytes.len() - shift) / 3 * 3];
        forms.push(STANDARD_NO_PAD.encode(whole).into_bytes());
        forms.push(URL_SAFE_NO_PAD.encode(whole).into_bytes());
    }
    forms
}

/// The bytes of lists of decimal numbers, as `Debug` writes them.
pub(crate) fn listed(shown: &[u8]) -> Vec<u8> {
    let is_of_list = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace() || *byte == b',';
    let lists = shown.split(|byte| !is_of_list(byte)).filter(|list| list.contains(&b','));
    let numbers = lists.flat_map(|list| list.split(|&byte| byte == b','));
    numbers.filter_map(|number| std::str::from_utf8(number.trim_ascii()).ok()?.parse().ok()).collect()
}

/// All pieces of `N` bytes of many texts, each with the number of whose it is.
#[derive(Debug)]
pub(crate) struct Pieces<const N: usize> {
    owners: HashMap<[u8; N], usize>,
    /// The first two bytes of any of them: most of what is searched ends here.
    begins: Vec<bool>,
}

impl<const N: usize> Default for Pieces<N> {
    fn default() -> Self {
        Self { owners: HashMap::new(), begins: vec![false; 1 << 16] }
    }
}

impl<const N: usize> Pieces<N> {
    pub(crate) fn add(&mut self, text: &[u8], owner: usize) {
        assert!(text.len() >= N, "{} is too short to be found", text.escape_ascii());
        for piece in text.windows(N) {
            self.begins[begin(piece)] = true;
            self.owners.insert(piece.try_into().unwrap(), owner);
        }
    }

    pub(crate) fn found_in<'a>(&'a self, shown: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
        let candidates = shown.windows(N).filter(|piece| self.begins[begin(piece)]);
        candidates.filter_map(|piece| self.owners.get(piece).copied())
    }
}

fn begin(piece: &[u8]) -> usize {
    usize::from(piece[0]) << 8 | usize::from(piece[1])
}
