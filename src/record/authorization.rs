//! One authorization request, from the consent page to the end of its code.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::client::Client;
use crate::client::encoding::{read_consented, read_scopes, read_subject, write_granted};
use crate::client::redirect_uri::RedirectUri;
use crate::clock::Timestamp;
use crate::codec::{DecodeError, Reader, Writer, kind};
use crate::id::{AuthorizationId, ClientId, PushedRequestId};
use crate::jose::JwkThumbprint;
use crate::pkce::CodeChallenge;
use crate::protected_resource::{Audience, read_audience, write_audience};
use crate::scope::{ConsentedResources, ResourceScope, ScopeSet};
use crate::secret::Digest;
use crate::subject::Subject;

/// How long a record outlives its end, so that a replay is recognised and clocks may differ.
pub(crate) const RETENTION: Duration = Duration::from_secs(60 * 60);

/// One authorization request: held while its user looks at the consent page, then with a code, or
/// denied [RFC 6749 section 4.1].
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization {
    pub(crate) id: AuthorizationId,
    pub(crate) version: u32,
    pub(crate) client: ClientId,
    /// The client's epoch when the user decided; before that, when the request was held.
    pub(crate) epoch: u32,
    /// The user who is asked; absent until one has signed in.
    pub(crate) subject: Option<Subject>,
    pub(crate) session: Digest,
    pub(crate) created: Timestamp,
    pub(crate) handle: Digest,
    pub(crate) stage: Stage,
    /// When the request was held, or its code was issued.
    pub(crate) since: Timestamp,
    /// The end of the hold, of the code, or of what was denied.
    pub(crate) end: Timestamp,
    pub(crate) redirect_uri: RedirectUri,
    /// Whether the request named the redirect URI, or the registered one stands in.
    pub(crate) redirect_uri_named: bool,
    pub(crate) challenge: Option<CodeChallenge>,
    pub(crate) state: Option<Box<[u8]>>,
    pub(crate) scopes: ScopeSet,
    /// Before the decision, what the client asked for.
    pub(crate) resources: ConsentedResources,
    /// The protected resources that the client asked for and the user was shown.
    pub(crate) audience: Audience,
    /// The key that the code is bound to, `dpop_jkt` [RFC 9449 section 10]. Few requests have one, so it is in a box.
    pub(crate) key: Option<Box<JwkThumbprint>>,
    /// The pushed request that it came from, which its decision uses up. A decided one needs it no longer.
    pub(crate) pushed: Option<Box<PushedFrom>>,
}

/// Which pushed request a held one came from. The id alone does not say, since it recurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PushedFrom {
    pub(crate) id: PushedRequestId,
    pub(crate) secret: Digest,
}

impl fmt::Debug for Authorization {
    /// Leaves out the client's state, with which it recognises its own requests.
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

/// How far an authorization request has come.
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
    /// The layout of a record without fields of later layouts, the one with them, and those that are read.
    const FIRST: u8 = 1;
    const WITH_AUDIENCE: u8 = 2;
    const WITH_ORIGIN: u8 = 3;
    const READS: RangeInclusive<u8> = 1..=3;
    /// The tag of the audience, since layout 2.
    const AUDIENCE: u8 = 1;
    /// The tags of the key and of the pushed request, since layout 3, which has one of them at least.
    const KEY: u8 = 2;
    const PUSHED: u8 = 3;

    /// Returns the key of the record.
    #[must_use]
    pub const fn id(&self) -> AuthorizationId {
        self.id
    }

    /// Returns the number of this state of the record, which grows by one with every change.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Returns the client that asked.
    #[must_use]
    pub const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Returns the user who was asked, if one has signed in already.
    #[must_use]
    pub const fn subject(&self) -> Option<&Subject> {
        self.subject.as_ref()
    }

    /// Returns the resources that the user granted, or before the decision those that the client asked for. What the
    /// client may still have of them is their [narrowing](ResourceScope::narrowed_to) to its
    /// [`resource_scope`](Client::resource_scope).
    ///
    /// `client` is the client of the authorization: its row has the lists that long consents refer to. With another
    /// one, such a consent has no named resource.
    #[must_use]
    pub fn resource_scope(&self, client: &Client) -> ResourceScope {
        client.resources_of(&self.resources).into_owned()
    }

    /// Returns when the user was asked.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns the scopes that the user granted, or before the decision those that the client asked for.
    #[must_use]
    pub const fn scopes(&self) -> &ScopeSet {
        &self.scopes
    }

    /// Returns the identifiers of the protected resources that the client asked for [RFC 8707], or none if there was no
    /// protected resource in the settings.
    pub fn protected_resources(&self) -> impl Iterator<Item = &str> {
        self.audience.iter()
    }

    /// Returns the end of the time to decide, or of the code.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.end
    }

    /// Returns whether it was approved and its code has not expired.
    pub(crate) fn has_code(&self, now: Timestamp) -> bool {
        matches!(self.stage, Stage::CodeIssued(_)) && now < self.end
    }

    /// Returns the time from which the record may be removed, one hour after its end.
    #[must_use]
    pub fn purge_after(&self) -> Timestamp {
        self.end.plus(RETENTION)
    }

    /// The same request, denied. What only a decision needs is dropped; handle and session stay, so that a second answer
    /// is recognized as one.
    pub(crate) fn denied(&self) -> Self {
        Self {
            id: self.id,
            version: self.version.saturating_add(1),
            client: self.client.clone(),
            epoch: self.epoch,
            subject: self.subject.clone(),
            session: self.session,
            created: self.created,
            handle: self.handle,
            stage: Stage::Denied,
            since: self.since,
            end: self.end,
            redirect_uri: RedirectUri::dropped(),
            redirect_uri_named: false,
            challenge: None,
            state: None,
            scopes: ScopeSet::empty(),
            resources: ConsentedResources::none(),
            audience: Audience::UNSET,
            key: None,
            pushed: None,
        }
    }

    /// The same request with its code, issued at `since`.
    pub(crate) fn with_code(&self, code: Digest, since: Timestamp, end: Timestamp) -> Self {
        let version = self.version.saturating_add(1);
        Self { version, stage: Stage::CodeIssued(code), since, end, state: None, pushed: None, ..self.clone() }
    }

    /// Writes the record as bytes, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            id,
            version,
            client,
            epoch,
            subject,
            session,
            created,
            handle,
            stage,
            since,
            end,
            redirect_uri,
            redirect_uri_named,
            challenge,
            state,
            scopes,
            resources,
            audience,
            key,
            pushed,
        } = self;
        let layout = match (audience.is_unset(), key.is_some() || pushed.is_some()) {
            (_, true) => Self::WITH_ORIGIN,
            (false, false) => Self::WITH_AUDIENCE,
            (true, false) => Self::FIRST,
        };
        let mut writer = Writer::new(kind::AUTHORIZATION, layout);
        writer.array(id.octets());
        writer.number(*version);
        writer.text(client.as_str());
        writer.number(*epoch);
        writer.optional(subject.as_ref(), |writer, subject| writer.text(subject.as_str()));
        writer.array(session.octets());
        writer.time(*created);
        writer.array(handle.octets());
        match stage {
            Stage::Held => writer.octet(0),
            Stage::CodeIssued(code) => {
                writer.octet(1);
                writer.array(code.octets());
            }
            Stage::Denied => writer.octet(2),
        }
        writer.time(*since);
        writer.time(*end);
        if *stage != Stage::Denied {
            writer.text(redirect_uri.as_str());
            writer.flag(*redirect_uri_named);
            writer.optional(challenge.as_ref(), |writer, challenge| writer.text(challenge.as_str()));
            writer.optional(state.as_deref(), Writer::octets);
            write_granted(&mut writer, scopes, resources);
        }
        if !audience.is_unset() {
            writer.tagged(Self::AUDIENCE, |writer| write_audience(writer, audience));
        }
        if let Some(key) = key {
            writer.tagged(Self::KEY, |writer| writer.array(key.bytes()));
        }
        if let Some(pushed) = pushed {
            let PushedFrom { id, secret } = &**pushed;
            writer.tagged(Self::PUSHED, |writer| {
                writer.array(id.octets());
                writer.array(secret.octets());
            });
        }
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are no authorization, or were written by an unknown release.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets, kind::AUTHORIZATION, &Self::READS)?;
        let ended = Self {
            id: AuthorizationId::from_octets(reader.array()?),
            version: reader.number()?,
            client: ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?,
            epoch: reader.number()?,
            subject: reader.optional(read_subject)?,
            session: Digest::from_octets(reader.array()?),
            created: reader.time()?,
            handle: Digest::from_octets(reader.array()?),
            stage: match reader.octet()? {
                0 => Stage::Held,
                1 => Stage::CodeIssued(Digest::from_octets(reader.array()?)),
                2 => Stage::Denied,
                _ => return Err(DecodeError::Malformed),
            },
            since: reader.time()?,
            end: reader.time()?,
            redirect_uri: RedirectUri::dropped(),
            redirect_uri_named: false,
            challenge: None,
            state: None,
            scopes: ScopeSet::empty(),
            resources: ConsentedResources::none(),
            audience: Audience::UNSET,
            key: None,
            pushed: None,
        };
        let mut authorization = match ended.stage {
            Stage::Denied => ended,
            Stage::Held | Stage::CodeIssued(_) => Self {
                redirect_uri: RedirectUri::read(reader.text()?).ok_or(DecodeError::Malformed)?,
                redirect_uri_named: reader.flag()?,
                challenge: reader.optional(challenge)?,
                state: reader.optional(|reader| reader.octets().map(Into::into))?,
                scopes: read_scopes(&mut reader)?,
                resources: read_consented(&mut reader)?,
                ..ended
            },
        };
        if reader.version() >= Self::WITH_AUDIENCE {
            let audience = reader.tagged(Self::AUDIENCE, read_audience)?;
            if audience.is_none() && reader.version() == Self::WITH_AUDIENCE {
                return Err(DecodeError::Malformed);
            }
            authorization.audience = audience.unwrap_or_default();
        }
        if reader.version() >= Self::WITH_ORIGIN {
            let key = reader.tagged(Self::KEY, |reader| reader.array().map(JwkThumbprint::from_bytes))?;
            let pushed = reader.tagged(Self::PUSHED, read_pushed)?;
            (authorization.key, authorization.pushed) = (key.map(Box::new), pushed.map(Box::new));
            if authorization.key.is_none() && authorization.pushed.is_none() {
                return Err(DecodeError::Malformed);
            }
        }
        reader.finish()?;
        Ok(authorization)
    }
}

fn challenge(reader: &mut Reader<'_>) -> Result<CodeChallenge, DecodeError> {
    CodeChallenge::parse(reader.text()?.as_bytes()).map_err(|_| DecodeError::Malformed)
}

fn read_pushed(reader: &mut Reader<'_>) -> Result<PushedFrom, DecodeError> {
    Ok(PushedFrom { id: PushedRequestId::from_octets(reader.array()?), secret: Digest::from_octets(reader.array()?) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::layout;

    fn authorization() -> Authorization {
        Authorization {
            id: AuthorizationId::from_octets([3; 16]),
            version: 7,
            client: ClientId::new("client").unwrap(),
            epoch: 2,
            subject: Some(Subject::new("\0hostile\u{202e}").unwrap()),
            session: Digest::of(b"session"),
            created: Timestamp::from_seconds(100),
            handle: Digest::of(b"handle"),
            stage: Stage::CodeIssued(Digest::of(b"code")),
            since: Timestamp::from_seconds(150),
            end: Timestamp::from_seconds(700),
            redirect_uri: RedirectUri::from_record("https://app.example.com/cb?x=1".into()),
            redirect_uri_named: true,
            challenge: Some(CodeChallenge::parse(b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM").unwrap()),
            state: Some((0..=255).collect()),
            scopes: ScopeSet::from_canonical("repo-code:r account-email:rw"),
            resources: ConsentedResources::InRecord(ResourceScope::specified(["one/two"]).unwrap()),
            audience: Audience::UNSET,
            key: None,
            pushed: None,
        }
    }

    #[test]
    fn comes_back_equal_in_every_field_and_in_every_stage() {
        for stage in [Stage::Held, Stage::CodeIssued(Digest::of(b"code"))] {
            let full = Authorization { stage: stage.clone(), ..authorization() };
            let bare = Authorization {
                stage,
                challenge: None,
                state: None,
                subject: None,
                resources: ConsentedResources::InRecord(ResourceScope::Public),
                ..authorization()
            };
            for record in [full.denied(), full, bare] {
                assert_eq!(Authorization::decode(&record.encode()), Ok(record.clone()));
                let octets = record.encode();
                for cut in 0..octets.len() {
                    assert!(Authorization::decode(&octets[..cut]).is_err(), "cut to {cut}");
                }
            }
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let mut octets = authorization().encode();
        octets[1] = 9;
        assert_eq!(Authorization::decode(&octets), Err(DecodeError::UnknownVersion));
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = authorization();
        let file = layout::compared("authorization.1", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record));
    }

    /// The same with protected resources, of which a denied one keeps none.
    #[test]
    fn layout_2_stays_as_it_is() {
        let audience = Audience::new(["https://api.example", "https://mcp.example/mcp"]);
        let record = Authorization { audience, ..authorization() };
        let file = layout::compared("authorization.2", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record.clone()));
        assert_eq!(record.denied().encode()[1], 1);
        for cut in 0..file.len() {
            assert!(Authorization::decode(&file[..cut]).is_err(), "cut to {cut}");
        }
        let mut empty = authorization().encode();
        empty[1] = 2;
        assert_eq!(Authorization::decode(&empty), Err(DecodeError::Malformed), "it is written in the first layout");
    }

    /// The same with a key, with the pushed request that it came from, or with both. One that was decided keeps the key.
    #[test]
    fn layout_3_stays_as_it_is() {
        let key = Some(Box::new(JwkThumbprint::from_bytes([9; 32])));
        let pushed = PushedFrom { id: PushedRequestId::from_octets([7; 16]), secret: Digest::of(b"secret") };
        let pushed = Some(Box::new(pushed));
        let both = Authorization { key: key.clone(), pushed: pushed.clone(), ..authorization() };
        let file = layout::compared("authorization.3", &both.encode());
        assert_eq!(Authorization::decode(&file), Ok(both.clone()));
        let with_key_alone = file.len() - (1 + 4 + 16 + 32);
        for cut in (0..file.len()).filter(|cut| *cut != with_key_alone) {
            assert!(Authorization::decode(&file[..cut]).is_err(), "cut to {cut}");
        }
        let with_key = Authorization { key: key.clone(), ..authorization() };
        for record in [with_key, Authorization { pushed, ..authorization() }] {
            assert_eq!(Authorization::decode(&record.encode()), Ok(record));
        }
        let decided = both.with_code(Digest::of(b"code"), Timestamp::default(), Timestamp::default());
        assert_eq!((decided.key, decided.pushed), (key, None));
        let mut empty = authorization().encode();
        empty[1] = 3;
        assert_eq!(Authorization::decode(&empty), Err(DecodeError::Malformed), "it is written in the first layout");
    }

    /// The same for one that ended, which keeps less.
    #[test]
    fn layout_1_of_a_denied_one_stays_as_it_is() {
        let record = authorization().denied();
        let file = layout::compared("authorization_denied.1", &record.encode());
        assert_eq!(Authorization::decode(&file), Ok(record));
    }

    #[test]
    fn a_stored_text_that_could_split_a_header_is_no_record() {
        let octets = authorization().encode();
        let position = octets.windows(8).position(|window| window == b"https://").unwrap();
        for bad in [b'\n', b'\r', 0, b' ', 0x80] {
            let mut altered = octets.clone();
            altered[position + 9] = bad;
            assert_eq!(Authorization::decode(&altered), Err(DecodeError::Malformed), "{bad}");
        }
        let position = octets.windows(9).position(|window| window == b"repo-code").unwrap();
        for bad in [b'"', b'\\', b'\n', 0x7f] {
            let mut altered = octets.clone();
            altered[position] = bad;
            assert_eq!(Authorization::decode(&altered), Err(DecodeError::Malformed), "{bad}");
        }
    }

    #[test]
    fn is_kept_one_hour_past_its_end() {
        assert_eq!(authorization().purge_after(), Timestamp::from_seconds(700 + 3600));
    }
}
