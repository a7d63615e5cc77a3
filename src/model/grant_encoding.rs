//! The stored form of a [`Grant`].

use std::num::NonZeroU32;

use crate::jose::JwkThumbprint;
use crate::model::client::encoding::{read_resource_scope, read_scopes, read_subject, write_scopes};
use crate::model::codec::{DecodeError, Reader, Writer, kind};
use crate::model::id::{ClientId, GrantId};
use crate::model::protected_resource::{Audience, read_audience, write_audience};
use crate::model::{AccessPart, FurtherAccess, Grant, Pairs, Revocation, RevocationReason, SupersededPair, TokenPair};
use crate::secret::Digest;
use crate::secret::derive::Link;
use crate::secret::refresh::{Family, FamilyIdDigest, TagKey};

/// The tag of the audiences.
const AUDIENCES: u8 = 1;
/// The tag of the first bound pair and of the keys that access tokens are bound to.
const KEYS: u8 = 2;

impl Grant {
    /// Encodes the record as bytes. It contains digests, no secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
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
        } = self;
        let audience = self.audience();
        let has_audience = !audience.is_unset() || pairs.has_reduced_audience();
        let keys = numbered(pairs, |access| access.key);
        let bound_from = pairs.bound_from();
        let has_keys = bound_from.is_some() || !keys.is_empty();
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
            writer.byte(reason_byte(revocation.reason));
        });
        writer.optional(pairs.newest.as_ref(), write_pair);
        writer.count(pairs.superseded.len());
        for superseded in &pairs.superseded {
            write_superseded(&mut writer, superseded);
        }
        if has_audience {
            write_audiences(&mut writer, audience, pairs);
        }
        if has_keys {
            write_keys(&mut writer, bound_from, keys);
        }
        writer.finish()
    }

    /// Decodes a record that [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not a grant, or were written by an unknown release.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
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
            revoked: reader
                .optional(|reader| Ok(Revocation { at: reader.time()?, reason: reason(reader.byte()?)? }))?,
            pairs: Pairs { newest: reader.optional(read_pair)?, superseded: reader.list(read_superseded)?.into() },
        };
        reader.tagged(AUDIENCES, |reader| read_audiences(reader, &mut grant.pairs))?;
        reader.tagged(KEYS, |reader| read_keys(reader, &mut grant.pairs))?;
        reader.finish()?;
        Ok(grant)
    }
}

/// Writes the audience of the grant, then the audiences of access tokens that have one, each after the token's number.
fn write_audiences(writer: &mut Writer, audience: &Audience, pairs: &Pairs) {
    writer.tagged(AUDIENCES, |writer| {
        writer.optional(Some(audience).filter(|audience| !audience.is_unset()), write_audience);
        write_numbered(writer, numbered(pairs, |access| access.audience), write_audience);
    });
}

fn read_audiences(reader: &mut Reader<'_>, pairs: &mut Pairs) -> Result<(), DecodeError> {
    let audience = reader.optional(read_audience)?.unwrap_or_default();
    let reduced = read_numbered(reader, read_audience)?;
    // A record without any is written without the field.
    if audience.is_unset() && reduced.is_empty() {
        return Err(DecodeError::Malformed);
    }
    place(pairs, reduced, TokenPair::set_audience)?;
    let newest = pairs.newest.take().ok_or(DecodeError::Malformed)?;
    pairs.newest = Some(newest.of_grant_for(audience));
    Ok(())
}

/// Writes the number of the first bound pair, 0 for none; then the keys of the DPoP-bound access tokens, each after the
/// token's number.
fn write_keys(writer: &mut Writer, bound_from: Option<NonZeroU32>, keys: Vec<(usize, &JwkThumbprint)>) {
    writer.tagged(KEYS, |writer| {
        writer.number(bound_from.map_or(0, NonZeroU32::get));
        write_numbered(writer, keys, |writer, key| writer.array(key.bytes()));
    });
}

fn read_keys(reader: &mut Reader<'_>, pairs: &mut Pairs) -> Result<(), DecodeError> {
    let bound_from = NonZeroU32::new(reader.number()?);
    let keys = read_numbered(reader, |reader| reader.array().map(JwkThumbprint::from_bytes))?;
    // A record without any is written without the field.
    if bound_from.is_none() && keys.is_empty() {
        return Err(DecodeError::Malformed);
    }
    place(pairs, keys, TokenPair::set_key)?;
    let newest = pairs.newest.take().ok_or(DecodeError::Malformed)?;
    pairs.newest = Some(newest.of_grant_bound_from(bound_from));
    Ok(())
}

/// Returns a value of those access tokens that have one, with the token's number. Tokens are numbered through all
/// pairs.
fn numbered<'p, T>(pairs: &'p Pairs, of: impl Fn(AccessPart<'p>) -> Option<T>) -> Vec<(usize, T)> {
    let accesses = pairs.iter().flat_map(TokenPair::accesses).enumerate();
    accesses.filter_map(|(number, access)| Some((number, of(access)?))).collect()
}

fn write_numbered<T>(writer: &mut Writer, values: Vec<(usize, T)>, write: impl Fn(&mut Writer, T)) {
    writer.count(values.len());
    for (number, value) in values {
        writer.count(number);
        write(writer, value);
    }
}

fn read_numbered<T>(
    reader: &mut Reader<'_>,
    read: impl Fn(&mut Reader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<(usize, T)>, DecodeError> {
    reader.list(|reader| Ok((reader.count()?, read(reader)?)))
}

/// Sets each value on the access token with its number. Numbers must be ascending and belong to tokens.
fn place<T>(pairs: &mut Pairs, values: Vec<(usize, T)>, set: fn(&mut TokenPair, usize, T)) -> Result<(), DecodeError> {
    let mut values = values.into_iter().peekable();
    let (mut first, mut lowest) = (0, 0);
    for pair in pairs.iter_mut() {
        let end = first + pair.accesses().count();
        while let Some((number, value)) = values.next_if(|(number, _)| (lowest..end).contains(number)) {
            set(pair, number - first, value);
            lowest = number + 1;
        }
        (first, lowest) = (end, lowest.max(end));
    }
    if values.next().is_none() { Ok(()) } else { Err(DecodeError::Malformed) }
}

fn write_pair(writer: &mut Writer, pair: &TokenPair) {
    let access = pair.access();
    writer.array(access.digest.bytes());
    writer.optional(pair.refresh_digest(), |writer, digest| writer.array(digest.bytes()));
    writer.time(access.issued);
    writer.time(access.end);
    writer.time(pair.refresh_end());
    writer.flag(access.revoked);
    writer.optional(access.reduced, |writer, scopes| writer.text(scopes.as_str()));
    writer.count(pair.further().len());
    for access in pair.further() {
        let FurtherAccess { digest, issued, end, revoked, reduced, audience: _, key: _ } = access;
        writer.array(digest.bytes());
        writer.time(*issued);
        writer.time(*end);
        writer.flag(*revoked);
        writer.optional(reduced.as_ref(), |writer, scopes| writer.text(scopes.as_str()));
    }
}

fn read_pair(reader: &mut Reader<'_>) -> Result<TokenPair, DecodeError> {
    let access = Digest::from_bytes(reader.array()?);
    let refresh = reader.optional(|reader| reader.array().map(Digest::from_bytes))?;
    let mut pair = TokenPair::new(access, reader.time()?, reader.time()?);
    let refresh_end = reader.time()?;
    if let Some(digest) = refresh {
        pair = pair.with_refresh(digest, refresh_end);
    }
    if reader.flag()? {
        pair.revoke_access(&access);
    }
    if let Some(scopes) = reader.optional(read_scopes)? {
        pair = pair.reduced_to(scopes);
    }
    for access in reader.list(read_further)? {
        pair.push_further(access);
    }
    Ok(pair)
}

fn read_further(reader: &mut Reader<'_>) -> Result<FurtherAccess, DecodeError> {
    Ok(FurtherAccess {
        digest: Digest::from_bytes(reader.array()?),
        issued: reader.time()?,
        end: reader.time()?,
        revoked: reader.flag()?,
        reduced: reader.optional(read_scopes)?,
        audience: Audience::UNSET,
        key: None,
    })
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

const fn reason_byte(reason: RevocationReason) -> u8 {
    match reason {
        RevocationReason::CodeReplayed => 0,
        RevocationReason::RefreshTokenReused => 1,
        RevocationReason::RevokedByClient => 2,
        RevocationReason::RevokedByUser => 3,
        RevocationReason::SubjectRevoked => 4,
        RevocationReason::ApplicationRevoked => 5,
        RevocationReason::TooManyGrants => 6,
    }
}

const fn reason(byte: u8) -> Result<RevocationReason, DecodeError> {
    match byte {
        0 => Ok(RevocationReason::CodeReplayed),
        1 => Ok(RevocationReason::RefreshTokenReused),
        2 => Ok(RevocationReason::RevokedByClient),
        3 => Ok(RevocationReason::RevokedByUser),
        4 => Ok(RevocationReason::SubjectRevoked),
        5 => Ok(RevocationReason::ApplicationRevoked),
        6 => Ok(RevocationReason::TooManyGrants),
        _ => Err(DecodeError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::model::codec::layout;
    use crate::model::subject::Subject;
    use crate::scope::{ResourceScope, ScopeSet};

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn pair(seed: &str) -> TokenPair {
        let mut pair = bare_pair(seed)
            .with_refresh(Digest::of(b"refresh"), at(20))
            .reduced_to(ScopeSet::from_canonical("repo-code:r"));
        pair.revoke_access(&Digest::of(seed.as_bytes()));
        let reduced = Some(ScopeSet::from_canonical("repo-code:r"));
        pair.push_further(FurtherAccess {
            digest: Digest::of(b"f"),
            issued: at(5),
            end: at(9),
            revoked: true,
            reduced,
            audience: Audience::UNSET,
            key: None,
        });
        pair
    }

    fn bare_pair(seed: &str) -> TokenPair {
        TokenPair::new(Digest::of(seed.as_bytes()), at(4), at(10))
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
            for cut in (0..bytes.len()).step_by(7) {
                assert!(Grant::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let revoked = Some(Revocation { at: Timestamp::from_seconds(8), reason: RevocationReason::RevokedByUser });
        let record = Grant { revoked, ..grant(2) };
        let file = layout::compared("grant.1", &record.encode());
        assert_eq!(Grant::decode(&file), Ok(record));
    }

    /// A grant for two protected resources: an access token for all of it, one for each resource.
    fn with_audience() -> Grant {
        let (one, two) = (Audience::new(["https://api.example"]), Audience::new(["https://mcp.example/mcp"]));
        let reduce = |mut pair: TokenPair, audience: &Audience| {
            (1..pair.accesses().count()).for_each(|place| pair.set_audience(place, audience.clone()));
            pair
        };
        let mut grant = grant(3);
        grant.pairs.newest = Some(reduce(pair("0"), &one).of_grant_for(both()));
        grant.pairs.superseded[1].pair = reduce(pair("2").for_audience(one), &two);
        grant
    }

    fn both() -> Audience {
        Audience::new(["https://api.example", "https://mcp.example/mcp"])
    }

    #[test]
    fn audiences_are_an_optional_field() {
        let mut bare = with_audience();
        bare.pairs.newest = Some(pair("0"));
        let mut whole = grant(2);
        whole.pairs.newest = Some(pair("0").of_grant_for(both()));
        for record in [with_audience(), bare, whole, grant(2)] {
            assert_eq!(Grant::decode(&record.encode()), Ok(record));
        }
        // Numbers out of order, repeated, or of no access token.
        for numbers in [&[3_usize, 1][..], &[1, 1], &[6], &[]] {
            let mut bytes = grant(3).encode();
            let mut writer = Writer::new(kind::GRANT);
            writer.tagged(AUDIENCES, |writer| {
                writer.flag(false);
                writer.count(numbers.len());
                for number in numbers {
                    writer.count(*number);
                    write_audience(writer, &Audience::new(["https://api.example"]));
                }
            });
            bytes.extend_from_slice(&writer.finish()[2..]);
            assert_eq!(Grant::decode(&bytes), Err(DecodeError::Malformed), "{numbers:?}");
        }
    }

    /// What a release has written is read by every later one.
    ///
    /// 9449-5-01, 9449-5-04
    #[test]
    fn layout_1_with_all_fields_stays_as_it_is() {
        let key = |byte| JwkThumbprint::from_bytes([byte; 32]);
        let mut record = with_audience();
        record.pairs.newest = Some(pair("0").of_grant_for(both()));
        let without_keys = record.encode().len();
        record.pairs.superseded[0].pair.set_key(1, key(8));
        let mut newest = pair("0").of_grant_for(both()).of_grant_bound_from(NonZeroU32::new(8));
        (0..2).for_each(|place| newest.set_key(place, key(9)));
        record.pairs.newest = Some(newest);
        let file = layout::compared("grant.1.full", &record.encode());
        assert_eq!(Grant::decode(&file), Ok(record));
        // A cut between two fields leaves a record with fewer of them.
        let without_audiences = grant(3).encode().len();
        for cut in (0..file.len()).filter(|cut| ![without_keys, without_audiences].contains(cut)) {
            assert!(Grant::decode(&file[..cut]).is_err(), "cut to {cut}");
        }
        let mut bare = grant(2);
        bare.pairs.newest.as_mut().unwrap().set_key(0, key(9));
        let mut forgotten = grant(2);
        forgotten.pairs.newest = Some(pair("0").of_grant_bound_from(NonZeroU32::new(8)));
        for record in [bare, forgotten] {
            assert_eq!(Grant::decode(&record.encode()), Ok(record));
        }
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let mut bytes = grant(1).encode();
        bytes[1] = 9;
        assert_eq!(Grant::decode(&bytes), Err(DecodeError::UnknownLayout));
    }
}
