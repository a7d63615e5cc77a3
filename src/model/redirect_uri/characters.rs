//! The bytes a redirect URI may consist of.

use crate::model::redirect_uri::error::RedirectUriError;

/// The most bytes that a redirect URI may have.
const MAX_BYTES: usize = 2048;

/// Checks length and characters, and returns the value as text [RFC 3986 section 2].
pub(crate) fn uri_text(bytes: &[u8]) -> Result<&str, RedirectUriError> {
    if bytes.is_empty() {
        return Err(RedirectUriError::Empty);
    }
    if bytes.len() > MAX_BYTES {
        return Err(RedirectUriError::TooLong);
    }
    check_bytes(bytes)?;
    if bytes.contains(&b'#') {
        return Err(RedirectUriError::Fragment);
    }
    str::from_utf8(bytes).map_err(|_| RedirectUriError::Character)
}

fn check_bytes(bytes: &[u8]) -> Result<(), RedirectUriError> {
    let mut bytes = bytes.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            check_escape(bytes.next(), bytes.next())?;
        } else if !is_uri_byte(byte) {
            return Err(RedirectUriError::Character);
        }
    }
    Ok(())
}

/// Refuses malformed escapes. Refuses escaped control characters, at which a later reader may cut off the value.
fn check_escape(high: Option<u8>, low: Option<u8>) -> Result<(), RedirectUriError> {
    let (Some(high), Some(low)) = (hex_digit(high), hex_digit(low)) else {
        return Err(RedirectUriError::Escape);
    };
    match high * 16 + low {
        0x00..=0x1F | 0x7F => Err(RedirectUriError::Escape),
        _ => Ok(()),
    }
}

fn hex_digit(byte: Option<u8>) -> Option<u32> {
    char::from(byte?).to_digit(16)
}

/// Unreserved and reserved characters [RFC 3986 section 2.2, 2.3].
fn is_uri_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use crate::model::redirect_uri::characters::uri_text;
    use crate::model::redirect_uri::error::RedirectUriError;

    #[test]
    fn length_is_1_to_2048_bytes() {
        assert_eq!(uri_text(b""), Err(RedirectUriError::Empty));
        assert!(uri_text(&[b'a'; 2048]).is_ok());
        assert_eq!(uri_text(&[b'a'; 2049]), Err(RedirectUriError::TooLong));
    }

    #[test]
    fn exactly_the_characters_of_a_uri_are_accepted() {
        let accepted: Vec<u8> = (0..=u8::MAX).filter(|byte| uri_text(&[b'a', *byte]).is_ok()).collect();
        let expected = b"!$&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz~";
        assert_eq!(accepted, expected);
    }

    #[test]
    fn escapes_have_two_hexadecimal_digits_and_hide_no_control_character() {
        for byte in 0..=u8::MAX {
            let control = byte < 0x20 || byte == 0x7F;
            assert_eq!(uri_text(format!("a%{byte:02x}").as_bytes()).is_err(), control, "{byte}");
            assert_eq!(uri_text(format!("a%{byte:02X}b").as_bytes()).is_err(), control, "{byte}");
        }
        for malformed in ["%", "a%", "a%4", "a%zz", "a%4g", "a%%41", "a%+4"] {
            assert_eq!(uri_text(malformed.as_bytes()), Err(RedirectUriError::Escape), "{malformed}");
        }
    }

    #[test]
    fn a_fragment_is_refused_even_when_empty() {
        for text in ["https://a.example/#", "https://a.example/#x", "#"] {
            assert_eq!(uri_text(text.as_bytes()), Err(RedirectUriError::Fragment), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused() {
        for bytes in [&b"a\xff"[..], b"a\xc3", b"a\xc0\xaf", b"a\xed\xa0\x80"] {
            assert_eq!(uri_text(bytes), Err(RedirectUriError::Character));
        }
    }
}
