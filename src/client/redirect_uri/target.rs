//! Where a redirect URI leads: to a host, or to an app by its private-use scheme.

use crate::client::redirect_uri::{
    error::RedirectUriError,
    web::{WebScheme, WebUri, check_path_and_query},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target<T> {
    Web(WebUri<T>),
    PrivateUse,
}

impl<'a> Target<&'a str> {
    /// Parses a value whose characters are known to be good.
    pub(crate) fn parse(text: &'a str) -> Result<Self, RedirectUriError> {
        let (scheme, rest) = text.split_once(':').ok_or(RedirectUriError::Scheme)?;
        if WebScheme::from_text(scheme).is_some() {
            return WebUri::parse(text).map(Self::Web);
        }
        if !is_private_use_scheme(scheme) {
            return Err(RedirectUriError::Scheme);
        }
        if !rest.starts_with('/') || rest.starts_with("//") {
            return Err(RedirectUriError::PrivateUseSlash);
        }
        check_path_and_query(rest)?;
        Ok(Self::PrivateUse)
    }

    pub(crate) fn to_owned_parts(&self) -> Target<Box<str>> {
        match self {
            Self::Web(uri) => Target::Web(uri.to_owned_parts()),
            Self::PrivateUse => Target::PrivateUse,
        }
    }
}

/// A scheme with a dot is a domain name in reverse [RFC 3986 section 3.1, RFC 8252 section 7.1].
fn is_private_use_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.contains('.')
        && scheme.bytes().all(|octet| octet.is_ascii_alphanumeric() || b"+-.".contains(&octet))
}

#[cfg(test)]
mod tests {
    use crate::client::redirect_uri::{error::RedirectUriError, target::Target};

    #[test]
    fn what_browsers_read_differently_is_refused() {
        assert!(Target::parse("https://xn--bcher-kva.example/").is_ok());
        for text in [
            "https://xn--zzzzzzzzz99999.example/",
            // RFC 5952 and browsers write this address in two ways.
            "https://[::ffff:192.0.2.1]/",
        ] {
            assert_eq!(Target::parse(text), Err(RedirectUriError::Host), "{text}");
        }
    }

    #[test]
    fn private_use_schemes_have_a_dot_and_one_slash() {
        for text in ["com.example.app:/", "com.example.app:/cb?x=1", "COM.example.app:/a/b", "a.b+c-d.1:/cb"] {
            assert_eq!(Target::parse(text), Ok(Target::PrivateUse), "{text}");
        }
        for (text, error) in [
            ("myapp:/cb", RedirectUriError::Scheme),
            ("javascript:/alert(1)", RedirectUriError::Scheme),
            ("1.app:/cb", RedirectUriError::Scheme),
            (".app:/cb", RedirectUriError::Scheme),
            ("com.ex_ample:/cb", RedirectUriError::Scheme),
            ("com.ex%61mple:/cb", RedirectUriError::Scheme),
            ("app.example.com/cb", RedirectUriError::Scheme),
            (":/cb", RedirectUriError::Scheme),
            ("com.example.app:", RedirectUriError::PrivateUseSlash),
            ("com.example.app:cb", RedirectUriError::PrivateUseSlash),
            ("com.example.app://cb", RedirectUriError::PrivateUseSlash),
            ("com.example.app:///cb", RedirectUriError::PrivateUseSlash),
            ("com.example.app:/[cb]", RedirectUriError::Character),
            ("com.example.app:/a/../cb", RedirectUriError::DotSegment),
            ("com.example.app:/.//cb", RedirectUriError::DotSegment),
            ("com.example.app:/cb?code=1", RedirectUriError::ResponseParameter),
        ] {
            assert_eq!(Target::parse(text), Err(error), "{text}");
        }
    }
}
