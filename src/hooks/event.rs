//! What happened: the events that a sink receives.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use crate::base::clock::{OnceAMinute, Timestamp};
use crate::base::id::{ClientId, GrantId, Subject};
use crate::base::{measure, with_causes};
use crate::error::Reason;
use crate::error::failure::{ClaimsError, IntrospectionError, KeySetError, ProfileError, SignerError};
use crate::hooks::application_change::ApplicationChange;
use crate::hooks::token_refusal::TokenRefusal;
use crate::model::RevocationReason;
use crate::scope::ScopeSet;
use crate::store::StoreError;
use crate::wire::Endpoint;
use crate::wire::refusal::Severity;

macro_rules! shared {
    (type grant) => { GrantId };
    (doc grant) => { "The grant; of a code or a device, the one that its exchange creates." };
    (type client) => { &'a ClientId };
    (doc client) => { "The client." };
    (type subject) => { Option<&'a Subject> };
    (doc subject) => { "The user; `None` if the client acts for itself." };
    (type scopes) => { &'a ScopeSet };
    (doc scopes) => { "What was granted." };
    (type endpoint) => { Endpoint };
    (doc endpoint) => { "The endpoint." };
    (type peer) => { Option<IpAddr> };
    (doc peer) => { "The address that the request came from." };
}

/// Each event is one row: its fields, its name, its severity, and its facts. A field in parentheses is one that many
/// events share; it is also a fact with the same name.
macro_rules! events {
    ($(
        $(#[$about:meta])*
        $event:ident
        $(( $($shared:ident),+ ))?
        $({ $($(#[$about_field:meta])* $field:ident: $type:ty,)+ })?
        => $row:expr,
    )+) => {
        /// What happened.
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub enum Event<'a> {
            $(
                $(#[$about])*
                #[non_exhaustive]
                $event {
                    $($(#[doc = shared!(doc $shared)] $shared: shared!(type $shared),)+)?
                    $($($(#[$about_field])* $field: $type,)+)?
                },
            )+
        }

        impl<'a> Event<'a> {
            pub(crate) fn facts(&self) -> Facts<'a> {
                use Severity::{Info, Warning};

                match *self {
                    $(Self::$event { $($($shared,)+)? $($($field,)+)? } => $row$($(.$shared($shared))+)?,)+
                }
            }
        }
    };
}

/// Each fact is one row. It makes a public method that returns the fact, and one with which a row of `events!` sets it.
macro_rules! facts {
    ($($(#[$about:meta])* $fact:ident: $type:ty;)+) => {
        /// The facts of an event, in one form for all variants.
        pub(crate) struct Facts<'a> {
            pub(crate) name: &'static str,
            pub(crate) severity: Severity,
            why: Option<Why<'a>>,
            $(pub(crate) $fact: Option<$type>,)+
        }

        const fn named<'a>(name: &'static str, severity: Severity) -> Facts<'a> {
            Facts { name, severity, why: None, $($fact: None,)+ }
        }

        impl<'a> Facts<'a> {
            fn why(self, why: impl Into<Why<'a>>) -> Self {
                Self { why: Some(why.into()), ..self }
            }

            $(fn $fact(self, value: impl Known<$type>) -> Self {
                Self { $fact: value.known(), ..self }
            })+
        }

        /// What a sink needs to filter and count events without a `match` over all variants.
        impl<'a> Event<'a> {
            /// Returns the name of the event, such as `refresh_token_reused`.
            ///
            /// The names are few and fixed, so they can be labels of a metric.
            #[must_use]
            pub fn name(&self) -> &'static str {
                self.facts().name
            }

            /// Returns how much attention it needs.
            #[must_use]
            pub fn severity(&self) -> Severity {
                self.facts().severity
            }

            /// Returns what was wrong or why it was done, with its causes: `the store failed: connection refused`.
            #[must_use]
            pub fn reason(&self) -> Option<String> {
                self.facts().why.map(|why| why.to_string())
            }

            $($(#[$about])* #[must_use]
            pub fn $fact(&self) -> Option<$type> {
                self.facts().$fact
            })+
        }
    };
}

events! {
    /// An application was submitted, reviewed or changed.
    Application(client) {
        /// Who took the step: the owner that it names, or the actor passed to
        /// [`Registrar::with_actor`](crate::Registrar::with_actor).
        actor: Option<&'a Subject>,
        /// What was done.
        change: ApplicationChange<'a>,
    } => named(change.event_name(), Info).actor(actor),
    /// The user consented, or did not have to, and the browser was redirected with a code.
    CodeIssued(grant, client, subject, scopes) {
        /// Whether the user was asked. If not, the client's [`AskConsent`](crate::client::AskConsent) spared the page.
        asked: bool,
    } => named(if asked { "code_issued" } else { "code_issued_silently" }, Info),
    /// The user refused.
    Denied(client, subject) => named("denied", Info),
    /// A device asked for access [RFC 8628 section 3.1].
    DeviceRequested(client, peer) => named("device_requested", Info).endpoint(Endpoint::DeviceAuthorization),
    /// A user typed the code that a device shows.
    UserCodeTyped(client) {
        /// The user.
        subject: &'a Subject,
    } => named("user_code_typed", Info).subject(subject),
    /// A user typed a code that leads to no request, or to one that another user has typed first. Many of them are
    /// guesses [RFC 8628 section 5.1]. A text that cannot be a code raises no event.
    UserCodeMissed(peer) {
        /// The user.
        subject: &'a Subject,
    } => named("user_code_missed", Warning).subject(subject),
    /// The user consented, and a device may fetch its tokens. If the user refused, the event is
    /// [`Denied`](Self::Denied).
    DeviceApproved(grant, client, subject, scopes) => named("device_approved", Info),
    /// A code, or the code of a device, became a grant with its first pair of tokens.
    Exchanged(grant, client, subject) => named("exchanged", Info),
    /// A spent code was used again by its own client; its grant is revoked.
    CodeReplayed(grant, client, subject) => named("code_replayed", Warning),
    /// A spent code was used again by its own client, within a minute after the user's browser had sent the same answer
    /// twice, so that the code was on its way twice. The request was refused, and its grant is still live.
    CodeSentTwice(grant, client, subject) => named("code_sent_twice", Warning),
    /// A refresh token was exchanged for the next pair, or under [`Keep`](crate::client::RefreshRotation::Keep) for a
    /// further access token.
    Refreshed(grant, client, subject) => named("refreshed", Info),
    /// A superseded refresh token, or a device code that was redeemed before, was used within its grace. Its severity
    /// is [`Warning`](Severity::Warning) if it was superseded more than 30 s before: a retry comes sooner.
    RefreshedInGrace(grant, client, subject) {
        /// Seconds since the token was superseded.
        age: u32,
    } => named("refreshed_in_grace", if age > USUAL_AGE_IN_GRACE { Warning } else { Info }).age(age),
    /// A superseded refresh token was used after its grace by its own client: a copy of it exists. The grant is
    /// revoked.
    RefreshTokenReused(grant, client, subject) => named("refresh_token_reused", Warning),
    /// A code or refresh token came with a DPoP proof by a key other than the one it is bound to [RFC 9449 sections 5
    /// and 10]. Or an unbound refresh token came without a proof, after its grant was bound to a key. The code or token
    /// may be stolen. Nothing was revoked, since the owner of the key can still use the grant.
    AnotherDpopKey(grant, client, subject) => named("another_dpop_key", Warning),
    /// A client got an access token of its own [RFC 6749 section 4.4]. The grant holds others of the client too.
    ClientCredentialsTokenIssued(grant, client, scopes) => named("client_credentials_token_issued", Info),
    /// An access token was revoked by its client.
    AccessTokenRevoked(grant, client) => named("access_token_revoked", Info),
    /// A client tried to revoke a superseded refresh token after its grace, but before its expiry. Nothing changed: the
    /// grant is still live.
    /// [`RevocationSettings::superseded_token`](crate::config::RevocationSettings::superseded_token) decides.
    SupersededTokenAtRevocation(grant, client) => named("superseded_token_at_revocation", Warning),
    /// Your service replaced what it keeps with a grant.
    GrantDataSet(grant, client, subject) {
        /// The length of the new data; 0 if there is none.
        bytes: usize,
    } => named("grant_data_set", Info).bytes(bytes),
    /// A grant was revoked.
    GrantRevoked(grant, client, subject) {
        /// Why.
        reason: RevocationReason,
    } => named("grant_revoked", Info).why(reason),
    /// A genuine refresh token is newer than anything in the store: the store lost acknowledged writes.
    StoreWentBack(grant, client) => named("store_went_back", Severity::Error),
    /// A pair was derived with a key that this server does not have: its
    /// [`derivation_keys`](crate::Config::refresh) differ from those of another server, or a key was removed
    /// too early. The request was answered with 503; nothing changed.
    DerivationKeyMissing(grant, client) => named("derivation_key_missing", Severity::Error),
    /// Something was issued up to 15 minutes in the future: the clock of this server is behind, or the clock of the
    /// server that issued it is ahead. Requests with it are answered with 503. Raised at most once a minute by each
    /// server.
    ClockDiffers {
        /// Seconds by which it was issued in the future.
        ahead: u32,
    } => named("clock_differs", Severity::Error).why(Why::Ahead(ahead)),
    /// A purge was refused: the clock is further ahead than [`clock_jump`](crate::Config::clock_jump) accepts, or the
    /// last purge is that long ago. Nothing is removed until the clock is corrected or
    /// [confirmed](crate::AuthorizationServer::confirm_clock).
    PurgeRefused {
        /// The time of the clock.
        now: Timestamp,
        /// The newest time that this process and the store have seen.
        newest: Timestamp,
    } => named("purge_refused", Severity::Error).why(Why::Clock { now, newest }),
    /// A purge stopped. Either a store failed, and the next purge continues; or the store has the records of
    /// [another issuer](crate::Config::former_issuers), and nothing is removed until that is corrected.
    PurgeFailed {
        /// The failure.
        error: &'a StoreError,
    } => named("purge_failed", error.severity()).why(error),
    /// Expired records were removed, or there were none.
    Purged {
        /// How many records were removed.
        rows: usize,
        /// How many seconds it took.
        seconds: u32,
        /// Whether nothing was left to remove. If not, the purge is called again at once.
        finished: bool,
    } => named("purged", if rows > 0 { Info } else { Severity::Debug })
        .rows(rows)
        .seconds(seconds)
        .why(if finished { "nothing is left to remove" } else { "more is left to remove" }),
    /// The calls of a store have failed for a second or longer, and none has succeeded meanwhile. A call whose caller
    /// gave up after a second is one that failed. Raised once, until the store answers again; the requests that are
    /// answered with 503 have events of their own, as far as they get an answer.
    StoreUnavailable {
        /// What failed: `read` or `write`.
        operation: &'static str,
        /// The last failure.
        error: &'a StoreError,
    } => named("store_unavailable", Severity::Error).operation(operation).why(error),
    /// A store answers again, after [`StoreUnavailable`](Self::StoreUnavailable).
    StoreBack {
        /// What succeeded: `read` or `write`.
        operation: &'static str,
        /// Seconds since the first call that failed.
        seconds: u32,
    } => named("store_back", Warning).operation(operation).seconds(seconds),
    /// The key set at a client's `jwks_uri` was fetched and contains keys that are not used: private or malformed ones,
    /// or keys that are not for signatures. Raised once for each such fetch.
    KeysLeftOut(client) {
        /// How many keys are not used.
        keys: usize,
    } => named("keys_left_out", Warning).keys(keys),
    /// Client authentication failed.
    AuthenticationFailed(endpoint, peer) {
        /// The client that the request claimed to come from: an existing one, or else a text of fewer than 32 bytes,
        /// which is too short to be a misplaced secret.
        client: Option<&'a str>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    } => named("authentication_failed", Warning).client(client).why(reason),
    /// The [`Throttle`](crate::hooks::Throttle) refused a request.
    Throttled(endpoint, peer) {
        /// The client that the request claimed to come from. A text of 32 bytes or more that was not looked up yet is
        /// left out, since it may be a misplaced secret. This also leaves out your own ids of that length.
        client: Option<&'a str>,
    } => named("throttled", Warning).client(client),
    /// The adapter passes no peer address, so the [`Throttle`](crate::hooks::Throttle) cannot count by it. Raised once
    /// by each server with a throttle.
    PeerAddressMissing(endpoint) => named("peer_address_missing", Warning).why(PASS_PEERS),
    /// A request was for another host, and was answered with 421. Behind a proxy, users see that answer until the proxy
    /// passes the `Host` header of the browser. Raised at most once a minute by the clones of a
    /// [`Hosts`](crate::server::Hosts).
    OtherHost {
        /// The host of the request, at most 255 bytes. Control characters are escaped.
        host: &'a str,
        /// Where this service is.
        origin: &'a str,
    } => named("other_host", Warning).why(Why::OtherHost { host, origin }),
    /// A browser was sent to the sign-in five times within ten seconds and came back without a session. It got a page
    /// that says so. See [the `SameSite` trap](crate::guide::sign_in#the-samesite-trap).
    SignInLoop => named("sign_in_loop", Warning).why(KEEP_SESSION),
    /// A route of your service requires a scope that no token can have, for example a mistyped one. The request was
    /// answered with 503. Raised once per server: [`check_scope`](crate::ResourceServer::check_scope) finds all
    /// such scopes when the service starts.
    RequiredScopeUnknown {
        /// Which scope, and what would be accepted.
        reason: &'a Reason,
    } => named("required_scope_unknown", Severity::Error).why(reason),
    /// An access token could not be signed. The request was answered with 503, and nothing was changed.
    SigningFailed(client) {
        /// The failure.
        error: &'a SignerError,
    } => named("signing_failed", Severity::Error).why(error),
    /// The claims that [`Claims`](crate::hooks::Claims) returned for an access token of a client were refused. The
    /// request was answered with 503, and nothing was changed. Raised at most once a minute for each of the last 1000
    /// such clients, by each server.
    ClaimsRefused(client) {
        /// The failure.
        error: &'a ClaimsError,
    } => named("claims_refused", Severity::Error).why(error),
    /// Claims about a user were sent to a client. Raised at most once a minute for each of the last 1000 grants, by
    /// each server.
    ClaimsReleased(grant, client, subject) {
        /// The names of the claims, without `sub`.
        claims: &'a [&'a str],
    } => named("claims_released", Info).claims(claims),
    /// [`Claims`](crate::hooks::Claims) says that the user of a live token was deleted, so the token was refused.
    /// Nothing was revoked. Raised as often as [`ClaimsReleased`](Self::ClaimsReleased).
    SubjectGone(grant, client, subject) => named("subject_gone", Warning),
    /// [`Claims`](crate::hooks::Claims) cannot say now who a user is. The request was answered with 503. Raised as
    /// often as [`ClaimsReleased`](Self::ClaimsReleased).
    ClaimsUnavailable(grant, client, subject) => named("claims_unavailable", Warning),
    /// What [`Claims`](crate::hooks::Claims) returned about a user cannot be sent. The request was answered with 500.
    /// Raised as often as [`ClaimsReleased`](Self::ClaimsReleased).
    ProfileRefused(client) {
        /// The failure.
        error: &'a ProfileError,
    } => named("profile_refused", Severity::Error).why(error),
    /// A client asked about a live token of another client, and is no resource server: see
    /// [`may_introspect`](crate::Client::may_introspect). The answer said that the token is not active
    /// [RFC 7662 section 2.2]. Raised at most once a minute for each of the last 1000 such
    /// clients, by each server.
    IntrospectionRefused {
        /// The grant that the token belongs to.
        grant: GrantId,
        /// The client that asked.
        client: &'a ClientId,
    } => named("introspection_refused", Warning).endpoint(Endpoint::Introspection).grant(grant).client(client),
    /// A [`ResourceServer`](crate::ResourceServer) could not check an access token, since the store or a setting
    /// failed. The request was answered with 503 or 500. Failed look-ups in another process have events of their own.
    CheckFailed {
        /// The failure.
        reason: &'a Reason,
    } => named("check_failed", reason.refusal().severity).why(reason),
    /// A [`ResourceServer`](crate::ResourceServer) refused an access token: it is not valid, or not for this resource.
    AccessTokenRefused {
        /// The client that the token was issued to, if the authorization server described or signed the token.
        client: Option<&'a ClientId>,
        /// Why.
        refusal: TokenRefusal,
    } => named("access_token_refused", refusal.severity()).client(client).why(refusal),
    /// A [`ResourceServer`](crate::ResourceServer) refused a request before it accepted an access token: the request
    /// has none, or a malformed one, or its DPoP proof is missing or wrong.
    CheckRefused {
        /// Exactly what was wrong.
        reason: &'a Reason,
    } => named("check_refused", Severity::Debug).why(reason),
    /// A [`ResourceClient`](crate::resource::ResourceClient) could not look up an access token. All checks that waited
    /// for the look-up fail with 503, or use an earlier answer. Raised once for each failed look-up, however many
    /// checks waited for it.
    IntrospectionFailed {
        /// The failure.
        error: &'a IntrospectionError,
    } => named("introspection_failed", Warning).why(error),
    /// A look-up failed, and a [`ResourceClient`](crate::resource::ResourceClient) used an earlier answer beyond its
    /// time to live: see [`stale_if_error`](crate::resource::IntrospectionSettings::stale_if_error).
    ///
    /// Client and user are those of the token.
    StaleAnswerUsed(client, subject) {
        /// Why the look-up failed.
        error: &'a IntrospectionError,
    } => named("stale_answer_used", Warning).why(error),
    /// A [`JwtVerifier`](crate::resource::JwtVerifier) could not fetch the key set of the authorization server. It uses
    /// the previous one for at most 300 s longer, and then answers with 503. Raised once for each failed request.
    KeySetFailed {
        /// The failure.
        error: &'a KeySetError,
    } => named("key_set_failed", Warning).why(error),
    /// A request was refused for any other reason, or failed.
    Refused(endpoint) {
        /// The client, as far as it is known.
        client: Option<&'a ClientId>,
        /// The redirect URI, if it was wrong: without user, query and fragment, at most 255 bytes, and with `…` for
        /// each part of 32 bytes or more, which may be a misplaced secret. It comes from the request. Control
        /// characters are escaped; it may hold any other character.
        redirect_uri: Option<&'a str>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    } => named("refused", reason.refusal().severity).client(client).redirect_uri(redirect_uri).why(reason),
}

facts! {
    /// Returns the client, as far as it is known.
    ///
    /// For `authentication_failed` and `throttled` it is what the request claimed. It may be any text, so do not use it
    /// as the label of a metric.
    client: &'a str;
    /// Returns the user, if the event has one.
    subject: &'a Subject;
    /// Returns who took a step on an application: the actor passed to
    /// [`Registrar::with_actor`](crate::Registrar::with_actor), or else the owner, for the owner's own steps.
    actor: &'a Subject;
    /// Returns the grant, if the event has one.
    grant: GrantId;
    /// Returns the endpoint, for events about a request.
    endpoint: Endpoint;
    /// Returns the address that the request came from, if the event has it.
    peer: IpAddr;
    /// Returns what was granted, if the event has it.
    scopes: &'a ScopeSet;
    /// Returns the redirect URI that was refused, as in [`Event::Refused`].
    redirect_uri: &'a str;
    /// Returns the seconds since a refresh token was superseded, as in [`Event::RefreshedInGrace`].
    age: u32;
    /// Returns how many keys are not used, as in [`Event::KeysLeftOut`].
    keys: usize;
    /// Returns the length of the data of a grant, as in [`Event::GrantDataSet`].
    bytes: usize;
    /// Returns the names of the claims that were sent, as in [`Event::ClaimsReleased`].
    claims: &'a [&'a str];
    /// Returns whether a store failed at a `read` or a `write`, as in [`Event::StoreUnavailable`].
    operation: &'static str;
    /// Returns how many records a purge removed, as in [`Event::Purged`].
    rows: usize;
    /// Returns how long it took, as in [`Event::Purged`] and [`Event::StoreBack`].
    seconds: u32;
}

/// Receives events, after the store has acknowledged what happened.
///
/// It is called within the request, so it should pass the event on and return. No event contains a secret. The check at
/// a resource runs for every call, and raises an event if it does not accept the token.
pub trait EventSink: fmt::Debug + Send + Sync + 'static {
    /// Records one event.
    fn record(&self, event: &Event<'_>);
}

/// Where a server's events go, if anywhere.
#[derive(Clone, Debug, Default)]
pub(crate) struct Events {
    sink: Option<Arc<dyn EventSink>>,
    /// Admits [`Event::ClockDiffers`].
    clock_reports: Arc<OnceAMinute>,
}

impl Events {
    pub(crate) fn to(sink: impl EventSink) -> Self {
        Self { sink: Some(Arc::new(sink)), ..Self::default() }
    }

    /// Returns whether there is a sink.
    pub(crate) const fn are_received(&self) -> bool {
        self.sink.is_some()
    }

    pub(crate) fn raise(&self, event: &Event<'_>) {
        measure::event(event.name(), event.severity().as_str());
        if let Some(sink) = &self.sink {
            sink.record(event);
        }
    }

    /// Reports once a minute that the clocks of the servers differ, if that is why a request is refused.
    pub(crate) fn note_clock(&self, reason: &Reason, now: impl FnOnce() -> Timestamp) {
        if let Reason::ClockDiffers(ahead) = *reason
            && self.clock_reports.is_due(now())
        {
            self.raise(&Event::ClockDiffers { ahead });
        }
    }
}

const PASS_PEERS: &str = "the adapter passes no address: serve an axum router with \
    into_make_service_with_connect_info::<SocketAddr>() or accept::serve; elsewhere, set Request::peer";
const KEEP_SESSION: &str = "a browser came back from the sign-in five times without a session: its cookie needs \
    SameSite=Lax, since browsers do not send one with Strict after a link of a client, and a path that includes this \
    one; or Users::signed_in does not find what the sign-in has stored";

/// Seconds within which a client repeats a refresh whose answer it lost.
const USUAL_AGE_IN_GRACE: u32 = 30;

/// Converts a field of an event to the type of its fact.
trait Known<T> {
    fn known(self) -> Option<T>;
}

impl<T> Known<T> for T {
    fn known(self) -> Option<T> {
        Some(self)
    }
}

impl<T> Known<T> for Option<T> {
    fn known(self) -> Self {
        self
    }
}

impl<'a> Known<&'a str> for &'a ClientId {
    fn known(self) -> Option<&'a str> {
        Some(self.as_str())
    }
}

impl<'a> Known<&'a str> for Option<&'a ClientId> {
    fn known(self) -> Option<&'a str> {
        self.map(ClientId::as_str)
    }
}

/// What was wrong, or why something was done.
enum Why<'a> {
    /// With its causes.
    Error(&'a (dyn Error + Send + Sync)),
    Revocation(RevocationReason),
    Token(TokenRefusal),
    /// What to do about it.
    Remedy(&'static str),
    OtherHost {
        host: &'a str,
        origin: &'a str,
    },
    Clock {
        now: Timestamp,
        newest: Timestamp,
    },
    Ahead(u32),
}

impl<'a, E: Error + Send + Sync> From<&'a E> for Why<'a> {
    fn from(error: &'a E) -> Self {
        Self::Error(error)
    }
}

impl From<RevocationReason> for Why<'_> {
    fn from(reason: RevocationReason) -> Self {
        Self::Revocation(reason)
    }
}

impl From<TokenRefusal> for Why<'_> {
    fn from(refusal: TokenRefusal) -> Self {
        Self::Token(refusal)
    }
}

impl From<&'static str> for Why<'_> {
    fn from(remedy: &'static str) -> Self {
        Self::Remedy(remedy)
    }
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => f.write_str(&with_causes(*error)),
            Self::Revocation(reason) => f.write_str(reason.as_str()),
            Self::Token(refusal) => fmt::Display::fmt(refusal, f),
            Self::Remedy(remedy) => f.write_str(remedy),
            Self::OtherHost { host, origin } => write!(
                f,
                "the request is for the host \"{host}\", and this service is at {origin}; if a proxy sent it, the \
                 proxy must pass the Host of the browser (nginx: proxy_set_header Host $host;)"
            ),
            Self::Ahead(ahead) => write!(
                f,
                "the clocks of the servers differ: this one is behind, or another one is ahead, by {ahead} s or more"
            ),
            Self::Clock { now, newest } => {
                write!(f, "the clock shows {now}, and the newest time seen before is {newest}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::client::Privileges;
    use crate::wire::fetch::{FetchError, FetchErrorKind};

    /// A sink counts by them, so they are few, fixed and distinct.
    #[test]
    fn every_event_has_a_name_and_its_facts() {
        use std::collections::BTreeSet;

        let (id, alice, scopes) = (ClientId::new("app").unwrap(), Subject::new("alice").unwrap(), ScopeSet::empty());
        let (grant, client, subject, scopes) = (GrantId::from_bytes([7; 16]), &id, Some(&alice), &scopes);
        let privileges = Privileges::default();
        let (endpoint, reason, peer) = (Endpoint::Token, &Reason::WrongSecret, None);
        let named = Some("app");
        let error = &IntrospectionError::Status(500);
        let changes = [
            ApplicationChange::Submitted,
            ApplicationChange::Approved,
            ApplicationChange::ChangeProposed,
            ApplicationChange::ChangeApproved,
            ApplicationChange::ChangeRejected,
            ApplicationChange::Rejected,
            ApplicationChange::Suspended,
            ApplicationChange::Resumed,
            ApplicationChange::PrivilegesSet { old: privileges, new: privileges },
            ApplicationChange::DataSet,
            ApplicationChange::Reduced,
            ApplicationChange::SecretClaimed,
            ApplicationChange::SecretRotated,
            ApplicationChange::PreviousSecretRevoked,
            ApplicationChange::SecretsEnded,
            ApplicationChange::KeysReplaced,
            ApplicationChange::Transferred { from: Some(&alice), to: &alice },
            ApplicationChange::GrantsRevoked,
            ApplicationChange::Deleted,
            ApplicationChange::Ensured,
            ApplicationChange::Registered,
            ApplicationChange::DocumentStored,
            ApplicationChange::Evicted,
            ApplicationChange::Updated,
            ApplicationChange::InitialAccessTokenMade,
            ApplicationChange::InitialAccessTokenEnded,
        ];
        let unsigned = &SignerError::new("no answer");
        // The event, and whether it has a subject, a grant, an endpoint and a reason.
        let mut events = vec![
            (Event::CodeIssued { grant, client, subject, scopes, asked: true }, [true, true, false, false]),
            (Event::Denied { client, subject }, [true, false, false, false]),
            (Event::DeviceRequested { client, peer }, [false, false, true, false]),
            (Event::UserCodeTyped { client, subject: &alice }, [true, false, false, false]),
            (Event::DeviceApproved { grant, client, subject, scopes }, [true, true, false, false]),
            (Event::Exchanged { grant, client, subject }, [true, true, false, false]),
            (Event::CodeReplayed { grant, client, subject }, [true, true, false, false]),
            (Event::CodeSentTwice { grant, client, subject }, [true, true, false, false]),
            (Event::Refreshed { grant, client, subject }, [true, true, false, false]),
            (Event::RefreshedInGrace { grant, client, subject, age: 1 }, [true, true, false, false]),
            (Event::RefreshTokenReused { grant, client, subject }, [true, true, false, false]),
            (Event::ClientCredentialsTokenIssued { grant, client, scopes }, [false, true, false, false]),
            (Event::AccessTokenRevoked { grant, client }, [false, true, false, false]),
            (Event::SupersededTokenAtRevocation { grant, client }, [false, true, false, false]),
            (
                Event::GrantRevoked { grant, client, subject, reason: RevocationReason::RevokedByUser },
                [true, true, false, true],
            ),
            (Event::GrantDataSet { grant, client, subject, bytes: 9 }, [true, true, false, false]),
            (Event::StoreWentBack { grant, client }, [false, true, false, false]),
            (Event::DerivationKeyMissing { grant, client }, [false, true, false, false]),
            (Event::KeysLeftOut { client, keys: 1 }, [false, false, false, false]),
            (Event::AuthenticationFailed { endpoint, client: named, peer, reason }, [false, false, true, true]),
            (Event::Throttled { endpoint, client: named, peer }, [false, false, true, false]),
            (Event::SigningFailed { client, error: unsigned }, [false, false, false, true]),
            (Event::ClaimsRefused { client, error: &ClaimsError::TooDeep }, [false, false, false, true]),
            (Event::ClaimsReleased { grant, client, subject, claims: &["email"] }, [true, true, false, false]),
            (Event::SubjectGone { grant, client, subject }, [true, true, false, false]),
            (Event::ClaimsUnavailable { grant, client, subject }, [true, true, false, false]),
            (Event::ProfileRefused { client, error: &ProfileError::TooDeep }, [false, false, false, true]),
            (Event::IntrospectionRefused { grant, client }, [false, true, true, false]),
            (
                Event::AccessTokenRefused { client: Some(client), refusal: TokenRefusal::Inactive },
                [false, false, false, true],
            ),
            (Event::StaleAnswerUsed { client, subject, error }, [true, false, false, true]),
            (Event::Refused { endpoint, client: Some(client), redirect_uri: None, reason }, [false, false, true, true]),
        ];
        let alone = [false, false, false, false];
        events.extend(changes.map(|change| (Event::Application { client, actor: None, change }, alone)));
        let mut names = BTreeSet::new();
        for (event, expected) in &events {
            let found = [
                event.subject().is_some(),
                event.grant().is_some(),
                event.endpoint().is_some(),
                event.reason().is_some(),
            ];
            assert_eq!(found, *expected, "{event:?}");
            assert_eq!(event.client(), named, "{event:?}");
            let name = event.name();
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(names.insert(name), "{name} is the name of two");
        }
        let now = Timestamp::from_seconds(1);
        for event in [
            Event::PurgeRefused { now, newest: now },
            Event::ClockDiffers { ahead: 600 },
            Event::CheckFailed { reason },
            Event::PurgeFailed { error: &StoreError::transient("busy") },
            Event::Purged { rows: 7, seconds: 1, finished: true },
            Event::StoreUnavailable { operation: "read", error: &StoreError::transient("busy") },
            Event::StoreBack { operation: "read", seconds: 7 },
            Event::CheckRefused { reason },
            Event::PeerAddressMissing { endpoint },
            Event::OtherHost { host: "localhost", origin: "https://auth.example" },
            Event::SignInLoop {},
            Event::UserCodeMissed { subject: &alice, peer },
            Event::RequiredScopeUnknown { reason },
            Event::IntrospectionFailed { error },
            Event::KeySetFailed { error: &KeySetError::MediaType },
        ] {
            assert_eq!((event.client(), names.insert(event.name())), (None, true), "{event:?}");
        }
    }

    /// D-12
    #[test]
    fn a_late_use_in_grace_is_a_warning() {
        let client = ClientId::new("a").unwrap();
        let severity = |age| {
            let grant = GrantId::from_bytes([0; 16]);
            Event::RefreshedInGrace { grant, client: &client, subject: None, age }.severity()
        };
        assert_eq!(
            [0, 30, 31, 299].map(severity),
            [Severity::Info, Severity::Info, Severity::Warning, Severity::Warning]
        );
    }

    #[test]
    fn a_reason_is_reported_with_its_causes() {
        let failed = Reason::Store(StoreError::permanent("no disk"));
        let refused = |reason| {
            let event = Event::Refused { endpoint: Endpoint::Token, client: None, redirect_uri: None, reason };
            (event.severity(), event.reason().unwrap())
        };
        let (severity, text) = refused(&failed);
        assert_eq!((severity, &*text), (Severity::Error, "the store failed: no disk"));
        assert_eq!(refused(&Reason::WrongSecret), (Severity::Info, "the client secret is wrong".to_owned()));
    }

    /// RSC-17
    #[test]
    fn events_of_a_resource_client_have_their_cause() {
        let error = &IntrospectionError::Status(500);
        let client = &ClientId::new("app").unwrap();
        let status = "the introspection endpoint answered with status 500";
        for (event, severity, reason) in [
            (Event::IntrospectionFailed { error }, Severity::Warning, status),
            (Event::StaleAnswerUsed { client, subject: None, error }, Severity::Warning, status),
            (
                Event::AccessTokenRefused { client: None, refusal: TokenRefusal::Expired },
                Severity::Debug,
                "the access token has expired",
            ),
        ] {
            assert_eq!((event.severity(), event.reason().as_deref()), (severity, Some(reason)), "{event:?}");
        }
    }

    #[test]
    fn an_event_about_a_wrong_set_up_says_what_to_do() {
        let other = Event::OtherHost { host: "127.0.0.1:8080", origin: "https://auth.example" };
        let missing = Event::PeerAddressMissing { endpoint: Endpoint::Token };
        for (event, words) in [
            (other, ["\"127.0.0.1:8080\"", "https://auth.example", "proxy_set_header Host $host;"]),
            (Event::SignInLoop {}, ["SameSite=Lax", "Strict", "Users::signed_in"]),
            (missing, ["into_make_service_with_connect_info::<SocketAddr>()", "accept::serve", "Request::peer"]),
        ] {
            let reason = event.reason().unwrap();
            assert!(words.iter().all(|word| reason.contains(word)), "{reason}");
        }
        let expired = Event::AccessTokenRefused { client: None, refusal: TokenRefusal::Inactive };
        assert_eq!(expired.severity(), Severity::Debug);
    }

    #[test]
    fn events_of_a_verifier_have_their_cause() {
        let refused = |refusal| Event::AccessTokenRefused { client: None, refusal }.reason().unwrap();
        assert_eq!(
            refused(TokenRefusal::MalformedClaim("exp")),
            "the claim exp of the access token is missing or malformed"
        );
        assert_eq!(refused(TokenRefusal::Signature), TokenRefusal::Signature.as_str());
        let error = &KeySetError::Fetch(FetchError::new(FetchErrorKind::TimedOut));
        let failed = Event::KeySetFailed { error };
        assert_eq!(
            (failed.severity(), &*failed.reason().unwrap()),
            (Severity::Warning, "the request for the key set failed: the request timed out")
        );
    }
}
