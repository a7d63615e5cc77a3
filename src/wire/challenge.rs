//! The challenge of a resource [RFC 6750 section 3, RFC 9449 section 7.1].

/// The authentication scheme of an access token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenScheme {
    /// The request has a token but no proof [RFC 6750 section 2.1].
    #[default]
    Bearer,
    /// The request has a token and a DPoP proof [RFC 9449 section 7.1].
    Dpop,
}

impl TokenScheme {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Bearer => "Bearer",
            Self::Dpop => "DPoP",
        }
    }

    /// Returns the scheme of that name, in any letter case [RFC 9110 section 11.1].
    #[inline]
    pub(crate) fn named(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"Bearer") {
            Some(Self::Bearer)
        } else if name.eq_ignore_ascii_case(b"DPoP") {
            Some(Self::Dpop)
        } else {
            None
        }
    }
}

/// Returns the value of `WWW-Authenticate`: the scheme, then each attribute that has a value, quoted.
///
/// Values must not contain quotes, backslashes or control characters.
pub(crate) fn challenge(scheme: TokenScheme, attributes: &[(&str, &str)]) -> String {
    let mut challenge = String::from(scheme.as_str());
    let mut separator = ' ';
    // Some clients parse an empty value as two quotes.
    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        challenge.push(separator);
        if separator == ',' {
            challenge.push(' ');
        }
        separator = ',';
        for part in [*name, "=\"", value, "\""] {
            challenge.push_str(part);
        }
    }
    challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_a_value_are_left_out() {
        let bearer = |attributes| challenge(TokenScheme::Bearer, attributes);
        assert_eq!(bearer(&[("realm", "r"), ("scope", ""), ("error", "e")]), r#"Bearer realm="r", error="e""#);
        assert_eq!(bearer(&[("scope", "a b")]), r#"Bearer scope="a b""#);
        assert_eq!(bearer(&[("scope", "")]), "Bearer");
        assert_eq!(challenge(TokenScheme::Dpop, &[("algs", "ES256")]), r#"DPoP algs="ES256""#);
    }

    #[test]
    fn schemes_are_read_in_any_case() {
        for (name, scheme) in [
            ("Bearer", Some(TokenScheme::Bearer)),
            ("bEARER", Some(TokenScheme::Bearer)),
            ("DPoP", Some(TokenScheme::Dpop)),
            ("dPOp", Some(TokenScheme::Dpop)),
            ("Basic", None),
            ("DPoP ", None),
            ("", None),
        ] {
            assert_eq!(TokenScheme::named(name.as_bytes()), scheme, "{name}");
        }
    }
}
