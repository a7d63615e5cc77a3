//! base64url without padding [RFC 7515 section 2]. Each value has exactly one encoding.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes the output of [`encode`]. Padding, white space, other alphabets, and unused bits that are not zero are
/// refused.
pub(crate) fn decode(text: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7515-2-01
    #[test]
    fn a_value_has_one_spelling() {
        for (text, bytes) in [("", &b""[..]), ("AA", b"\0"), ("_-8", b"\xff\xef"), ("_-_v", b"\xff\xef\xef")] {
            assert_eq!(decode(text).as_deref(), Some(bytes), "{text}");
            assert_eq!(encode(bytes), text);
        }
        for text in
            ["A", "AAAAA", "AA==", "AA=", "AAA=", "AB", "AAB", "_-9", "+/8", "A A", " AA", "AA\n", "AA\r\n", "A.A", "Ä"]
        {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
