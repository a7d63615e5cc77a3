//! Claims of your own in access tokens, and what clients may read about users.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::base::id::{GrantId, Subject};
use crate::base::json::is_deeper;
use crate::error::failure::ClaimsError;
use crate::hooks::profile::{UserClaims, UserProfile};
use crate::jose::access_jwt::is_reserved;
use crate::model::client::Client;
use crate::model::grant_data::GrantData;
use crate::scope::ScopeSet;

/// What your service adds to access tokens, such as the tenant that a user chose: see [Data and claims
/// of your own](crate::guide::own_data). It also says who users are, while
/// [`Config::identity`](crate::Config::identity) is on: see [Who signed in](crate::guide::identity).
#[async_trait]
pub trait Claims: fmt::Debug + Send + Sync + 'static {
    /// Returns the claims of an access token, as the members of a JSON object; none by default.
    ///
    /// They are in a JWT and in the answer to its introspection, and [`Authenticated::claims`] returns them. It is
    /// called when a JWT is signed, when a live token is introspected, and when a check in the process asks. Nothing is
    /// stored, and a repeated answer is signed again, so return the same claims for the same token.
    ///
    /// If they are refused with a [`ClaimsError`], no token is issued, and introspection and checks fail with 503: a
    /// claim left out could permit what it should forbid.
    ///
    /// # Security
    ///
    /// The client can read them. They give no right here: only scopes and resources do.
    ///
    /// [`Authenticated::claims`]: crate::Authenticated::claims
    fn of_token(&self, token: &TokenContext<'_>) -> Map<String, Value> {
        let _ = token;
        Map::new()
    }

    /// Returns what is known about a user, for the userinfo endpoint; nothing by default.
    ///
    /// It is asked once for each request there. Only the claims in [`UserContext::wanted`] are sent, whatever it
    /// returns. The answer is what is true now, so a client that a user no longer trusts learns nothing new.
    async fn of_user(&self, user: &UserContext<'_>) -> UserClaims {
        let _ = user;
        UserClaims::Known(UserProfile::new())
    }
}

/// The user that claims are about, and who asks.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct UserContext<'a> {
    /// The grant that the access token belongs to.
    pub grant: GrantId,
    /// The user.
    pub subject: &'a Subject,
    /// The client that asks.
    pub client: &'a Client,
    /// The names of the claims that the access token covers.
    pub wanted: &'a [&'a str],
}

/// The token that claims are for, as its reader may see it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct TokenContext<'a> {
    /// The grant that the token belongs to.
    pub grant: GrantId,
    /// What your service keeps with it: see [`Authenticated::data`](crate::Authenticated::data).
    pub data: Option<&'a GrantData>,
    /// The client that the token was issued to.
    pub client: &'a Client,
    /// The user; `None` if the client acts for itself.
    pub subject: Option<&'a Subject>,
    /// The protected resources that the token is for. An API that introspects sees its own. Without any, the issuer.
    pub audience: &'a [&'a str],
    /// The scopes of the token that these resources serve.
    pub scopes: &'a ScopeSet,
}

/// The most bytes that the claims of a token may have as JSON.
const MAX_BYTES: usize = 2048;
/// How deep they may be nested, including the object itself.
const DEPTH: usize = 8;

/// Returns the claims as JSON.
///
/// # Errors
///
/// [`ClaimsError`] for the first rule that they break.
pub(crate) fn checked(claims: &Map<String, Value>) -> Result<Vec<u8>, ClaimsError> {
    let json = serde_json::to_vec(claims).unwrap_or_default();
    if json.len() > MAX_BYTES {
        return Err(ClaimsError::TooLarge(json.len()));
    }
    if is_deeper(&json, DEPTH) {
        return Err(ClaimsError::TooDeep);
    }
    match claims.keys().find(|name| is_reserved(name)) {
        Some(name) => Err(ClaimsError::Name(name.clone())),
        None => Ok(json),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jose::access_jwt::RESERVED;

    fn refusal(claims: Value) -> Option<ClaimsError> {
        checked(claims.as_object().unwrap()).err()
    }

    /// OWN-12
    #[test]
    fn a_name_of_the_library_is_refused_in_any_case() {
        let folded =
            ["Scope", "AUD", "\u{17f}cope", "i\u{17f}\u{17f}", "to\u{212a}en_type", "authorization_detail\u{17f}"];
        for name in RESERVED.into_iter().chain(folded).chain([""]) {
            assert_eq!(refusal(json!({"tenant": 1, name: 1})), Some(ClaimsError::Name(name.to_owned())), "{name}");
        }
        assert_eq!(refusal(json!({"tenant": {"iss": 1}, "scopes": 1, "https://api.example/sub": 1})), None);
    }

    /// OWN-13
    #[test]
    fn claims_have_2048_bytes_and_8_levels() {
        let of_size = |size: usize| json!({"a": "x".repeat(size - r#"{"a":""}"#.len())});
        assert_eq!(refusal(of_size(2048)), None);
        assert_eq!(refusal(of_size(2049)), Some(ClaimsError::TooLarge(2049)));
        let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
        assert_eq!((refusal(deep(8)), refusal(deep(9))), (None, Some(ClaimsError::TooDeep)));
    }
}
