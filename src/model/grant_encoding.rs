//! The stored form of a [`Grant`].

use std::borrow::Cow;
use std::num::NonZeroU32;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::id::{ClientId, GrantId};
use crate::jose::JwkThumbprint;
use crate::model::client::encoding::{
    read_one_of, read_resource_scope, read_scopes, read_subject, write_one_of, write_scopes,
};
use crate::model::kinds::Table;
use crate::model::protected_resource::{read_audience, write_audience};
use crate::model::record::{Columns, Ended, Record, key_and_version};
use crate::model::remembered_consent::RememberedConsent;
use crate::model::{
    AccessRecord, Grant, Pairs, RETENTION, RefreshRecord, Restrictions, Revocation, RevocationReason, SupersededPair,
    TokenPair,
};
use crate::secret::Digest;
use crate::secret::derive::Link;
use crate::secret::refresh::{Family, FamilyIdDigest, TagKey};

/// The tag of the audience of the grant.
const AUDIENCE: u8 = 1;
/// The tag of the number of the first bound pair.
const BOUND_FROM: u8 = 2;
/// The tag of the remembered consent.
const CONSENT: u8 = 3;

impl Record for Grant {
    const TABLE: Table = Table::Grants;

    key_and_version!(GrantId);

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.subject.iter().map(|subject| subject.as_str().into()).collect()
    }

    /// An hour after the end of its last token, and not before two hours after the end of its code. A revoked grant has
    /// no token to wait for. It stays until two hours after the end of its code, or for
    /// [`revocation.retention`](crate::Config::revocation) after its revocation if that is later.
    fn purge_after(&self) -> Option<Timestamp> {
        Some(match self.revoked {
            Some(_) => self.keep_until,
            None => self.last_end().plus(RETENTION).max(self.keep_until),
        })
    }

    fn is_due_sooner(&self) -> bool {
        self.revoked.is_some()
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            subject: self.subject.clone(),
            created: Some(self.created),
            state: if self.revoked.is_some() { "revoked" } else { "granted" },
            ended: self.revoked.map(|revoked| Ended { at: revoked.at, why: revoked.reason.as_str() }),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let Self {
            id,
            version,
            client,
            epoch,
            subject,
            scopes,
            resources,
            created,
            keep_until,
            family,
            pairs_made,
            pairs,
            revoked,
            audience,
            bound_from,
        } = self;
        let mut writer = Writer::new(kind::GRANT);
        writer.array(id.as_bytes());
        writer.number(*version);
        writer.text(client.as_str());
        writer.number(*epoch);
        writer.optional(subject.as_ref(), |writer, subject| writer.text(subject.as_str()));
        write_scopes(&mut writer, scopes, resources);
        writer.time(*created);
        writer.time(*keep_until);
        writer.array(family.id.bytes());
        writer.array(family.tag_key.bytes());
        writer.number(*pairs_made);
        writer.optional(*revoked, |writer, revocation| {
            writer.time(revocation.at);
            write_one_of(writer, &RevocationReason::ALL, revocation.reason);
        });
        writer.optional(pairs.newest.as_ref(), write_pair);
        writer.count(pairs.superseded.len());
        pairs.superseded.iter().for_each(|superseded| write_superseded(&mut writer, superseded));
        if !audience.is_unset() {
            writer.tagged(AUDIENCE, |writer| write_audience(writer, audience));
        }
        if let Some(number) = bound_from {
            writer.tagged(BOUND_FROM, |writer| writer.number(number.get()));
        }
        if let Some(consent) = audience.consent() {
            writer.tagged(CONSENT, |writer| consent.write(writer));
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, kind::GRANT)?;
        let mut grant = Self {
            id: GrantId::from_bytes(reader.array()?),
            version: reader.number()?,
            client: ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?,
            epoch: reader.number()?,
            subject: reader.optional(read_subject)?,
            scopes: read_scopes(&mut reader)?,
            resources: read_resource_scope(&mut reader)?,
            created: reader.time()?,
            keep_until: reader.time()?,
            family: Family {
                id: FamilyIdDigest::from_bytes(reader.array()?),
                tag_key: TagKey::from_bytes(reader.array()?),
            },
            pairs_made: reader.number()?,
            revoked: reader.optional(|reader| {
                Ok(Revocation { at: reader.time()?, reason: read_one_of(reader, &RevocationReason::ALL)? })
            })?,
            pairs: Pairs { newest: reader.optional(read_pair)?, superseded: reader.list(read_superseded)?.into() },
            audience: reader.tagged(AUDIENCE, read_audience)?.unwrap_or_default(),
            bound_from: reader.tagged(BOUND_FROM, read_number)?,
        };
        if let Some(consent) = reader.tagged(CONSENT, RememberedConsent::read)? {
            grant.audience = grant.audience.with_consent(consent);
        }
        reader.finish()?;
        Ok(grant)
    }
}

/// Reads the number of a pair.
fn read_number(reader: &mut Reader<'_>) -> Result<NonZeroU32, DecodeError> {
    NonZeroU32::new(reader.number()?).ok_or(DecodeError::Malformed)
}

fn write_pair(writer: &mut Writer, pair: &TokenPair) {
    let TokenPair { access, refresh, further } = pair;
    write_access(writer, access);
    writer.optional(refresh.as_ref(), |writer, refresh| {
        writer.array(refresh.digest.bytes());
        writer.time(refresh.end);
    });
    writer.count(further.as_slice().len());
    further.as_slice().iter().for_each(|access| write_access(writer, access));
}

fn read_pair(reader: &mut Reader<'_>) -> Result<TokenPair, DecodeError> {
    Ok(TokenPair {
        access: read_access(reader)?,
        refresh: reader.optional(|reader| {
            Ok(RefreshRecord { digest: Digest::from_bytes(reader.array()?), end: reader.time()? })
        })?,
        further: reader.list(read_access)?.into_iter().collect(),
    })
}

fn write_access(writer: &mut Writer, access: &AccessRecord) {
    writer.array(access.digest.bytes());
    writer.time(access.issued);
    writer.time(access.end);
    writer.flag(access.is_revoked());
    let is_reduced = |own: &&Restrictions| own.scopes.is_some() || !own.audience.is_unset() || own.key.is_some();
    writer.optional(access.restrictions.as_deref().filter(is_reduced), |writer, restrictions| {
        let Restrictions { revoked: _, scopes, audience, key } = restrictions;
        writer.optional(scopes.as_ref(), |writer, scopes| writer.text(scopes.as_str()));
        writer.optional(Some(audience).filter(|audience| !audience.is_unset()), write_audience);
        writer.optional(key.as_ref(), |writer, key| writer.array(key.bytes()));
    });
}

fn read_access(reader: &mut Reader<'_>) -> Result<AccessRecord, DecodeError> {
    let (digest, issued, end) = (Digest::from_bytes(reader.array()?), reader.time()?, reader.time()?);
    let revoked = reader.flag()?;
    let restrictions = reader.optional(read_restrictions)?.unwrap_or_default();
    Ok(AccessRecord::new(digest, issued, end, Restrictions { revoked, ..restrictions }))
}

fn read_restrictions(reader: &mut Reader<'_>) -> Result<Restrictions, DecodeError> {
    let restrictions = Restrictions {
        revoked: false,
        scopes: reader.optional(read_scopes)?,
        audience: reader.optional(read_audience)?.unwrap_or_default(),
        key: reader.optional(|reader| reader.array().map(JwkThumbprint::from_bytes))?,
    };
    // A token without any is written without them.
    if restrictions == Restrictions::default() { Err(DecodeError::Malformed) } else { Ok(restrictions) }
}

fn write_superseded(writer: &mut Writer, superseded: &SupersededPair) {
    let SupersededPair { pair, since, link } = superseded;
    write_pair(writer, pair);
    writer.time(*since);
    writer.optional(link.as_ref(), |writer, link| writer.array(link.bytes()));
}

fn read_superseded(reader: &mut Reader<'_>) -> Result<SupersededPair, DecodeError> {
    Ok(SupersededPair {
        pair: read_pair(reader)?,
        since: reader.time()?,
        link: reader.optional(|reader| reader.array().map(Link::from_bytes))?,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::subject::Subject;
    use crate::model::fixtures::compared_layout;
    use crate::model::protected_resource::Audience;
    use crate::model::remembered_consent::CONSENT_TERMS_BYTES;
    use crate::scope::{ResourceScope, ScopeSet};

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn scopes() -> Option<ScopeSet> {
        Some(ScopeSet::from_canonical("repo-code:r"))
    }

    fn access(seed: &str, restrictions: Restrictions) -> AccessRecord {
        AccessRecord::new(Digest::of(seed.as_bytes()), at(4), at(10), restrictions)
    }

    fn pair(seed: &str) -> TokenPair {
        pair_of(seed, [Restrictions::default(), Restrictions::default()])
    }

    /// A pair with a further access token, both of which are revoked and have fewer scopes than the grant.
    fn pair_of(seed: &str, restrictions: [Restrictions; 2]) -> TokenPair {
        let refresh = Some(RefreshRecord { digest: Digest::of(b"refresh"), end: at(20) });
        let [own, further] = restrictions.map(|own| Restrictions { revoked: true, scopes: scopes(), ..own });
        TokenPair { access: access(seed, own), refresh, further: [access("f", further)].into_iter().collect() }
    }

    fn bare_pair(seed: &str) -> TokenPair {
        TokenPair::new(access(seed, Restrictions::default()), None)
    }

    fn superseded(seed: &str) -> SupersededPair {
        let link = (seed != "1").then_some(Link::from_bytes([8; Link::BYTES]));
        SupersededPair { pair: pair(seed), since: at(5), link }
    }

    fn grant(pairs: usize) -> Grant {
        Grant {
            id: GrantId::from_bytes([1; 16]),
            version: 2,
            client: ClientId::new("client").unwrap(),
            epoch: 3,
            subject: Some(Subject::new("alice").unwrap()),
            scopes: ScopeSet::from_canonical("repo-code:rw"),
            resources: ResourceScope::specified(["one/two"]).unwrap(),
            created: Timestamp::from_seconds(4),
            keep_until: Timestamp::from_seconds(6),
            family: Family { id: FamilyIdDigest::from_bytes([7; 16]), tag_key: TagKey::from_bytes([6; 16]) },
            pairs_made: 9,
            bound_from: None,
            audience: Audience::UNSET,
            revoked: None,
            pairs: Pairs {
                newest: (pairs > 0).then(|| pair("0")),
                superseded: (1..pairs).map(|number| superseded(&number.to_string())).collect(),
            },
        }
    }

    #[test]
    fn comes_back_equal_in_every_field() {
        let revoked = Grant {
            revoked: Some(Revocation { at: Timestamp::from_seconds(8), reason: RevocationReason::RevokedByUser }),
            ..grant(0)
        };
        let bare = Grant { pairs: Pairs::one(bare_pair("x")), ..grant(0) };
        let all = Grant { resources: ResourceScope::All, ..grant(1) };
        for record in [grant(0), grant(1), grant(300), revoked, bare, all] {
            let bytes = record.encode();
            assert_eq!(Grant::decode(&bytes), Ok(record));
            // Every seventh length, and of the record with 300 pairs about a hundred.
            for cut in (0..bytes.len()).step_by(7 + bytes.len() / 100) {
                assert!(Grant::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let revoked = Some(Revocation { at: Timestamp::from_seconds(8), reason: RevocationReason::RevokedByUser });
        let record = Grant { revoked, ..grant(2) };
        let file = compared_layout("grant.1", &record.encode());
        assert_eq!(Grant::decode(&file), Ok(record));
    }

    fn both() -> Audience {
        Audience::new(["https://api.example", "https://mcp.example/mcp"])
    }

    /// A grant for two protected resources: access tokens for all of it, for one resource, and for keys.
    fn full() -> Grant {
        let audience = |one: &str| Restrictions { audience: Audience::new([one]), ..Restrictions::default() };
        let (one, two) = (audience("https://api.example"), audience("https://mcp.example/mcp"));
        let bound = |byte, own: &Restrictions| {
            let key = Some(JwkThumbprint::from_bytes([byte; 32]));
            Restrictions { key, ..own.clone() }
        };
        let mut grant = grant(3);
        grant.pairs.newest = Some(pair_of("0", [bound(9, &Restrictions::default()), bound(9, &one)]));
        grant.pairs.superseded[0].pair = pair_of("1", [one, bound(8, &two)]);
        grant.pairs.superseded[1].pair.access = access("2", two);
        Grant { audience: both(), bound_from: NonZeroU32::new(8), ..grant }
    }

    #[test]
    fn audience_and_bound_pair_are_optional_fields() {
        let bare = Grant { audience: Audience::UNSET, bound_from: None, ..full() };
        let for_both = Grant { audience: both(), ..grant(2) };
        let bound = Grant { bound_from: NonZeroU32::new(8), ..grant(2) };
        for record in [full(), bare, for_both, bound, grant(2)] {
            assert_eq!(Grant::decode(&record.encode()), Ok(record));
        }
        let mut writer = Writer::new(kind::GRANT);
        writer.tagged(BOUND_FROM, |writer| writer.number(0));
        let bytes = [&grant(2).encode()[..], &writer.finish()[2..]].concat();
        assert_eq!(Grant::decode(&bytes), Err(DecodeError::Malformed), "numbers begin with 1");
    }

    #[test]
    fn a_remembered_consent_comes_back_until_the_grant_is_revoked() {
        let consent = RememberedConsent { asked: at(7), terms: [9; CONSENT_TERMS_BYTES] };
        for (audience, bound_from) in [(Audience::UNSET, None), (both(), NonZeroU32::new(8))] {
            let remembered = Grant { audience: audience.with_consent(consent), bound_from, ..grant(2) };
            let read = Grant::decode(&remembered.encode()).unwrap();
            assert_eq!((&read, read.audience.consent()), (&remembered, Some(&consent)));
            assert_eq!(read.with_pairs(Pairs::default()).audience.consent(), Some(&consent));
            let without = Grant { audience, bound_from, ..grant(2) }.encode();
            assert_eq!(remembered.encode().len() - without.len(), 5 + 4 + CONSENT_TERMS_BYTES);
            let revoked = read.revoked_at(at(8), RevocationReason::RevokedByUser, Duration::ZERO);
            assert_eq!(revoked.audience.consent(), None);
        }
    }

    #[test]
    fn restrictions_that_restrict_nothing_are_malformed() {
        let read = |flags: [bool; 3]| {
            let mut writer = Writer::new(kind::GRANT);
            flags.into_iter().for_each(|flag| writer.flag(flag));
            writer.array(&[7; 32]);
            read_restrictions(&mut Reader::new(&writer.finish(), kind::GRANT).unwrap())
        };
        let key = Some(JwkThumbprint::from_bytes([7; 32]));
        assert_eq!(read([false, false, true]), Ok(Restrictions { key, ..Restrictions::default() }));
        assert_eq!(read([false; 3]), Err(DecodeError::Malformed));
    }

    /// 9449-5-01, 9449-5-04
    ///
    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_with_all_fields_stays_as_it_is() {
        let file = compared_layout("grant.1.full", &full().encode());
        assert_eq!(Grant::decode(&file), Ok(full()));
        // A cut between two fields leaves a record with fewer of them.
        let fewer =
            [Grant { audience: Audience::UNSET, bound_from: None, ..full() }, Grant { bound_from: None, ..full() }];
        for cut in 0..file.len() {
            let left = fewer.iter().find(|record| record.encode().len() == cut);
            assert_eq!(Grant::decode(&file[..cut]).ok().as_ref(), left, "cut to {cut}");
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let mut bytes = grant(1).encode();
        bytes[1] = 9;
        assert_eq!(Grant::decode(&bytes), Err(DecodeError::UnknownLayout));
    }
}
