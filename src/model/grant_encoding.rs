//! The stored form of a [`Grant`].

use std::borrow::Cow;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field;
use crate::base::field::{Codec, fields, variants, write_list};
use crate::base::id::GrantId;
use crate::model::pairs::Further;
use crate::model::record::{Columns, Ended, Record, Table, key_and_version};
use crate::model::{
    AccessRecord, Grant, Pairs, RETENTION, RefreshRecord, Restrictions, Revocation, RevocationReason, SupersededPair,
    TokenPair,
};
use crate::secret::refresh::Family;

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
        field::encode(kind::GRANT, self)
    }

    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        field::decode(kind::GRANT, bytes)
    }
}

/// The tag of the number of the first bound pair.
const BOUND_FROM: u8 = 3;

// The terms are last, since they have tags: `terms.rs` lists those that are taken.
fields! {
    Grant {
        id, version, client, epoch, subject, created, keep_until, family, pairs_made, revoked, pairs, terms,
    } tagged {
        BOUND_FROM => bound_from,
    }
}
fields! { Family { id, tag_key } }
fields! { Revocation { at, reason } }
fields! { Pairs { newest, superseded } }
fields! { SupersededPair { pair, since, link } }
fields! { TokenPair { access, refresh, further } }
fields! { RefreshRecord { digest, end } }
fields! { Restrictions { scopes, audience, key } elsewhere { revoked } }
variants! {
    RevocationReason {
        0 => CodeReplayed,
        1 => RefreshTokenReused,
        2 => RevokedByClient,
        3 => RevokedByUser,
        4 => SubjectRevoked,
        5 => ApplicationRevoked,
        6 => TooManyGrants,
    }
}

impl Codec for Further {
    fn write(&self, writer: &mut Writer) {
        write_list(self.as_slice(), writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.list(AccessRecord::read).map(Self::from_iter)
    }
}

impl Codec for AccessRecord {
    fn write(&self, writer: &mut Writer) {
        let Self { digest, issued, end, restrictions } = self;
        digest.write(writer);
        issued.write(writer);
        end.write(writer);
        writer.flag(self.is_revoked());
        let is_reduced = |own: &&Restrictions| own.scopes.is_some() || !own.audience.is_unset() || own.key.is_some();
        writer.optional(restrictions.as_deref().filter(is_reduced), |writer, own| own.write(writer));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (digest, issued, end) = (Codec::read(reader)?, Codec::read(reader)?, Codec::read(reader)?);
        let revoked = reader.flag()?;
        let restrictions = reader.optional(read_restrictions)?.unwrap_or_default();
        Ok(Self::new(digest, issued, end, Restrictions { revoked, ..restrictions }))
    }
}

fn read_restrictions(reader: &mut Reader<'_>) -> Result<Restrictions, DecodeError> {
    let restrictions = Restrictions::read(reader)?;
    // A token without any is written without them.
    if restrictions == Restrictions::default() { Err(DecodeError::Malformed) } else { Ok(restrictions) }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use super::*;
    use crate::base::id::{ClientId, Subject};
    use crate::jose::JwkThumbprint;
    use crate::model::client::CONSENT_TERMS_BYTES;
    use crate::model::fixtures::compared_layout;
    use crate::model::grant_data::GrantData;
    use crate::model::protected_resource::Audience;
    use crate::model::sign_in::SignIn;
    use crate::model::terms::{Extra, RememberedConsent, Terms};
    use crate::scope::{ResourceScope, ScopeSet};
    use crate::secret::Digest;
    use crate::secret::derive::Link;
    use crate::secret::refresh::{FamilyIdDigest, TagKey};

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
            terms: Terms {
                scopes: ScopeSet::from_canonical("repo-code:rw"),
                resources: ResourceScope::specified(["one/two"]).unwrap(),
                audience: Audience::UNSET,
                extra: None,
            },
            created: Timestamp::from_seconds(4),
            keep_until: Timestamp::from_seconds(6),
            family: Family { id: FamilyIdDigest::from_bytes([7; 16]), tag_key: TagKey::from_bytes([6; 16]) },
            pairs_made: 9,
            bound_from: None,
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
        let terms = Terms { resources: ResourceScope::All, ..grant(1).terms };
        let all = Grant { terms, ..grant(1) };
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

    fn both() -> Terms {
        for_audience(Audience::new(["https://api.example", "https://mcp.example/mcp"]))
    }

    fn for_audience(audience: Audience) -> Terms {
        Terms { audience, ..grant(0).terms }
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
        let consent = RememberedConsent { asked: at(7), terms: [9; CONSENT_TERMS_BYTES] };
        let extra = Extra {
            remembered: Some(consent),
            data: GrantData::new(b"tenant").ok(),
            revision: NonZeroU32::new(2),
            sign_in: SignIn::at(at(3)).with_acr("loa1").unwrap().with_amr(["pwd", "otp"]).ok(),
            nonce: None,
        };
        Grant { terms: Terms { extra: extra.boxed(), ..both() }, bound_from: NonZeroU32::new(8), ..grant }
    }

    #[test]
    fn audience_and_bound_pair_are_optional_fields() {
        let bare = Grant { terms: for_audience(Audience::UNSET), bound_from: None, ..full() };
        let for_both = Grant { terms: both(), ..grant(2) };
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
        for (terms, bound_from) in [(grant(2).terms, None), (both(), NonZeroU32::new(8))] {
            let with_consent = terms.clone().with(|extra| extra.remembered = Some(consent));
            let remembered = Grant { terms: with_consent.clone(), bound_from, ..grant(2) };
            let read = Grant::decode(&remembered.encode()).unwrap();
            assert_eq!(read, remembered);
            assert_eq!(read.with_pairs(Pairs::default()).terms, with_consent);
            let without = Grant { terms, bound_from, ..grant(2) }.encode();
            assert_eq!(remembered.encode().len() - without.len(), 5 + 2 + 4 + CONSENT_TERMS_BYTES);
            let revoked = read.revoked_at(at(8), RevocationReason::RevokedByUser, Duration::ZERO);
            assert_eq!(revoked.terms.extra, None);
        }
    }

    /// OWN-06, OWN-07
    #[test]
    fn data_takes_room_only_where_there_is_some() {
        let plain = grant(2).encode();
        for data in [GrantData::new([0xff]).unwrap(), GrantData::new([0; 1024]).unwrap()] {
            let own = Grant { terms: grant(2).terms.with_data(Some(&data)), ..grant(2) };
            let bytes = own.encode();
            assert_eq!(bytes.len() - plain.len(), 5 + 2 + 4 + data.as_bytes().len());
            assert_eq!(Grant::decode(&bytes).unwrap().data(), Some(&data));
            let revoked = own.revoked_at(at(8), RevocationReason::RevokedByUser, Duration::ZERO);
            assert_eq!(
                revoked.encode(),
                grant(2).revoked_at(at(8), RevocationReason::RevokedByUser, Duration::ZERO).encode()
            );
            let without = Grant { terms: own.terms.with_data(None), ..grant(2) };
            assert_eq!(without.encode(), plain);
        }
        for data in [&[][..], &[0; 1025]] {
            let mut writer = Writer::new(kind::GRANT);
            writer.tagged(2, |writer| {
                writer.flag(false);
                writer.flag(true);
                writer.bytes(data);
            });
            let hostile = [&plain[..], &writer.finish()[2..]].concat();
            assert_eq!(Grant::decode(&hostile), Err(DecodeError::Malformed), "{} bytes", data.len());
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
        let without_extra = Terms { extra: None, ..full().terms };
        let fewer = [
            Grant { terms: for_audience(Audience::UNSET), bound_from: None, ..full() },
            Grant { terms: without_extra, bound_from: None, ..full() },
            Grant { bound_from: None, ..full() },
        ];
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
