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
    let TokenPair { access, refresh, issued, access_end, refresh_end, superseded, access_revoked, narrowed } = pair;
    writer.array(access.octets());
    writer.optional(refresh.as_ref(), |writer, digest| writer.array(digest.octets()));
    writer.time(*issued);
    writer.time(*access_end);
    writer.time(*refresh_end);
    writer.optional(*superseded, Writer::time);
    writer.flag(*access_revoked);
    writer.optional(narrowed.as_deref(), |writer, scopes| writer.text(scopes.as_str()));
}

fn read_pair(reader: &mut Reader<'_>) -> Result<TokenPair, DecodeError> {
    Ok(TokenPair {
        access: Digest::from_octets(reader.array()?),
        refresh: reader.optional(|reader| reader.array().map(Digest::from_octets))?,
        issued: reader.time()?,
        access_end: reader.time()?,
        refresh_end: reader.time()?,
        superseded: reader.optional(Reader::time)?,
        access_revoked: reader.flag()?,
        narrowed: reader.optional(read_scopes)?.map(Box::new),
    })
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
        TokenPair {
            access: Digest::of(seed.as_bytes()),
            refresh: Some(Digest::of(b"refresh")),
            issued: Timestamp::from_seconds(4),
            access_end: Timestamp::from_seconds(10),
            refresh_end: Timestamp::from_seconds(20),
            superseded: Some(Timestamp::from_seconds(5)),
            access_revoked: true,
            narrowed: Some(Box::new(ScopeSet::from_canonical("repo-code:r"))),
        }
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
        let bare_pair =
            TokenPair { refresh: None, superseded: None, narrowed: None, access_revoked: false, ..pair("x") };
        let bare = Grant { pairs: Pairs::one(bare_pair), ..grant(0) };
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
