//! What happened: the events that a sink receives.

use std::net::IpAddr;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId};
use crate::base::subject::Subject;
use crate::error::Reason;
use crate::error::introspection::IntrospectionError;
use crate::error::key_set::KeySetError;
use crate::error::signing::SignerError;
use crate::hooks::application_change::ApplicationChange;
use crate::hooks::token_refusal::TokenRefusal;
use crate::model::RevocationReason;
use crate::scope::ScopeSet;
use crate::store::StoreError;
use crate::wire::Endpoint;
use crate::wire::refusal::Severity;

/// What happened.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An application was submitted, reviewed or changed.
    #[non_exhaustive]
    Application {
        /// The application.
        client: &'a ClientId,
        /// Who took the step: the owner that it names, or the actor passed to
        /// [`Registrar::with_actor`](crate::Registrar::with_actor).
        actor: Option<&'a Subject>,
        /// What was done.
        change: ApplicationChange<'a>,
    },
    /// The user consented, or did not have to, and the browser was redirected with a code.
    #[non_exhaustive]
    CodeIssued {
        /// The grant that the code will become.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
        /// What the user granted.
        scopes: &'a ScopeSet,
        /// Whether the user was asked. If not, the client's [`AskConsent`](crate::client::AskConsent) spared the page.
        asked: bool,
    },
    /// The user refused.
    #[non_exhaustive]
    Denied {
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A device asked for access [RFC 8628 section 3.1].
    #[non_exhaustive]
    DeviceRequested {
        /// The application.
        client: &'a ClientId,
        /// The address that the device asked from.
        peer: Option<IpAddr>,
    },
    /// A user typed the code that a device shows.
    #[non_exhaustive]
    UserCodeTyped {
        /// The application.
        client: &'a ClientId,
        /// The user.
        subject: &'a Subject,
    },
    /// A user typed a code that leads to no request, or to one that another user has typed first. Many of them are
    /// guesses [RFC 8628 section 5.1]. A text that cannot be a code raises no event.
    #[non_exhaustive]
    UserCodeMissed {
        /// The user.
        subject: &'a Subject,
        /// The address of the browser.
        peer: Option<IpAddr>,
    },
    /// The user consented, and a device may fetch its tokens. If the user refused, the event is [`Denied`](Self::Denied).
    #[non_exhaustive]
    DeviceApproved {
        /// The grant that the device will get.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user.
        subject: Option<&'a Subject>,
        /// What the user granted.
        scopes: &'a ScopeSet,
    },
    /// A code, or the code of a device, became a grant with its first pair of tokens.
    #[non_exhaustive]
    Exchanged {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A spent code was used again by its own client; its grant is revoked.
    #[non_exhaustive]
    CodeReplayed {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A refresh token was exchanged for the next pair, or under [`Keep`](crate::client::RefreshRotation::Keep) for a further
    /// access token.
    #[non_exhaustive]
    Refreshed {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
    },
    /// A superseded refresh token, or a device code that was redeemed before, was used within its grace. Its severity is
    /// [`Warning`](Severity::Warning) if it was superseded more than 30 s before: a retry comes sooner.
    #[non_exhaustive]
    RefreshedInGrace {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
        /// Seconds since the token was superseded.
        age: u32,
    },
    /// A superseded refresh token was used after its grace by its own client: a copy of it exists.
    #[non_exhaustive]
    RefreshTokenReused {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
        /// Whether the grant was revoked, as it is by default.
        revoked: bool,
    },
    /// A code or refresh token came with a DPoP proof by a key other than the one it is bound to [RFC 9449 sections 5
    /// and 10]. Or an unbound refresh token came without a proof, after its grant was bound to a key. The code or token
    /// may be stolen. Nothing was revoked, since the owner of the key can still use the grant.
    #[non_exhaustive]
    AnotherDpopKey {
        /// The grant; for a code, the grant that its exchange will create.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user.
        subject: Option<&'a Subject>,
    },
    /// A client got an access token of its own [RFC 6749 section 4.4].
    #[non_exhaustive]
    ClientCredentialsTokenIssued {
        /// The grant that holds the token, and others of the client.
        grant: GrantId,
        /// The client.
        client: &'a ClientId,
        /// What the token may do.
        scopes: &'a ScopeSet,
    },
    /// An access token was revoked by its client.
    #[non_exhaustive]
    AccessTokenRevoked {
        /// Its grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A client tried to revoke a superseded refresh token after its grace, but before its expiry. Nothing changed: the
    /// grant is still live. [`RevocationSettings::superseded_token`](crate::config::RevocationSettings::superseded_token) decides.
    #[non_exhaustive]
    SupersededTokenAtRevocation {
        /// Its grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A grant was revoked.
    #[non_exhaustive]
    GrantRevoked {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
        /// Why.
        reason: RevocationReason,
    },
    /// A genuine refresh token is newer than anything in the store: the store lost acknowledged writes.
    #[non_exhaustive]
    StoreWentBack {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A pair was derived with a key that this server does not have: its
    /// [`derivation_keys`](crate::Config::refresh) differ from those of another server, or a key was removed
    /// too early. The request was answered with 503; nothing changed.
    #[non_exhaustive]
    DerivationKeyMissing {
        /// The grant.
        grant: GrantId,
        /// The application.
        client: &'a ClientId,
    },
    /// A purge was refused: the clock is further ahead than [`clock_jump`](crate::Config::clock_jump) accepts, or the
    /// last purge is that long ago. Nothing is removed until the clock is corrected or
    /// [confirmed](crate::AuthorizationServer::confirm_clock).
    #[non_exhaustive]
    PurgeRefused {
        /// The time of the clock.
        now: Timestamp,
        /// The newest time that this process and the store have seen.
        newest: Timestamp,
    },
    /// A purge stopped, since a store failed. The next one continues.
    #[non_exhaustive]
    PurgeFailed {
        /// The failure.
        error: &'a StoreError,
    },
    /// The key set at a client's `jwks_uri` was fetched and contains keys that are not used: private or malformed ones,
    /// or keys that are not for signatures. Raised once for each such fetch.
    #[non_exhaustive]
    KeysLeftOut {
        /// The client.
        client: &'a ClientId,
        /// How many keys are not used.
        keys: usize,
    },
    /// Client authentication failed.
    #[non_exhaustive]
    AuthenticationFailed {
        /// The endpoint.
        endpoint: Endpoint,
        /// The client that the request claimed to come from: an existing one, or else a text of fewer than 32 bytes,
        /// which is too short to be a misplaced secret.
        client: Option<&'a str>,
        /// The address that the request came from.
        peer: Option<IpAddr>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    },
    /// The [`Throttle`](crate::hooks::Throttle) refused a request.
    #[non_exhaustive]
    Throttled {
        /// The endpoint.
        endpoint: Endpoint,
        /// The client that the request claimed to come from. A text of 32 bytes or more that was not looked up yet is
        /// left out, since it may be a misplaced secret. This also leaves out your own ids of that length.
        client: Option<&'a str>,
        /// The address that the request came from.
        peer: Option<IpAddr>,
    },
    /// The adapter passes no peer address, so the [`Throttle`](crate::hooks::Throttle) cannot count by it. Raised once by each server with a
    /// throttle.
    #[non_exhaustive]
    PeerAddressMissing {
        /// The endpoint where it was noticed.
        endpoint: Endpoint,
    },
    /// A route of your service requires a scope that no token can have, for example a mistyped one. The request was
    /// answered with 503. Raised once per server: [`check_scope`](crate::AuthorizationServer::check_scope) finds all such
    /// scopes when the service starts.
    #[non_exhaustive]
    RequiredScopeUnknown {
        /// Which scope, and what would be accepted.
        reason: &'a Reason,
    },
    /// An access token could not be signed. The request was answered with 503, and nothing was changed.
    #[non_exhaustive]
    SigningFailed {
        /// The client.
        client: &'a ClientId,
        /// The failure.
        error: &'a SignerError,
    },
    /// A client asked about a live token of another client, and is no resource server: see
    /// [`may_introspect`](crate::Client::may_introspect). The answer said that the token is not active
    /// [RFC 7662 section 2.2]. Raised at most once a minute for each of the last 1000 such
    /// clients, by each server.
    #[non_exhaustive]
    IntrospectionRefused {
        /// The grant that the token belongs to.
        grant: GrantId,
        /// The client that asked.
        client: &'a ClientId,
    },
    /// A [`ResourceClient`](crate::resource::ResourceClient) or a [`JwtVerifier`](crate::resource::JwtVerifier) refused an
    /// access token.
    #[non_exhaustive]
    AccessTokenRefused {
        /// The client that the token was issued to, if the authorization server described or signed the token.
        client: Option<&'a ClientId>,
        /// Why.
        refusal: TokenRefusal,
    },
    /// A [`ResourceClient`](crate::resource::ResourceClient) could not look up an access token. All checks that waited
    /// for the look-up fail with 503, or use an earlier answer. Raised once for each failed look-up, however many checks
    /// waited for it.
    #[non_exhaustive]
    IntrospectionFailed {
        /// The failure.
        error: &'a IntrospectionError,
    },
    /// A look-up failed, and a [`ResourceClient`](crate::resource::ResourceClient) used an earlier answer beyond its
    /// time to live: see [`stale_if_error`](crate::resource::IntrospectionSettings::stale_if_error).
    #[non_exhaustive]
    StaleAnswerUsed {
        /// The client that the token was issued to.
        client: &'a ClientId,
        /// The user; `None` if the client acts for itself.
        subject: Option<&'a Subject>,
        /// Why the look-up failed.
        error: &'a IntrospectionError,
    },
    /// A [`JwtVerifier`](crate::resource::JwtVerifier) could not fetch the key set of the authorization server. It uses the
    /// previous one for at most 300 s longer, and then answers with 503. Raised once for each failed request.
    #[non_exhaustive]
    KeySetFailed {
        /// The failure.
        error: &'a KeySetError,
    },
    /// A request was refused for any other reason, or failed.
    #[non_exhaustive]
    Refused {
        /// The endpoint.
        endpoint: Endpoint,
        /// The client, as far as it is known.
        client: Option<&'a ClientId>,
        /// The redirect URI, if it was wrong: without user, query and fragment, at most 255 bytes, and with `…` for
        /// each part of 32 bytes or more, which may be a misplaced secret. It comes from the request. Control
        /// characters are escaped; it may hold any other character.
        redirect_uri: Option<&'a str>,
        /// Exactly what was wrong.
        reason: &'a Reason,
    },
}

/// What a sink needs to filter and count events without a `match` over all variants.
impl Event<'_> {
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

    /// Returns the client, as far as it is known.
    ///
    /// For `authentication_failed` and `throttled` it is what the request claimed. It may be any text, so do not use it
    /// as the label of a metric.
    #[must_use]
    pub fn client(&self) -> Option<&str> {
        self.facts().client
    }

    /// Returns the user, if the event has one.
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        self.facts().subject
    }

    /// Returns who took a step on an application: the actor passed to
    /// [`Registrar::with_actor`](crate::Registrar::with_actor), or else the owner, for the owner's own steps.
    #[must_use]
    pub fn actor(&self) -> Option<&Subject> {
        self.facts().actor
    }

    /// Returns the grant, if the event has one.
    #[must_use]
    pub fn grant(&self) -> Option<GrantId> {
        self.facts().grant
    }

    /// Returns the endpoint, for events about a request.
    #[must_use]
    pub fn endpoint(&self) -> Option<Endpoint> {
        self.facts().endpoint
    }

    /// Returns the address that the request came from, if the event has it.
    #[must_use]
    pub fn peer(&self) -> Option<IpAddr> {
        self.facts().peer
    }

    /// Returns what was granted, if the event has it.
    #[must_use]
    pub fn scopes(&self) -> Option<&ScopeSet> {
        self.facts().scopes
    }

    /// Returns the redirect URI that was refused, as in [`Event::Refused`].
    #[must_use]
    pub fn redirect_uri(&self) -> Option<&str> {
        self.facts().redirect_uri
    }

    /// Returns what was wrong or why it was done, with its causes: `the store failed: connection refused`.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        self.facts().why.map(|why| why.to_string())
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
            (Event::Refreshed { grant, client, subject }, [true, true, false, false]),
            (Event::RefreshedInGrace { grant, client, subject, age: 1 }, [true, true, false, false]),
            (Event::RefreshTokenReused { grant, client, subject, revoked: true }, [true, true, false, false]),
            (Event::ClientCredentialsTokenIssued { grant, client, scopes }, [false, true, false, false]),
            (Event::AccessTokenRevoked { grant, client }, [false, true, false, false]),
            (Event::SupersededTokenAtRevocation { grant, client }, [false, true, false, false]),
            (
                Event::GrantRevoked { grant, client, subject, reason: RevocationReason::RevokedByUser },
                [true, true, false, true],
            ),
            (Event::StoreWentBack { grant, client }, [false, true, false, false]),
            (Event::DerivationKeyMissing { grant, client }, [false, true, false, false]),
            (Event::KeysLeftOut { client, keys: 1 }, [false, false, false, false]),
            (Event::AuthenticationFailed { endpoint, client: named, peer, reason }, [false, false, true, true]),
            (Event::Throttled { endpoint, client: named, peer }, [false, false, true, false]),
            (Event::SigningFailed { client, error: unsigned }, [false, false, false, true]),
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
            Event::PurgeFailed { error: &StoreError::transient("busy") },
            Event::PeerAddressMissing { endpoint },
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
                Severity::Info,
                "the access token has expired",
            ),
        ] {
            assert_eq!((event.severity(), event.reason().as_deref()), (severity, Some(reason)), "{event:?}");
        }
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
