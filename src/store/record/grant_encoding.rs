//! The stored form of a [`Grant`].

use std::ops::RangeInclusive;

use crate::client::encoding::{read_resource_scope, read_scopes, write_scopes};
use crate::codec::{DecodeError, Reader, Writer, kind};
use crate::id::{ClientId, GrantId};
use crate::secret::Digest;
use crate::secret::refresh::LineageDigest;
use crate::store::record::{Grant, Pairs, Revocation, RevocationReason, TokenPair};
use crate::subject::Subject;

/// The layout that is written, and those that are read.
const WRITES: u8 = 1;
const READS: RangeInclusive<u8> = 1..=1;

impl Grant {
    /// Writes the record as octets, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            id,
            version,
            client,
            epoch,
            subject,
            scopes,
            resource_scope,
            created,
            keep_until,
            lineage,
            pairs_made,
            pairs,
            revoked,
        } = self;
        let mut writer = Writer::new(kind::GRANT, WRITES);
        writer.array(id.octets());
        writer.number(*version);
        writer.text(client.as_str());
        writer.number(*epoch);
        writer.text(subject.as_str());
        write_scopes(&mut writer, scopes, resource_scope);
        writer.time(*created);
        writer.time(*keep_until);
        writer.array(lineage.octets());
        writer.number(*pairs_made);
        writer.optional(*revoked, |writer, revocation| {
            writer.time(revocation.at);
            writer.octet(reason_octet(revocation.reason));
        });
        writer.count(pairs.len());
        for pair in pairs.iter() {
            write_pair(&mut writer, pair);
        }
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the octets are no grant, or were written by an unknown release.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets, kind::GRANT, &READS)?;
        let grant = Self {
            id: GrantId::from_octets(reader.array()?),
            version: reader.number()?,
            client: ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?,
            epoch: reader.number()?,
            subject: Subject::new(reader.text()?).map_err(|_| DecodeError::Malformed)?,
            scopes: read_scopes(&mut reader)?,
            resource_scope: read_resource_scope(&mut reader)?,
            created: reader.time()?,
            keep_until: reader.time()?,
            lineage: LineageDigest::from_octets(reader.array()?),
            pairs_made: reader.number()?,
            revoked: reader
                .optional(|reader| Ok(Revocation { at: reader.time()?, reason: reason(reader.octet()?)? }))?,
            pairs: Pairs::from_newest_first(reader.list(read_pair)?.into_iter()),
        };
        reader.finish()?;
        Ok(grant)
    }
}

fn write_pair(writer: &mut Writer, pair: &TokenPair) {
    writer.array(pair.access.octets());
    writer.optional(pair.refresh_digest(), |writer, digest| writer.array(digest.octets()));
    writer.time(pair.issued());
    writer.time(pair.access_end);
    writer.time(pair.refresh_end());
    writer.optional(pair.superseded(), Writer::time);
    writer.flag(pair.access_revoked());
    writer.optional(pair.narrowed(), |writer, scopes| writer.text(scopes.as_str()));
}

fn read_pair(reader: &mut Reader<'_>) -> Result<TokenPair, DecodeError> {
    let access = Digest::from_octets(reader.array()?);
    let refresh = reader.optional(|reader| reader.array().map(Digest::from_octets))?;
    let mut pair = TokenPair::new(access, reader.time()?, reader.time()?);
    let refresh_end = reader.time()?;
    if let Some(digest) = refresh {
        pair = pair.with_refresh(digest, refresh_end);
    }
    if let Some(time) = reader.optional(Reader::time)? {
        pair = pair.superseded_at(time);
    }
    if reader.flag()? {
        pair.revoke_access();
    }
    if let Some(scopes) = reader.optional(read_scopes)? {
        pair = pair.narrowed_to(scopes);
    }
    Ok(pair)
}

const fn reason_octet(reason: RevocationReason) -> u8 {
    match reason {
        RevocationReason::CodeReplayed => 0,
        RevocationReason::RefreshTokenReused => 1,
        RevocationReason::RevokedByClient => 2,
        RevocationReason::Withdrawn => 3,
        RevocationReason::SubjectWithdrawn => 4,
    }
}

const fn reason(octet: u8) -> Result<RevocationReason, DecodeError> {
    match octet {
        0 => Ok(RevocationReason::CodeReplayed),
        1 => Ok(RevocationReason::RefreshTokenReused),
        2 => Ok(RevocationReason::RevokedByClient),
        3 => Ok(RevocationReason::Withdrawn),
        4 => Ok(RevocationReason::SubjectWithdrawn),
        _ => Err(DecodeError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::scope::{ResourceScope, ScopeSet};

    fn pair(seed: &str) -> TokenPair {
        let mut pair = bare_pair(seed)
            .with_refresh(Digest::of(b"refresh"), Timestamp::from_seconds(20))
            .superseded_at(Timestamp::from_seconds(5))
            .narrowed_to(ScopeSet::from_canonical("repo-code:r"));
        pair.revoke_access();
        pair
    }

    fn bare_pair(seed: &str) -> TokenPair {
        TokenPair::new(Digest::of(seed.as_bytes()), Timestamp::from_seconds(4), Timestamp::from_seconds(10))
    }

    fn grant(pairs: usize) -> Grant {
        Grant {
            id: GrantId::from_octets([1; 16]),
            version: 2,
            client: ClientId::new("client").unwrap(),
            epoch: 3,
            subject: Subject::new("alice").unwrap(),
            scopes: ScopeSet::from_canonical("repo-code:rw"),
            resource_scope: ResourceScope::All,
            created: Timestamp::from_seconds(4),
            keep_until: Timestamp::from_seconds(6),
            lineage: LineageDigest::from_octets([7; 16]),
            pairs_made: 9,
            revoked: None,
            pairs: Pairs::from_newest_first((0..pairs).map(|number| pair(&number.to_string()))),
        }
    }

    #[test]
    fn comes_back_equal_in_every_field() {
        let revoked = Grant {
            revoked: Some(Revocation { at: Timestamp::from_seconds(8), reason: RevocationReason::Withdrawn }),
            ..grant(0)
        };
        let bare = Grant { pairs: Pairs::one(bare_pair("x")), ..grant(0) };
        for record in [grant(0), grant(1), grant(300), revoked, bare] {
            let octets = record.encode();
            assert_eq!(Grant::decode(&octets), Ok(record));
            for cut in (0..octets.len()).step_by(7) {
                assert!(Grant::decode(&octets[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let revoked = Some(Revocation { at: Timestamp::from_seconds(8), reason: RevocationReason::Withdrawn });
        let expected = [
            b"G\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\0\0\0\x02\0\0\0\x06client".to_vec(),
            b"\0\0\0\x03\0\0\0\x05alice\0\0\0\x0crepo-code:rw\0\0\0\0\x04\0\0\0\x06".to_vec(),
            b"\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\0\0\0\x09\x01\0\0\0\x08\x03\0\0\0\x01"
                .to_vec(),
            Digest::of(b"0").octets().to_vec(),
            b"\x01".to_vec(),
            Digest::of(b"refresh").octets().to_vec(),
            b"\0\0\0\x04\0\0\0\x0a\0\0\0\x14\x01\0\0\0\x05\x01\x01\0\0\0\x0brepo-code:r".to_vec(),
        ];
        let record = Grant { revoked, ..grant(1) };
        assert_eq!(record.encode(), expected.concat());
        assert_eq!(Grant::decode(&expected.concat()), Ok(record));
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let mut octets = grant(1).encode();
        octets[1] = 9;
        assert_eq!(Grant::decode(&octets), Err(DecodeError::UnknownVersion));
    }
}
