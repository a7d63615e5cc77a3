//! The input of every rival: the same client, the same requests, the same bytes.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The client of the rivals that let its id and secret be chosen.
pub const CLIENT_ID: &str = "cl_AbCdEfGhIjKlMnOpQrStUv";
/// As many characters as a secret of grantor has.
pub const CLIENT_SECRET: &str = "cs_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
pub const REDIRECT_URI: &str = "https://client.example/callback";
/// Two scopes of the platform's catalog. To the rivals they have no special meaning.
pub const SCOPE: &str = "repo-code:rw account-profile:r";
/// The pair of RFC 7636 appendix B.
pub const CODE_VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CODE_CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const STATE: &str = "af0ifjsldkj";

/// A client's id and secret, as a request carries them.
#[derive(Clone, Debug)]
pub struct Credentials {
    pub client_id: String,
    /// The value of the `Authorization` header.
    pub basic: String,
}

impl Credentials {
    pub fn new(client_id: &str, client_secret: &str) -> Self {
        let basic = format!("Basic {}", STANDARD.encode(format!("{client_id}:{client_secret}")));
        Self { client_id: client_id.to_owned(), basic }
    }
}

/// The tokens of a token response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub access: String,
    pub refresh: String,
}

impl Tokens {
    /// Reads both tokens of a response.
    ///
    /// # Panics
    ///
    /// If one is missing.
    pub fn of(body: &[u8]) -> Self {
        let token = |name| member(body, name).unwrap_or_else(|| panic!("no {name}")).to_owned();
        Self { access: token("access_token"), refresh: token("refresh_token") }
    }
}

/// Returns a member of a JSON object that is a string without escapes, as tokens are.
pub fn member<'b>(body: &'b [u8], name: &str) -> Option<&'b str> {
    let body = std::str::from_utf8(body).ok()?;
    let (_, rest) = body.split_once(name)?;
    let (value, _) = rest.strip_prefix("\":\"")?.split_once('"')?;
    Some(value)
}

/// The query of an authorization request, with PKCE.
pub fn authorization_query(client_id: &str) -> String {
    format!(
        "response_type=code&client_id={client_id}&redirect_uri={}&scope={}&state={STATE}\
         &code_challenge={CODE_CHALLENGE}&code_challenge_method=S256",
        encoded(REDIRECT_URI),
        encoded(SCOPE),
    )
}

/// Returns the code of a redirect, form-encoded.
///
/// # Panics
///
/// If the redirect has none.
pub fn code_of(location: &str) -> &str {
    assert!(location.starts_with(REDIRECT_URI) && location.contains(STATE), "{location}");
    let (_, code) = location.split_once("code=").expect("a code");
    code.split('&').next().expect("a code")
}

/// The form that exchanges such a code.
pub fn exchange_form(code: &str) -> String {
    let redirect_uri = encoded(REDIRECT_URI);
    format!("grant_type=authorization_code&code={code}&redirect_uri={redirect_uri}&code_verifier={CODE_VERIFIER}")
}

/// The form that refreshes.
pub fn refresh_form(refresh_token: &str) -> String {
    format!("grant_type=refresh_token&refresh_token={}", encoded(refresh_token))
}

/// The `Authorization` header at a resource.
pub fn bearer(access_token: &str) -> String {
    format!("Bearer {access_token}")
}

/// The user of the grant of that number.
pub fn owner(number: usize) -> String {
    format!("user-{number:08}")
}

/// Names and values of a form or query, decoded.
pub fn pairs(form: &str) -> impl Iterator<Item = (Cow<'_, str>, Cow<'_, str>)> {
    form_urlencoded::parse(form.as_bytes())
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
