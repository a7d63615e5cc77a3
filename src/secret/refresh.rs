//! The refresh token, which contains its own expiry time and number.
//!
//! Its secret has 66 bytes, 88 characters: `family id (16) | own end (4) | number (4) | fresh (31) | tag (11)`. The
//! family id is the same in all refresh tokens of one grant. The tag is computed with a key that only the grant's
//! record contains. A token whose digest was removed from the record is therefore still recognized as one of that
//! grant, however old it is. Its end and its number cannot be changed without the key.
//!
//! The record keeps a digest of the 55 bytes before the tag. "fresh" has 31 bytes and not 32, so that these bytes fit
//! into one block of SHA-256. The tag has 11 bytes, so that 66 bytes fill exactly 88 characters. The id before the
//! secret is not hashed: another id belongs to another family id, or to no record.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::field::arrays;
use crate::base::id::{GrantId, ID_CHARACTERS, decode_id, write_base64url};
use crate::secret::{Digest, Minted, is_equal};

const FAMILY_ID_BYTES: usize = 16;
pub(crate) const FRESH_BYTES: usize = 31;
const TAG_BYTES: usize = 11;
/// The length of everything but the tag.
const BODY_BYTES: usize = FAMILY_ID_BYTES + 4 + 4 + FRESH_BYTES;
const SECRET_BYTES: usize = BODY_BYTES + TAG_BYTES;
/// 66 bytes fill exactly 88 characters, so each secret has one encoding.
const SECRET_CHARACTERS: usize = 88;

/// The part that all refresh tokens of one grant share; the record keeps its digest.
#[derive(Clone)]
pub(crate) struct FamilyId([u8; FAMILY_ID_BYTES]);

impl Drop for FamilyId {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for FamilyId {}

impl FamilyId {
    pub(crate) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; FAMILY_ID_BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    pub(crate) fn digest(&self) -> FamilyIdDigest {
        let digest = Digest::of(&self.0);
        let (half, _) = digest.bytes().split_at(FAMILY_ID_BYTES);
        let mut bytes = [0; FAMILY_ID_BYTES];
        bytes.copy_from_slice(half);
        FamilyIdDigest(bytes)
    }
}

/// The first half of the SHA-256 of a family id: 128 bits, like the family id itself.
#[derive(Clone, Copy)]
pub(crate) struct FamilyIdDigest([u8; FAMILY_ID_BYTES]);

impl FamilyIdDigest {
    pub(crate) const fn from_bytes(bytes: [u8; FAMILY_ID_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; FAMILY_ID_BYTES] {
        &self.0
    }
}

impl PartialEq for FamilyIdDigest {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for FamilyIdDigest {}

impl std::fmt::Debug for FamilyIdDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FamilyIdDigest([redacted])")
    }
}

arrays! { FamilyIdDigest: bytes, TagKey: bytes }

/// The key for the tags of one grant. Only its record contains it.
#[derive(Clone, Copy)]
pub(crate) struct TagKey([u8; Self::BYTES]);

impl TagKey {
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; Self::BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Returns the SHA-256 of the key and the digest of the token's body, truncated to 11 bytes.
    fn tag(&self, body: &Digest) -> [u8; TAG_BYTES] {
        let mut message = [0; Self::BYTES + 32];
        let (key, digest) = message.split_at_mut(Self::BYTES);
        key.copy_from_slice(&self.0);
        digest.copy_from_slice(body.bytes());
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(Digest::of(&message).bytes().split_at(TAG_BYTES).0);
        tag
    }
}

impl PartialEq for TagKey {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for TagKey {}

impl std::fmt::Debug for TagKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TagKey([redacted])")
    }
}

/// The data by which a record recognizes every refresh token of its grant, however old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) id: FamilyIdDigest,
    pub(crate) tag_key: TagKey,
}

impl Family {
    /// The value for a grant that never has a refresh token: no known family id has that digest.
    pub(crate) const NONE: Self =
        Self { id: FamilyIdDigest([0; FAMILY_ID_BYTES]), tag_key: TagKey::from_bytes([0; TagKey::BYTES]) };
}

/// The random part of a refresh token, from which its successor is derived.
#[derive(Clone)]
pub(crate) struct Fresh([u8; FRESH_BYTES]);

impl Drop for Fresh {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Fresh {}

impl Fresh {
    pub(crate) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; FRESH_BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    /// Copies the first bytes of a longer secret.
    pub(super) fn first_of(secret: &[u8; 32]) -> Self {
        let mut fresh = Self([0; FRESH_BYTES]);
        fresh.0.copy_from_slice(secret.split_at(FRESH_BYTES).0);
        fresh
    }

    pub(super) const fn bytes(&self) -> &[u8; FRESH_BYTES] {
        &self.0
    }
}

/// A newly generated refresh token.
pub(crate) type MintedRefresh = Minted<SECRET_CHARACTERS>;

/// The end and the number of a refresh token. Numbers count the pairs of a grant, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) end: Timestamp,
    pub(crate) number: u32,
}

/// Creates the refresh token for one position in a grant.
pub(crate) fn mint(position: Position, family_id: &FamilyId, fresh: &Fresh, key: &TagKey) -> MintedRefresh {
    let end = position.end.seconds().to_be_bytes();
    let number = position.number.to_be_bytes();
    let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
    let (body, tag) = bytes.split_at_mut(BODY_BYTES);
    let mut rest = &mut *body;
    for part in [family_id.0.as_slice(), &end, &number, &fresh.0] {
        let (place, after) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = after;
    }
    let digest = Digest::of(body);
    tag.copy_from_slice(&key.tag(&digest));
    let mut secret = Zeroizing::new([0; SECRET_CHARACTERS]);
    write_base64url(bytes.as_slice(), secret.as_mut_slice());
    Minted::new(secret, digest)
}

/// A presented refresh token that has the right form. It is not verified yet.
pub(crate) struct PresentedRefresh {
    pub(crate) grant: GrantId,
    pub(crate) family_id: FamilyId,
    pub(crate) position: Position,
    pub(crate) fresh: Fresh,
    pub(crate) digest: Digest,
    tag: [u8; TAG_BYTES],
}

/// Derives the family id and the random part of pair 0 from a device code: digests of the whole code, each with a label
/// of its own. So a device that polls again derives the same pairs.
pub(crate) fn of_device_code(code: &[u8]) -> (FamilyId, Fresh) {
    let digest = |label: &[u8]| Digest::of(&Zeroizing::new([label, code].concat()));
    (FamilyId(digest(b"device family").first_bytes()), Fresh(digest(b"device fresh").first_bytes()))
}

impl PresentedRefresh {
    /// Presents a device code in the place of a refresh token that the first pair superseded. Its number is before all
    /// others, and its end is that of its grace, which the record has.
    pub(crate) fn of_device_code(code: &[u8], digest: Digest, grant: GrantId, key: &TagKey) -> Self {
        let (family_id, fresh) = of_device_code(code);
        let position = Position { end: Timestamp::from_seconds(u32::MAX), number: 0 };
        Self { grant, family_id, position, fresh, digest, tag: key.tag(&digest) }
    }

    /// Parses a text; `None` if it does not have the right form.
    pub(crate) fn parse(prefix: &str, text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(prefix.as_bytes())?;
        if text.len() != ID_CHARACTERS + SECRET_CHARACTERS {
            return None;
        }
        let (id_text, secret_text) = text.split_at_checked(ID_CHARACTERS)?;
        let id = decode_id(id_text)?;
        let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
        URL_SAFE_NO_PAD.decode_slice(secret_text, bytes.as_mut_slice()).ok()?;
        let (body, tag) = bytes.split_at_checked(BODY_BYTES)?;
        let (family_id, rest) = body.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (fresh, tag) = (rest.first_chunk()?, tag.first_chunk()?);
        // Hashed before the value is built; otherwise the parts would be copied byte by byte (`tests/limits`).
        let digest = Digest::of(body);
        Some(Self {
            grant: GrantId::from_bytes(id),
            family_id: FamilyId(*family_id),
            position: Position {
                end: Timestamp::from_seconds(u32::from_be_bytes(*end)),
                number: u32::from_be_bytes(*number),
            },
            fresh: Fresh(*fresh),
            digest,
            tag: *tag,
        })
    }

    /// Returns whether the token belongs to the grant: family id and tag match, compared in constant time.
    pub(crate) fn is_of(&self, family: &Family) -> bool {
        (self.family_id.digest() == family.id) & self.has_tag(&family.tag_key)
    }

    /// Returns whether the tag was computed with that key, compared in constant time.
    pub(crate) fn has_tag(&self, key: &TagKey) -> bool {
        is_equal(&self.tag, &key.tag(&self.digest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::entropy::SystemEntropy;
    use crate::base::id::{ID_BYTES, IdText};

    struct Token {
        text: Vec<u8>,
        minted: MintedRefresh,
        family: Family,
    }

    fn token() -> Token {
        let family_id = FamilyId::random(&SystemEntropy);
        let tag_key = TagKey::random(&SystemEntropy);
        let position = Position { end: Timestamp::from_seconds(77), number: 3 };
        let minted = mint(position, &family_id, &Fresh::random(&SystemEntropy), &tag_key);
        let text = minted.text("rt_", &IdText::of(&[9; ID_BYTES])).into_bytes();
        Token { text, minted, family: Family { id: family_id.digest(), tag_key } }
    }

    #[test]
    fn what_was_written_is_read() {
        let Token { text, minted, family } = token();
        assert_eq!(text.len(), 3 + 110);
        let presented = PresentedRefresh::parse("rt_", &text).unwrap();
        assert_eq!(presented.grant.as_bytes(), &[9; ID_BYTES]);
        assert_eq!(presented.position, Position { end: Timestamp::from_seconds(77), number: 3 });
        assert_eq!(presented.digest, minted.digest);
        assert!(presented.is_of(&family));
        let again = mint(presented.position, &presented.family_id, &presented.fresh, &family.tag_key);
        assert_eq!(again.text("rt_", &IdText::of(&[9; ID_BYTES])).into_bytes(), text);
    }

    #[test]
    fn a_flip_of_any_bit_is_another_token_without_a_right_tag() {
        const ID: std::ops::Range<usize> = 3..3 + ID_CHARACTERS;
        let Token { text, family, .. } = token();
        for cut in 0..text.len() {
            assert!(PresentedRefresh::parse("rt_", &text[..cut]).is_none());
            assert!(PresentedRefresh::parse("rt_", &text[cut + 1..]).is_none());
        }
        for position in 0..text.len() {
            for bit in 0..8 {
                let mut altered = text.clone();
                altered[position] ^= 1 << bit;
                let read = PresentedRefresh::parse("rt_", &altered);
                let names_another = read.as_ref().is_some_and(|read| read.grant.as_bytes() != &[9; ID_BYTES]);
                let is_refused = read.is_none_or(|read| !read.is_of(&family));
                assert!(is_refused || ID.contains(&position) && names_another, "byte {position}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_tag_of_another_key_is_wrong() {
        let Token { text, family, .. } = token();
        let presented = PresentedRefresh::parse("rt_", &text).unwrap();
        assert!(!presented.is_of(&Family { tag_key: TagKey::from_bytes([0; 16]), ..family }));
        assert!(!presented.is_of(&Family { id: FamilyIdDigest::from_bytes([0; 16]), ..family }));
    }
}
