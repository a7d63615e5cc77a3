//! Checks the redirect URIs of a client that registers itself: they are kept, dropped, or cause a refusal.

use crate::model::redirect_uri::characters::uri_text;
use crate::model::redirect_uri::error::RedirectUriError;
use crate::model::redirect_uri::policy::RedirectUriPolicy;
use crate::model::redirect_uri::registered::RegisteredRedirectUri;
use crate::model::redirect_uri::target::Target;
use crate::model::redirect_uri::web::check_path_and_query;

impl RegisteredRedirectUri {
    /// Checks a redirect URI that a client sends with its metadata. Returns `None` for a valid URI of a kind that is
    /// not accepted here.
    ///
    /// Clients send one list to all servers [RFC 7591 section 2], so a kind that this server does not accept is not an
    /// error.
    ///
    /// # Errors
    ///
    /// The first rule that the value breaks; [`RedirectUriError::Scheme`] for a dangerous scheme.
    pub(crate) fn offered(text: &str, policy: &RedirectUriPolicy) -> Result<Option<Self>, RedirectUriError> {
        match uri_text(text.as_bytes()).and_then(Target::parse) {
            // A valid URI may still be of a kind that is not accepted.
            Ok(_) => Ok(Self::parse(text, policy).ok()),
            Err(error @ RedirectUriError::PrivateUseSlash) => {
                let path = text.split_once(':').map(|(_, path)| path).filter(|path| !path.is_empty());
                check_path_and_query(path.ok_or(error)?).map(|()| None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::redirect_uri::PrivateUseSchemes;

    /// 7591-2-09
    #[test]
    fn what_is_sound_is_kept_or_dropped_and_all_else_refused() {
        use RedirectUriError::{Character, DotSegment, Empty, Fragment, Host, PrivateUseSlash, Scheme, UserInfo};
        let policy = RedirectUriPolicy {
            private_use_schemes: PrivateUseSchemes::Named(Vec::new()),
            ..RedirectUriPolicy::default()
        };
        let judged = |text: &str| RegisteredRedirectUri::offered(text, &policy).map(|kept| kept.is_some());
        for text in ["https://app.example/cb", "http://127.0.0.1:8787/cb", "http://localhost/", "http://[::1]/cb"] {
            assert_eq!(judged(text), Ok(true), "{text}");
        }
        for text in [
            "http://app.example/cb",
            "com.example.app:/cb",
            "com.example.app://cb",
            "cursor://anysphere.cursor-retrieval/oauth/user-agent/callback",
            "vscode:/cb",
            "x-app:cb",
        ] {
            assert_eq!(judged(text), Ok(false), "{text}");
        }
        for (text, error) in [
            ("", Empty),
            ("/cb", Scheme),
            ("app.example/cb", Scheme),
            ("https:/app.example", Scheme),
            ("https:app.example", Scheme),
            ("https://", Host),
            ("https://app.example/cb#x", Fragment),
            ("https://user@app.example/cb", UserInfo),
            ("cursor://user@app/cb", UserInfo),
            ("cursor://app/../cb", DotSegment),
            ("cursor:", PrivateUseSlash),
            ("https://*.example/cb", Host),
            ("https://app.example/\n", Character),
            ("javascript:alert(1)", Scheme),
            ("JavaScript:alert(1)", Scheme),
            (" jAvAsCrIpT:alert(1)", Character),
            ("java\tscript:alert(1)", Character),
            ("1x:/cb", Scheme),
        ] {
            assert_eq!(judged(text), Err(error), "{text}");
        }
        for scheme in ["data", "file", "javascript", "mailto", "view-source", "ws"] {
            for text in [format!("{scheme}:x"), format!("{scheme}://x/y"), format!("{}:/x", scheme.to_uppercase())] {
                assert_eq!(judged(&text), Err(Scheme), "{text}");
            }
        }
    }
}
