//! Records as a server would write them, for tests of stores.
//!
//! Every call draws a new id, and unique names and digests, so that tests can share a database. Rows are created now;
//! the test chooses when they may be purged, which is an hour after the end of what they stand for.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::entropy::SystemEntropy;
use crate::base::id::{AuthorizationId, ClientId, DeviceRequestId, GrantId, LogoId, PushedRequestId, Subject};
use crate::model::application::{Application, ApplicationForm, RegistrationLimits};
use crate::model::client::{CheckedForm, Client, ClientSecrets, ClientState};
use crate::model::protected_resource::Audience;
use crate::model::record::Record;
use crate::model::redirect_uri::{RedirectUri, RedirectUriPolicy};
use crate::model::terms::Terms;
use crate::model::user_code::UserCodeKey;
use crate::model::{
    AccessRecord, Authorization, Destination, DeviceRequest, GraceEnds, Grant, Pairs, PushedRequest, RETENTION,
    Redirection, RefreshRecord, Restrictions, RevocationReason, Stage, SupersededPair, TokenPair, UserCodeRecord,
};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use crate::secret::Digest;
use crate::secret::derive::Link;
use crate::secret::pkce::CodeChallenge;
use crate::secret::refresh::{Family, FamilyIdDigest, TagKey};
use crate::testing::rows::{now, random, unique};

/// Returns a user that no other call returns.
#[must_use]
pub fn subject() -> Subject {
    sound(Subject::new(unique()))
}

/// Creates an application of that owner: pending, version 1, with a logo.
#[must_use]
pub fn application(owner: &Subject) -> Application {
    application_under(&new_client(), owner)
}

/// Creates an application of that owner under the given id: pending, version 1, with a logo.
#[must_use]
pub fn application_under(id: &ClientId, owner: &Subject) -> Application {
    let client = Client { state: ClientState::Pending, form: form(), ..Client::blank(id.clone()) };
    let (owner, logo) = (Some(owner.clone()), Some(LogoId::from_bytes(random())));
    Application { owner, logo, ..Application::new(Arc::new(client), now()) }
}

/// Creates the next version of an application, approved, with a new secret each time.
#[must_use]
pub fn approved(application: &Application) -> Application {
    let mut next = application.clone();
    next.decided = Some(now());
    let client = next.client_mut();
    client.version = client.version.saturating_add(1);
    client.state = ClientState::Approved;
    client.secrets = ClientSecrets { current: Some(digest()), ..ClientSecrets::default() };
    next
}

/// Creates an authorization of that user: held, version 1, to be purged from `purge_after`.
#[must_use]
pub fn authorization(subject: &Subject, purge_after: Timestamp) -> Authorization {
    Authorization {
        id: AuthorizationId::new(now(), &SystemEntropy),
        version: 1,
        client: new_client(),
        epoch: 0,
        subject: Some(subject.clone()),
        session: digest(),
        created: now(),
        ticket: digest(),
        stage: Stage::Held,
        since: now(),
        end: end(purge_after),
        destination: browser("https://app.example/cb", unique().into_bytes().into()),
        challenge: Some(sound(CodeChallenge::parse(b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"))),
        terms: terms(),
        key: None,
        pushed: None,
        answer: None,
    }
}

/// Creates a grant of that user: one pair of tokens, version 1, to be purged from `purge_after`.
#[must_use]
pub fn grant(subject: &Subject, purge_after: Timestamp) -> Grant {
    Grant {
        id: GrantId::from(AuthorizationId::new(now(), &SystemEntropy)),
        version: 1,
        client: new_client(),
        epoch: 0,
        subject: Some(subject.clone()),
        terms: terms(),
        created: now(),
        keep_until: Timestamp::default(),
        family: Family { id: FamilyIdDigest::from_bytes(random()), tag_key: TagKey::from_bytes(random()) },
        pairs_made: 1,
        bound_from: None,
        pairs: Pairs::one(pair(purge_after, Restrictions::default())),
        revoked: None,
    }
}

/// Creates the next version of a grant, with a new pair each time. The previous pair is in grace.
///
/// It may be purged from `purge_after`, or from the end of the previous pair if that is later.
#[must_use]
pub fn refreshed(grant: &Grant, purge_after: Timestamp) -> Grant {
    let older = grant.pairs.newest.iter().cloned().map(superseded).chain(grant.pairs.superseded.iter().cloned());
    let pairs = Pairs { newest: Some(pair(purge_after, Restrictions::default())), superseded: older.collect() };
    let (version, pairs_made) = (grant.version.saturating_add(1), grant.pairs_made.saturating_add(1));
    Grant { version, pairs_made, ..grant.with_pairs(pairs) }
}

/// Creates the next version of a grant, revoked now and kept as long as the grant would be.
#[must_use]
pub fn revoked(grant: &Grant, reason: RevocationReason) -> Grant {
    let (version, keep_until) = (grant.version.saturating_add(1), grant.purge_after().unwrap_or_default());
    Grant { version, keep_until, ..grant.revoked_at(now(), reason, Duration::ZERO) }
}

/// Creates a pushed request that no session has opened: version 1, to be purged from `purge_after`.
#[must_use]
pub fn pushed_request(purge_after: Timestamp) -> PushedRequest {
    PushedRequest {
        id: PushedRequestId::from_bytes(random()),
        version: 1,
        client: new_client(),
        epoch: 0,
        secret: digest(),
        created: now(),
        end: end(purge_after),
        open_until: end(purge_after),
        parameters: format!("response_type=code&client_id=client&state={}", unique()).into(),
        key: None,
        visits: Vec::new(),
        used_by: None,
    }
}

/// Creates a device request whose code was not entered: version 1, to be purged from `purge_after`.
#[must_use]
pub fn device_request(purge_after: Timestamp) -> DeviceRequest {
    DeviceRequest {
        id: DeviceRequestId::from_bytes(random()),
        version: 1,
        client: new_client(),
        epoch: 0,
        secret: digest(),
        user_code: UserCodeKey::from_bytes(random()),
        created: now(),
        end: end(purge_after),
        open_until: end(purge_after),
        scopes: scopes("account-email:rw"),
        audience: Audience::UNSET,
        network: None,
        user_agent: None,
        typed_by: None,
        decision: None,
    }
}

/// Creates a user code, to be purged from `purge_after` on.
#[must_use]
pub fn user_code(purge_after: Timestamp) -> UserCodeRecord {
    UserCodeRecord {
        key: UserCodeKey::from_bytes(random()),
        request: DeviceRequestId::from_bytes(random()),
        end: end(purge_after),
    }
}

/// Returns a pair whose access token has these restrictions.
pub(super) fn pair(purge_after: Timestamp, restrictions: Restrictions) -> TokenPair {
    let refresh = RefreshRecord { digest: digest(), end: end(purge_after) };
    TokenPair::new(access(purge_after, restrictions), Some(refresh))
}

pub(super) fn access(purge_after: Timestamp, restrictions: Restrictions) -> AccessRecord {
    let end = before(end(purge_after), Duration::from_secs(60 * 60));
    AccessRecord::new(digest(), now(), end, restrictions)
}

/// Returns the pair as replaced now, with the full lifetime of its tokens.
pub(super) fn superseded(pair: TokenPair) -> SupersededPair {
    let last = Timestamp::from_seconds(u32::MAX);
    SupersededPair::new(pair, now(), GraceEnds { access: last, refresh: last }, Some(Link::from_bytes(random())))
}

pub(super) fn form() -> CheckedForm {
    let mut form = ApplicationForm::new(unique(), "https://app.example");
    form.description = Some("Two\nlines".to_owned());
    form.redirect_uris = vec!["https://app.example/cb".to_owned(), "com.example.app:/cb".to_owned()];
    form.scopes = "repo-code:rw account-email:r".to_owned();
    form.resource_scope = Some(ResourceScope::Public);
    sound(form.check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default()))
}

/// Returns the page that an answer with that state goes to.
pub(super) fn browser(uri: &str, state: Box<[u8]>) -> Destination {
    let redirect_uri = sound(RedirectUri::read(uri).ok_or(uri));
    Destination::Browser(Redirection { redirect_uri, is_named: true, state: Some(state) })
}

fn terms() -> Terms {
    Terms {
        scopes: scopes("repo-code:rw account-email:r"),
        resources: ResourceScope::Public,
        audience: Audience::UNSET,
        extra: None,
    }
}

fn new_client() -> ClientId {
    sound(ClientId::new(unique()))
}

pub(super) fn digest() -> Digest {
    Digest::from_bytes(random())
}

fn scopes(text: &str) -> ScopeSet {
    sound(ScopeSet::read(text).ok_or(text))
}

/// Returns the end of a record that may be purged from that time.
fn end(purge_after: Timestamp) -> Timestamp {
    before(purge_after, RETENTION)
}

fn before(time: Timestamp, span: Duration) -> Timestamp {
    let seconds = u32::try_from(span.as_secs()).unwrap_or(u32::MAX);
    Timestamp::from_seconds(time.seconds().saturating_sub(seconds))
}

/// Unwraps a value that the kit itself made.
#[expect(clippy::panic, reason = "the kit's own texts are valid; if one is not, no test may pass")]
fn sound<T, E: Debug>(made: Result<T, E>) -> T {
    match made {
        Ok(made) => made,
        Err(error) => panic!("the kit made an invalid record: {error:?}"),
    }
}
