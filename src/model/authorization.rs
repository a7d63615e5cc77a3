//! One authorization request, from the consent page to the end of its code.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, kind};
use crate::base::field;
use crate::base::field::{fields, variants};
use crate::base::id::{AuthorizationId, ClientId, PushedRequestId, Subject};
use crate::jose::JwkThumbprint;
use crate::model::destination::{Destination, DeviceFrom};
use crate::model::grant_data::GrantData;
use crate::model::record::{Columns, Record, Table, key_and_version};
use crate::model::terms::Terms;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;
use crate::secret::derive::CodeSeed;
use crate::secret::pkce::CodeChallenge;

/// How long a record is kept after it has expired, so that a replay is recognized and clocks may differ.
pub(crate) const RETENTION: Duration = Duration::from_secs(60 * 60);

/// The maximum size of `state` in bytes. RFC 6749 sets none; a client that keeps more there should keep it itself.
pub(crate) const STATE_BYTES: usize = 4096;

/// An authorization request: held while its user reads the consent page, then with a code, or denied [RFC 6749 section
/// 4.1].
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    pub(crate) id: AuthorizationId,
    pub(crate) version: u32,
    pub(crate) client: ClientId,
    /// The client's epoch when the user decided; before that, when the request was held.
    pub(crate) epoch: u32,
    /// The user who is asked for consent; absent until a user has signed in.
    pub(crate) subject: Option<Subject>,
    pub(crate) session: Digest,
    pub(crate) created: Timestamp,
    pub(crate) ticket: Digest,
    pub(crate) stage: Stage,
    /// When the request was held, or its user answered.
    pub(crate) since: Timestamp,
    /// When the hold, the code, or the denied request expires.
    pub(crate) end: Timestamp,
    pub(crate) destination: Destination,
    pub(crate) challenge: Option<CodeChallenge>,
    pub(crate) terms: Terms,
    /// The key that the code is bound to, `dpop_jkt` [RFC 9449 section 10]. Few requests have one, so it is in a box.
    pub(crate) key: Option<Box<JwkThumbprint>>,
    /// The pushed request that it came from. The decision uses it up.
    pub(crate) pushed: Option<Box<PushedFrom>>,
    /// How its user answered. A request that a revocation ended has no answer.
    pub(crate) answer: Option<Box<GivenAnswer>>,
}

/// What is kept of an answer, so that the same one gets the same response when it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GivenAnswer {
    /// The digest of the submitted decision.
    pub(crate) decision: Digest,
    /// Drawn for this answer, so they also show which request wrote it.
    pub(crate) seed: CodeSeed,
    /// When the same answer was last sent again and led to the code: it may be on its way twice.
    pub(crate) repeated: Option<Timestamp>,
}

/// How long after an answer the same one gets the same response.
pub(crate) const SAME_ANSWER: Duration = Duration::from_secs(60);

/// The pushed request that a consent request came from. The id alone is not enough, since it recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushedFrom {
    pub(crate) id: PushedRequestId,
    pub(crate) secret: Digest,
}

impl fmt::Debug for Authorization {
    /// Leaves out the client's `state` parameter, by which the client recognizes its own requests.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorization")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("client", &self.client)
            .field("subject", &self.subject)
            .field("stage", &self.stage)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// The stage of an authorization request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Held,
    CodeIssued(Digest),
    Denied,
}

impl Stage {
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::CodeIssued(_) => "code_issued",
            Self::Denied => "denied",
        }
    }
}

impl Authorization {
    /// Returns the key of the record.
    #[must_use]
    pub const fn id(&self) -> AuthorizationId {
        self.id
    }

    /// Returns the client that sent the request.
    #[must_use]
    pub const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Returns the user who was asked for consent, if a user has signed in.
    #[must_use]
    pub const fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Returns the resources that the user granted, or before the decision those that the client requested. The client
    /// may still access their [reduction](ResourceScope::reduced_to) to its
    /// [`resource_scope`](crate::client::CheckedForm::resource_scope).
    #[must_use]
    pub const fn resource_scope(&self) -> &ResourceScope {
        &self.terms.resources
    }

    /// Returns when the user was asked for consent.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns the scopes that the user granted, or before the decision those that the client requested.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.terms.scopes
    }

    /// Returns the identifiers of the protected resources that the client requested [RFC 8707], or none if no protected
    /// resource was configured.
    pub fn protected_resources(&self) -> impl Iterator<Item = &str> {
        self.terms.audience.iter()
    }

    /// Returns what your service keeps with the grant: none before the decision.
    #[must_use]
    pub fn data(&self) -> Option<&GrantData> {
        self.terms.data()
    }

    /// Returns when the time to decide, or the code, expires.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.end
    }

    /// Returns whether it waits for its user's decision, here or at a server whose clock is ahead. A request further in
    /// the future, left by a clock that had jumped forward, does not: it cannot be decided.
    pub(crate) fn is_held(&self, now: Timestamp) -> bool {
        self.stage == Stage::Held && self.since.may_have_come(now) && now < self.end
    }

    /// Returns whether it was approved and its code has not expired.
    pub(crate) fn has_code(&self, now: Timestamp) -> bool {
        matches!(self.stage, Stage::CodeIssued(_)) && now < self.end
    }

    /// Returns the request as ended without its user's answer. Data that only the decision or a code needs is dropped.
    /// Ticket and session are kept, so that an answer is recognized.
    pub(crate) fn denied(&self) -> Self {
        let destination = self.destination.ended();
        let (challenge, terms, key, pushed) = (None, Terms::none(), None, None);
        Self { stage: Stage::Denied, destination, challenge, terms, key, pushed, ..self.clone() }
    }

    /// Returns the request as its user denied it at `since`.
    pub(crate) fn denied_by_user(&self, answer: GivenAnswer, since: Timestamp) -> Self {
        let answer = Some(Box::new(answer));
        Self { destination: self.destination.clone(), since, answer, ..self.denied() }
    }

    /// Returns the request with its code, issued at `since`.
    pub(crate) fn with_code(&self, code: Digest, answer: GivenAnswer, since: Timestamp, end: Timestamp) -> Self {
        let answer = Some(Box::new(answer));
        Self { stage: Stage::CodeIssued(code), since, end, pushed: None, answer, ..self.clone() }
    }

    /// Returns whether its user answered it so short a time ago that the same answer gets the same response.
    pub(crate) fn has_fresh_answer(&self, now: Timestamp) -> bool {
        self.answer.is_some() && self.since.has_come(now) && now < self.since.plus(SAME_ANSWER)
    }

    /// Returns whether its user has just answered it with the decision of that digest.
    pub(crate) fn is_fresh_answer(&self, decision: &Digest, now: Timestamp) -> bool {
        self.has_fresh_answer(now) && self.answer.as_deref().is_some_and(|answer| answer.decision == *decision)
    }

    /// Returns the request as one whose code is on its way once more.
    pub(crate) fn repeated(&self, now: Timestamp) -> Self {
        let latest = |before: Option<Timestamp>| before.map_or(now, |before| before.max(now));
        let again = |answer: &GivenAnswer| GivenAnswer { repeated: Some(latest(answer.repeated)), ..*answer };
        Self { answer: self.answer.as_deref().map(|answer| Box::new(again(answer))), ..self.clone() }
    }

    /// Returns whether its code may be on its way twice, so that a second exchange is no sign of a theft.
    pub(crate) fn is_repeated(&self, now: Timestamp) -> bool {
        let repeated = self.answer.as_deref().and_then(|answer| answer.repeated);
        repeated.is_some_and(|at| at.may_have_come(now) && now < at.plus(SAME_ANSWER))
    }

    /// Returns the secret of the pushed request or the device that it came from.
    pub(crate) fn source(&self) -> Option<&Digest> {
        let pushed = self.pushed.as_deref().map(|from| &from.secret);
        pushed.or_else(|| self.device().map(|from| &from.secret))
    }

    /// Returns whether both came from the same pushed request or device.
    pub(crate) fn shares_source(&self, other: &Self) -> bool {
        self.source().is_some() && self.source() == other.source()
    }

    /// Returns the device that it is for, unless it is for a browser.
    pub(crate) const fn device(&self) -> Option<&DeviceFrom> {
        self.destination.device()
    }
}

impl Record for Authorization {
    const TABLE: Table = Table::Authorizations;

    key_and_version!(AuthorizationId);

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.subject.iter().map(|subject| subject.as_str().into()).collect()
    }

    /// One hour after it expired.
    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.end.plus(RETENTION))
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            subject: self.subject.clone(),
            created: Some(self.created),
            state: self.stage.as_str(),
            ..Columns::default()
        }
    }

    fn encode(&self) -> Vec<u8> {
        field::encode(kind::AUTHORIZATION, self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        field::decode(kind::AUTHORIZATION, bytes)
    }
}

// The terms are last, since they have tags: `terms.rs` lists those that are taken.
fields! {
    Authorization {
        id, version, client, epoch, subject, session, created, ticket, stage, since, end, destination, challenge, terms,
    } tagged {
        3 => key,
        4 => pushed,
        5 => answer,
    }
}
fields! { GivenAnswer { decision, seed, repeated } }
fields! { PushedFrom { id, secret } }
variants! { Stage { 0 => Held, 1 => CodeIssued(code), 2 => Denied } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::DeviceRequestId;
    use crate::model::client::CONSENT_TERMS_BYTES;
    use crate::model::destination::{DeviceFrom, Redirection};
    use crate::model::fixtures::compared_layout;
    use crate::model::protected_resource::Audience;
    use crate::model::redirect_uri::RedirectUri;
    use crate::model::sign_in::SignIn;
    use crate::model::terms::RememberedConsent;

    fn authorization() -> Authorization {
        Authorization {
            id: AuthorizationId::from_bytes([3; 16]),
            version: 7,
            client: ClientId::new("client").unwrap(),
            epoch: 2,
            subject: Some(Subject::new("\0hostile\u{202e}").unwrap()),
            session: Digest::of(b"session"),
            created: Timestamp::from_seconds(100),
            ticket: Digest::of(b"handle"),
            stage: Stage::CodeIssued(Digest::of(b"code")),
            since: Timestamp::from_seconds(150),
            end: Timestamp::from_seconds(700),
            destination: browser(true, Some((0..=255).collect())),
            challenge: Some(CodeChallenge::parse(b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap()),
            terms: Terms {
                scopes: ScopeSet::from_canonical("repo-code:r account-email:rw"),
                resources: ResourceScope::specified(["one/two"]).unwrap(),
                audience: Audience::UNSET,
                extra: None,
            },
            key: None,
            pushed: None,
            answer: None,
        }
    }

    fn answer() -> GivenAnswer {
        GivenAnswer { decision: Digest::of(b"decision"), seed: CodeSeed::from_bytes([8; 32]), repeated: None }
    }

    fn browser(is_named: bool, state: Option<Box<[u8]>>) -> Destination {
        let redirect_uri = RedirectUri::from_record("https://app.example.com/cb?x=1".into());
        Destination::Browser(Redirection { redirect_uri, is_named, state })
    }

    #[test]
    fn comes_back_equal_in_every_field_and_in_every_stage() {
        for stage in [Stage::Held, Stage::CodeIssued(Digest::of(b"code"))] {
            let full = Authorization { stage: stage.clone(), ..authorization() };
            let bare = Authorization {
                stage,
                challenge: None,
                destination: browser(false, None),
                subject: None,
                terms: Terms { resources: ResourceScope::Public, ..authorization().terms },
                ..authorization()
            };
            let denied = full.denied_by_user(answer(), Timestamp::from_seconds(160));
            assert_eq!(Authorization::decode(&denied.encode()), Ok(denied));
            for record in [full.denied(), full, bare] {
                assert_eq!(Authorization::decode(&record.encode()), Ok(record.clone()));
                let bytes = record.encode();
                for cut in 0..bytes.len() {
                    assert!(Authorization::decode(&bytes[..cut]).is_err(), "cut to {cut}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let mut bytes = authorization().encode();
        bytes[1] = 9;
        assert_eq!(Authorization::decode(&bytes), Err(DecodeError::UnknownLayout));
    }

    /// The same for a device, whose request is kept with the code.
    #[test]
    fn layout_1_of_a_device_stays_as_it_is() {
        let (id, secret) = (DeviceRequestId::from_bytes([5; 16]), Digest::of(b"code"));
        let device = DeviceFrom { id, secret, end: Timestamp::from_seconds(700), in_link: true };
        let record = Authorization { destination: Destination::Device(device), ..authorization() };
        let record = record.with_code(secret, answer(), Timestamp::from_seconds(150), Timestamp::from_seconds(700));
        assert_eq!(record.device(), Some(&device));
        let file = compared_layout("authorization.1.device", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record));
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = authorization();
        let file = compared_layout("authorization.1", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record));
    }

    /// The same with all optional fields. A denied request keeps no audience, an approved one keeps the key.
    #[test]
    fn layout_1_with_all_fields_stays_as_it_is() {
        let audience = Audience::new(["https://api.example", "https://mcp.example/mcp"]);
        let key = Some(Box::new(JwkThumbprint::from_bytes([9; 32])));
        let pushed = PushedFrom { id: PushedRequestId::from_bytes([7; 16]), secret: Digest::of(b"secret") };
        let sign_in = SignIn::at(Timestamp::from_seconds(90)).with_acr("loa1").unwrap().with_amr(["pwd", "otp"]).ok();
        let terms = authorization().terms.with(|extra| (extra.sign_in, extra.nonce) = (sign_in, Some("n-0S6".into())));
        let terms = Terms { audience, ..terms };
        let for_resources = Authorization { terms, ..authorization() };
        let with_key = Authorization { key: key.clone(), ..for_resources.clone() };
        let with_pushed = Authorization { pushed: Some(Box::new(pushed)), ..with_key.clone() };
        let repeated = GivenAnswer { repeated: Some(Timestamp::from_seconds(151)), ..answer() };
        let full = Authorization { answer: Some(Box::new(repeated)), ..with_pushed.clone() };
        let file = compared_layout("authorization.1.full", &full.encode());
        assert_eq!(Authorization::decode(&file), Ok(full.clone()));
        // A cut between two fields leaves a record with fewer of them.
        let without_extra = Terms { extra: None, ..for_resources.terms.clone() };
        let without_extra = Authorization { terms: without_extra, ..authorization() };
        let fewer = [authorization(), without_extra, for_resources, with_key, with_pushed];
        for cut in 0..file.len() {
            let left = fewer.iter().find(|record| record.encode().len() == cut);
            assert_eq!(Authorization::decode(&file[..cut]).ok().as_ref(), left, "cut to {cut}");
        }
        assert!(full.denied().terms.audience.is_unset());
        let decided = full.with_code(Digest::of(b"code"), answer(), Timestamp::default(), Timestamp::default());
        assert_eq!((decided.key, decided.pushed, decided.answer), (key, None, Some(Box::new(answer()))));
    }

    /// The same for a denied request, which keeps less.
    #[test]
    fn layout_1_of_a_denied_one_stays_as_it_is() {
        let record = authorization().denied_by_user(answer(), Timestamp::from_seconds(160));
        let record = Authorization { version: 8, ..record };
        let file = compared_layout("authorization_denied.1", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record));
    }

    #[test]
    fn a_stored_text_that_could_split_a_header_is_no_record() {
        let bytes = authorization().encode();
        let position = bytes.windows(8).position(|window| window == b"https://").unwrap();
        for bad in [b'\n', b'\r', 0, b' ', 0x80] {
            let mut altered = bytes.clone();
            altered[position + 9] = bad;
            assert_eq!(Authorization::decode(&altered), Err(DecodeError::Malformed), "{bad}");
        }
        let position = bytes.windows(9).position(|window| window == b"repo-code").unwrap();
        for bad in [b'"', b'\\', b'\n', 0x7f] {
            let mut altered = bytes.clone();
            altered[position] = bad;
            assert_eq!(Authorization::decode(&altered), Err(DecodeError::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_remembered_consent_comes_back() {
        let consent = RememberedConsent { asked: Timestamp::from_seconds(7), terms: [9; CONSENT_TERMS_BYTES] };
        let terms = authorization().terms.with(|extra| extra.remembered = Some(consent));
        let remembered = Authorization { terms, ..authorization() };
        let read = Authorization::decode(&remembered.encode()).unwrap();
        assert_eq!(read, remembered);
        assert_eq!(read.denied().terms.extra, None);
    }

    #[test]
    fn is_kept_one_hour_past_its_end() {
        assert_eq!(authorization().purge_after(), Some(Timestamp::from_seconds(700 + 3600)));
    }
}
