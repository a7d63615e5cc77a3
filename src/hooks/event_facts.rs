//! What is common to all events: their name, severity and facts, in one form.

use std::error::Error;
use std::fmt;
use std::net::IpAddr;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId};
use crate::base::subject::Subject;
use crate::base::with_causes;
use crate::hooks::token_refusal::TokenRefusal;
use crate::hooks::{Event, Severity};
use crate::model::RevocationReason;
use crate::scope::ScopeSet;
use crate::store::StoreError;
use crate::wire::Endpoint;

/// Seconds within which a client repeats a refresh whose answer it lost.
const USUAL_AGE_IN_GRACE: u32 = 30;

impl Event<'_> {
    /// The only match over all variants: a new variant gets its row here.
    pub(crate) fn facts(&self) -> Facts<'_> {
        use Severity::{Error, Info, Warning};

        let of_store = |failure: &StoreError| if failure.is_transient() { Warning } else { Error };
        match *self {
            Self::Application { client, actor, change } => {
                Facts { actor, ..Facts::of_client(change.event_name(), Info, client) }
            }
            Self::CodeIssued { grant, client, subject, scopes, asked } => {
                let name = if asked { "code_issued" } else { "code_issued_silently" };
                Facts { scopes: Some(scopes), ..Facts::of_grant(name, Info, grant, client).by(subject) }
            }
            Self::Denied { client, subject } => Facts::of_client("denied", Info, client).by(subject),
            Self::DeviceRequested { client, peer } => Facts {
                peer,
                endpoint: Some(Endpoint::DeviceAuthorization),
                ..Facts::of_client("device_requested", Info, client)
            },
            Self::UserCodeTyped { client, subject } => {
                Facts::of_client("user_code_typed", Info, client).by(Some(subject))
            }
            Self::UserCodeMissed { subject, peer } => {
                Facts { peer, ..Facts::named("user_code_missed", Warning) }.by(Some(subject))
            }
            Self::DeviceApproved { grant, client, subject, scopes } => {
                Facts { scopes: Some(scopes), ..Facts::of_grant("device_approved", Info, grant, client).by(subject) }
            }
            Self::Exchanged { grant, client, subject } => Facts::of_grant("exchanged", Info, grant, client).by(subject),
            Self::CodeReplayed { grant, client, subject } => {
                Facts::of_grant("code_replayed", Warning, grant, client).by(subject)
            }
            Self::Refreshed { grant, client, subject } => Facts::of_grant("refreshed", Info, grant, client).by(subject),
            Self::RefreshedInGrace { grant, client, subject, age } => {
                let severity = if age > USUAL_AGE_IN_GRACE { Warning } else { Info };
                Facts::of_grant("refreshed_in_grace", severity, grant, client).by(subject)
            }
            Self::RefreshTokenReused { grant, client, subject, revoked: _ } => {
                Facts::of_grant("refresh_token_reused", Warning, grant, client).by(subject)
            }
            Self::AnotherDpopKey { grant, client, subject } => {
                Facts::of_grant("another_dpop_key", Warning, grant, client).by(subject)
            }
            Self::ClientCredentialsTokenIssued { grant, client, scopes } => Facts {
                scopes: Some(scopes),
                ..Facts::of_grant("client_credentials_token_issued", Info, grant, client)
            },
            Self::AccessTokenRevoked { grant, client } => Facts::of_grant("access_token_revoked", Info, grant, client),
            Self::SupersededTokenAtRevocation { grant, client } => {
                Facts::of_grant("superseded_token_at_revocation", Warning, grant, client)
            }
            Self::GrantRevoked { grant, client, subject, reason } => Facts {
                why: Some(Why::Revocation(reason)),
                ..Facts::of_grant("grant_revoked", Info, grant, client).by(subject)
            },
            Self::StoreWentBack { grant, client } => Facts::of_grant("store_went_back", Error, grant, client),
            Self::DerivationKeyMissing { grant, client } => {
                Facts::of_grant("derivation_key_missing", Error, grant, client)
            }
            Self::PurgeRefused { now, newest } => {
                Facts { why: Some(Why::Clock { now, newest }), ..Facts::named("purge_refused", Error) }
            }
            Self::PurgeFailed { error } => {
                Facts { why: Some(Why::Error(error)), ..Facts::named("purge_failed", of_store(error)) }
            }
            Self::PeerAddressMissing { endpoint } => {
                Facts { endpoint: Some(endpoint), ..Facts::named("peer_address_missing", Warning) }
            }
            Self::RequiredScopeUnknown { reason } => {
                Facts { why: Some(Why::Error(reason)), ..Facts::named("required_scope_unknown", Error) }
            }
            Self::KeysLeftOut { client, keys: _ } => Facts::of_client("keys_left_out", Warning, client),
            Self::AuthenticationFailed { endpoint, client, peer, reason } => Facts {
                client,
                endpoint: Some(endpoint),
                peer,
                why: Some(Why::Error(reason)),
                ..Facts::named("authentication_failed", Warning)
            },
            Self::Throttled { endpoint, client, peer } => {
                Facts { client, endpoint: Some(endpoint), peer, ..Facts::named("throttled", Warning) }
            }
            Self::SigningFailed { client, error } => {
                Facts { why: Some(Why::Error(error)), ..Facts::of_client("signing_failed", Error, client) }
            }
            Self::IntrospectionRefused { grant, client } => Facts {
                endpoint: Some(Endpoint::Introspection),
                ..Facts::of_grant("introspection_refused", Warning, grant, client)
            },
            Self::AccessTokenRefused { client, refusal } => Facts {
                client: client.map(ClientId::as_str),
                why: Some(Why::Token(refusal)),
                ..Facts::named("access_token_refused", Info)
            },
            Self::IntrospectionFailed { error } => {
                Facts { why: Some(Why::Error(error)), ..Facts::named("introspection_failed", Warning) }
            }
            Self::StaleAnswerUsed { client, subject, error } => Facts {
                why: Some(Why::Error(error)),
                ..Facts::of_client("stale_answer_used", Warning, client).by(subject)
            },
            Self::KeySetFailed { error } => {
                Facts { why: Some(Why::Error(error)), ..Facts::named("key_set_failed", Warning) }
            }
            Self::Refused { endpoint, client, redirect_uri, reason } => Facts {
                client: client.map(ClientId::as_str),
                endpoint: Some(endpoint),
                redirect_uri,
                why: Some(Why::Error(reason)),
                ..Facts::named("refused", reason.refusal().severity)
            },
        }
    }
}

/// The facts of an event, in one form for all variants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) name: &'static str,
    pub(crate) severity: Severity,
    pub(crate) client: Option<&'a str>,
    pub(crate) subject: Option<&'a Subject>,
    pub(crate) actor: Option<&'a Subject>,
    pub(crate) grant: Option<GrantId>,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) redirect_uri: Option<&'a str>,
    pub(crate) why: Option<Why<'a>>,
    pub(crate) scopes: Option<&'a ScopeSet>,
}

impl<'a> Facts<'a> {
    const fn named(name: &'static str, severity: Severity) -> Self {
        Self {
            name,
            severity,
            client: None,
            subject: None,
            actor: None,
            grant: None,
            endpoint: None,
            peer: None,
            redirect_uri: None,
            why: None,
            scopes: None,
        }
    }

    fn of_client(name: &'static str, severity: Severity, client: &'a ClientId) -> Self {
        Self { client: Some(client.as_str()), ..Self::named(name, severity) }
    }

    fn of_grant(name: &'static str, severity: Severity, grant: GrantId, client: &'a ClientId) -> Self {
        Self { grant: Some(grant), ..Self::of_client(name, severity, client) }
    }

    const fn by(self, subject: Option<&'a Subject>) -> Self {
        Self { subject, ..self }
    }
}

/// What was wrong, or why something was done.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Why<'a> {
    /// With its causes.
    Error(&'a (dyn Error + Send + Sync)),
    Revocation(RevocationReason),
    Token(TokenRefusal),
    Clock {
        now: Timestamp,
        newest: Timestamp,
    },
}

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(error) => f.write_str(&with_causes(*error)),
            Self::Revocation(reason) => f.write_str(reason.as_str()),
            Self::Token(refusal) => fmt::Display::fmt(refusal, f),
            Self::Clock { now, newest } => {
                write!(f, "the clock shows {now}, and the newest time seen before is {newest}")
            }
        }
    }
}
