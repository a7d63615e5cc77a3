//! A redirect URI that was refused, as a log may show it.

use crate::secret::CLIENT_SECRET_CHARACTERS;

/// Returns the redirect URI of a request on one line, for a log.
///
/// A user, a query and a fragment are left out, since there may be a password or a token in them. So is each part
/// that is as long as a secret. Control characters are escaped, and at most 255 bytes are written.
pub(crate) fn shown(requested: &[u8]) -> String {
    let text = String::from_utf8_lossy(requested);
    let (text, end) = match text.find(['?', '#']) {
        Some(end) => (text.get(..end).unwrap_or_default(), LEFT_OUT),
        None => (&*text, ""),
    };
    // Everything before the last `@` counts as the user, even if a parser reads it differently.
    let (start, text) = match text.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", text),
    };
    let mut shown = start.to_owned();
    for part in text.split_inclusive([':', '/']) {
        let part = without_secret(part);
        if shown.len() + part.len() > MAX_BYTES {
            return shown + LEFT_OUT;
        }
        shown.push_str(&part);
    }
    shown + end
}

/// Returns the part with the character that ends it. A part that may be a secret is left out.
fn without_secret(part: &str) -> String {
    let own = part.trim_end_matches([':', '/']);
    let end = part.get(own.len()..).unwrap_or_default();
    if own.len() < *CLIENT_SECRET_CHARACTERS.start() {
        part.escape_debug().to_string()
    } else {
        format!("{LEFT_OUT}{end}")
    }
}

const LEFT_OUT: &str = "…";
const MAX_BYTES: usize = 255 - LEFT_OUT.len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_secret_and_stays_on_one_line() {
        let code = format!("ac_{}", "x".repeat(44));
        for (requested, expected) in [
            ("https://app.example.com/cb", "https://app.example.com/cb".to_owned()),
            ("myapp:/cb", "myapp:/cb".to_owned()),
            ("", String::new()),
            ("https://app.example.com/cb?code=1", "https://app.example.com/cb…".to_owned()),
            ("https://app.example.com#a@b", "https://app.example.com…".to_owned()),
            ("https://user:word@app.example.com/", "…@app.example.com/".to_owned()),
            (&code, "…".to_owned()),
            (&format!("https://app.example.com/{code}/x"), "https://app.example.com/…/x".to_owned()),
            ("https://a\"b\r\n\u{202e}", r#"https://a\"b\r\n\u{202e}"#.to_owned()),
        ] {
            assert_eq!(shown(requested.as_bytes()), expected, "{requested:?}");
        }
        assert_eq!(shown(b"https://\xff/"), "https://\u{fffd}/");
    }

    #[test]
    fn what_is_shown_is_bounded() {
        for text in ["a/".repeat(3000), "\n/".repeat(3000), "x".repeat(5000), "\u{1f600}:".repeat(3000)] {
            assert!(shown(text.as_bytes()).len() <= 255);
        }
    }
}
