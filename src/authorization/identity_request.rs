//! What a request says about the sign-in and the pages: the parameters of OpenID Connect Core section 3.1.2.1.

use std::time::Duration;

use crate::authorization::signed_in::DecidingUser;
use crate::base::clock::Timestamp;
use crate::base::id::Subject;
use crate::context::Context;
use crate::error::Reason;
use crate::jose::Jws;
use crate::model::client::Client;
use crate::wire::params::Params;

/// The moment since which a sign-in counts as new, in seconds: a parameter of this server's own return addresses.
pub(crate) const SIGNED_IN_SINCE: &str = "signed_in_since";
/// The parameters that are read beside those of OAuth. The first is that of ID tokens.
pub(crate) const NAMES: [&str; 13] = [
    "nonce",
    "prompt",
    "max_age",
    "id_token_hint",
    "login_hint",
    "ui_locales",
    "claims_locales",
    "acr_values",
    "display",
    "response_mode",
    "request",
    "registration",
    SIGNED_IN_SINCE,
];

const NONCE_BYTES: usize = 512;
const HINT_BYTES: usize = 512;
/// The longest ID token as a hint, in bytes: that of the claims of OpenID Connect and a signature of 8192 bits, twice.
const ID_TOKEN_BYTES: usize = 8192;
/// The most bytes of a value in a list, and the most values.
const LISTED_BYTES: usize = 255;
const LISTED: usize = 16;

/// What a request says about the sign-in and the pages.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdentityRequest {
    pub(crate) prompt: Prompt,
    /// How old the sign-in may be.
    pub(crate) max_age: Option<Duration>,
    pub(crate) hints: SignInHints,
    /// Since when a sign-in is new, because the request was first judged then.
    pub(crate) since: Option<Timestamp>,
    /// Whether the user was sent to the choice of an account.
    pub(crate) has_selected: bool,
}

/// Which pages the client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prompt {
    /// None of them.
    None,
    /// Those that are needed, and those that are named.
    Pages { login: bool, consent: bool, select_account: bool },
}

impl Default for Prompt {
    fn default() -> Self {
        Self::Pages { login: false, consent: false, select_account: false }
    }
}

impl Prompt {
    /// Reads the value. Names that are unknown have no effect.
    ///
    /// > If this parameter contains none with any other value, an error is returned.
    fn read(value: &[u8]) -> Result<Self, Reason> {
        let has = |name: &[u8]| names(value).any(|own| own == name);
        if !has(b"none") {
            let (login, consent, select_account) = (has(b"login"), has(b"consent"), has(b"select_account"));
            return Ok(Self::Pages { login, consent, select_account });
        }
        if names(value).all(|own| own == b"none") { Ok(Self::None) } else { Err(Reason::Prompt) }
    }
}

fn names(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b' ').filter(|name| !name.is_empty())
}

/// Returns whether the request may show no page of sign-in, account or consent, even if it is refused.
pub(crate) fn is_silent(query: &Params<'_>) -> bool {
    query.bytes("prompt").is_some_and(|value| names(value).any(|name| name == b"none"))
}

impl IdentityRequest {
    /// Reads the parameters. What is only a hint is left out where it does not fit.
    pub(crate) fn read(context: &Context, client: &Client, query: &Params<'_>) -> Result<Self, Reason> {
        if query.bytes("request").is_some() {
            return Err(Reason::RequestObject);
        }
        if query.bytes("registration").is_some() {
            return Err(Reason::RegistrationParameter);
        }
        if query.bytes("response_mode").is_some_and(|mode| mode != b"query") {
            return Err(Reason::ResponseMode);
        }
        let prompt = query.bytes("prompt").map(Prompt::read).transpose()?.unwrap_or_default();
        let subject = match query.bytes("id_token_hint") {
            Some(hint) => match subject_of(context, client, hint) {
                None if prompt == Prompt::None => return Err(Reason::LoginRequired),
                None => return Err(Reason::IdTokenHint),
                subject => subject,
            },
            None => None,
        };
        Ok(Self {
            prompt,
            max_age: query.bytes("max_age").map(max_age).transpose()?,
            hints: SignInHints { subject, ..SignInHints::read(query) },
            since: None,
            has_selected: false,
        })
    }

    /// Returns the request as it was first judged at the moment that the return address names, if that was not longer
    /// ago than `lifetime`. It is a moment of the past, whatever the address says.
    pub(crate) fn since(self, query: &Params<'_>, now: Timestamp, lifetime: Duration) -> Self {
        let named = query.bytes(SIGNED_IN_SINCE).and_then(|value| str::from_utf8(value).ok()?.parse().ok());
        let since = named.map(|seconds: u64| u32::try_from(seconds).map_or(now, Timestamp::from_seconds).min(now));
        let since = since.filter(|since| now < since.plus(lifetime));
        Self { has_selected: since.is_some(), since, ..self }
    }

    pub(crate) fn is_silent(&self) -> bool {
        self.prompt == Prompt::None
    }

    /// Returns whether the page of consent must be shown.
    pub(crate) fn asks(&self) -> bool {
        matches!(self.prompt, Prompt::Pages { consent: true, .. })
    }

    /// Returns whether the user is to choose an account first.
    pub(crate) fn selects_account(&self) -> bool {
        matches!(self.prompt, Prompt::Pages { select_account: true, .. }) && !self.has_selected
    }

    /// Returns whether the time of the sign-in matters.
    pub(crate) fn needs_time(&self) -> bool {
        self.max_age.is_some() || matches!(self.prompt, Prompt::Pages { login: true, .. })
    }

    /// Returns whether the sign-in of that user is good for the request.
    ///
    /// # Errors
    ///
    /// [`Reason::SignInTimeUnknown`] if that depends on its time, which your service has not said.
    pub(crate) fn is_met_by(identity: Option<&Self>, user: DecidingUser<'_>, now: Timestamp) -> Result<bool, Reason> {
        let Some(identity) = identity else { return Ok(true) };
        // > the Authorization Server MUST NOT reply with an ID Token or Access Token for a different user
        if identity.hints.subject().is_some_and(|hinted| hinted != user.subject) {
            return Ok(false);
        }
        if !identity.needs_time() {
            return Ok(true);
        }
        let sign_in = user.sign_in.ok_or(Reason::SignInTimeUnknown)?;
        Ok(identity.accepts(sign_in.time(), now))
    }

    /// Returns whether a sign-in at that time is good for the request: new, or young enough.
    ///
    /// > If the elapsed time is greater than this value, the OP MUST attempt to actively re-authenticate the End-User.
    fn accepts(&self, signed_in: Timestamp, now: Timestamp) -> bool {
        let is_new = self.since.is_some_and(|since| signed_in >= since);
        let is_young = self.max_age.is_none_or(|max_age| now < signed_in.plus(max_age));
        is_new || is_young && !matches!(self.prompt, Prompt::Pages { login: true, .. })
    }
}

/// Returns the user of an ID token that this server has issued to the client; `None` for any other text.
///
/// A key that is no longer published will do, and so does a token that has expired: it proves no sign-in, and names the
/// user whom the client expects. A key that was dropped will not, since others may have it.
fn subject_of(context: &Context, client: &Client, hint: &[u8]) -> Option<Subject> {
    let jws = Jws::parse(hint, ID_TOKEN_BYTES).ok().filter(|jws| jws.typ() == Some("jwt"))?;
    let mut keys = context.signing_keys.trusted().filter(|key| key.key_id() == jws.key_id());
    if !keys.any(|key| jws.is_signed_by(key, key.algorithm())) {
        return None;
    }
    let claims = jws.claims();
    let is_own = claims.text("iss").ok().flatten() == Some(&*context.config.issuer);
    let is_of_client = matches!(claims.audience(), Ok(Some((audience, _))) if audience == [client.id.as_str()]);
    let subject = claims.text("sub").ok().flatten().filter(|_| is_own && is_of_client)?;
    Subject::new(subject).ok()
}

/// Seconds: digits and nothing else. What exceeds 136 years counts as so much.
fn max_age(value: &[u8]) -> Result<Duration, Reason> {
    if !value.iter().all(u8::is_ascii_digit) {
        return Err(Reason::MaxAge);
    }
    let seconds = str::from_utf8(value).ok().and_then(|text| text.parse().ok()).unwrap_or(u32::MAX);
    Ok(Duration::from_secs(seconds.into()))
}

/// Returns the nonce: text without control characters, kept as it is.
pub(crate) fn nonce(query: &Params<'_>) -> Result<Option<Box<str>>, Reason> {
    match query.bytes("nonce") {
        Some(nonce) => text(nonce, NONCE_BYTES).map(Some).ok_or(Reason::Nonce),
        None => Ok(None),
    }
}

fn text(bytes: &[u8], max: usize) -> Option<Box<str>> {
    let text = str::from_utf8(bytes).ok()?;
    (text.len() <= max && !text.contains(char::is_control)).then(|| text.into())
}

/// What a client suggests for the sign-in and its page.
///
/// # Security
///
/// It is the text of a stranger: anyone can write such a link. Escape it, send no mail to it, and skip no step of the
/// sign-in because of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignInHints {
    subject: Option<Subject>,
    login_hint: Option<Box<str>>,
    display: Option<Box<str>>,
    ui_locales: Vec<Box<str>>,
    claims_locales: Vec<Box<str>>,
    acr_values: Vec<Box<str>>,
}

impl SignInHints {
    fn read(query: &Params<'_>) -> Self {
        let is_tag = |tag: &str| {
            tag.split('-').all(|part| (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
        };
        let list = |name: &str, fits: fn(&str) -> bool| -> Vec<Box<str>> {
            let values = names(query.bytes(name).unwrap_or_default()).filter_map(|value| text(value, LISTED_BYTES));
            values.filter(|value| fits(value)).take(LISTED).collect()
        };
        let display = query.bytes("display").and_then(|value| text(value, HINT_BYTES));
        Self {
            subject: None,
            login_hint: query.bytes("login_hint").and_then(|value| text(value, HINT_BYTES)),
            display: display.filter(|value| ["page", "popup", "touch", "wap"].contains(&&**value)),
            ui_locales: list("ui_locales", is_tag),
            claims_locales: list("claims_locales", is_tag),
            acr_values: list("acr_values", |_| true),
        }
    }

    /// Returns the user whom the client expects, by an ID token that this server has issued to it.
    #[must_use]
    pub const fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Returns what the user may have typed at the client, such as an e-mail address: a text of at most 512 bytes.
    #[must_use]
    pub fn login_hint(&self) -> Option<&str> {
        self.login_hint.as_deref()
    }

    /// Returns `page`, `popup`, `touch` or `wap`: how the client shows the page.
    #[must_use]
    pub fn display(&self) -> Option<&str> {
        self.display.as_deref()
    }

    /// Returns the languages for the pages, the preferred one first: at most 16 tags such as `de` and `fr-CA`.
    pub fn ui_locales(&self) -> impl Iterator<Item = &str> {
        self.ui_locales.iter().map(|tag| &**tag)
    }

    /// Returns the languages for claims, the preferred one first.
    pub fn claims_locales(&self) -> impl Iterator<Item = &str> {
        self.claims_locales.iter().map(|tag| &**tag)
    }

    /// Returns the authentication context classes that the client would like, the preferred one first: at most 16.
    pub fn acr_values(&self) -> impl Iterator<Item = &str> {
        self.acr_values.iter().map(|value| &**value)
    }
}
