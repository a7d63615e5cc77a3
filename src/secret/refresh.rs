//! The refresh token that tells by itself that it is an old one.
//!
//! Its secret has 60 octets, 80 characters: `lineage (16) | own end (4) | number (4) | fresh (31) |
//! check (5)`. The lineage is equal in all refresh tokens of one grant, so a token whose digest has
//! left the record is still known to have been one of that grant's, however old it is, while the
//! record stays of constant size. The SHA-256 over all but the check is both: its first five octets
//! are the check, the whole is the digest that the record keeps.
//!
//! What is hashed are 55 octets, the most that fill one block. That is why the id in front is left out:
//! under another id there is another lineage, or no record.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::clock::Timestamp;
use crate::entropy::Entropy;
use crate::id::{GrantId, ID_CHARACTERS, base64url};
use crate::secret::minted::Minted;
use crate::secret::opaque::decode_id;
use crate::secret::{Digest, is_equal};

const LINEAGE_OCTETS: usize = 16;
const FRESH_OCTETS: usize = 31;
const CHECK_OCTETS: usize = 5;
/// Everything but the check.
const BODY_OCTETS: usize = LINEAGE_OCTETS + 4 + 4 + FRESH_OCTETS;
const SECRET_OCTETS: usize = BODY_OCTETS + CHECK_OCTETS;
/// 60 octets are 80 characters without a rest, so each secret has one text.
const SECRET_CHARACTERS: usize = 80;

/// What all refresh tokens of one grant have in common; the record keeps its digest.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(crate) struct Lineage([u8; LINEAGE_OCTETS]);

impl Lineage {
    pub(crate) fn draw(entropy: &dyn Entropy) -> Self {
        let mut octets = [0; LINEAGE_OCTETS];
        entropy.fill(&mut octets);
        Self(octets)
    }

    pub(crate) fn digest(&self) -> LineageDigest {
        let digest = Digest::of(&self.0);
        let (half, _) = digest.octets().split_at(LINEAGE_OCTETS);
        let mut octets = [0; LINEAGE_OCTETS];
        octets.copy_from_slice(half);
        LineageDigest(octets)
    }
}

/// The first half of the SHA-256 of a lineage: 128 bits, as the lineage itself has.
#[derive(Clone, Copy)]
pub(crate) struct LineageDigest([u8; LINEAGE_OCTETS]);

impl LineageDigest {
    pub(crate) const fn from_octets(octets: [u8; LINEAGE_OCTETS]) -> Self {
        Self(octets)
    }

    pub(crate) const fn octets(&self) -> &[u8; LINEAGE_OCTETS] {
        &self.0
    }
}

impl PartialEq for LineageDigest {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for LineageDigest {}

impl std::fmt::Debug for LineageDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LineageDigest([redacted])")
    }
}

/// The random part of one refresh token, drawn once per request.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(crate) struct Fresh([u8; FRESH_OCTETS]);

impl Fresh {
    pub(crate) fn draw(entropy: &dyn Entropy) -> Self {
        let mut octets = [0; FRESH_OCTETS];
        entropy.fill(&mut octets);
        Self(octets)
    }
}

/// A refresh token that was just made.
pub(crate) type MintedRefresh = Minted<SECRET_CHARACTERS>;

/// Where and how long a new refresh token stands.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) end: Timestamp,
    pub(crate) number: u32,
}

/// Writes the refresh token for one place in a grant.
pub(crate) fn mint(position: Position, lineage: &Lineage, fresh: &Fresh) -> MintedRefresh {
    let end = position.end.seconds().to_be_bytes();
    let number = position.number.to_be_bytes();
    let mut octets = Zeroizing::new([0; SECRET_OCTETS]);
    let (hashed, check) = octets.split_at_mut(BODY_OCTETS);
    let mut rest = &mut *hashed;
    for part in [lineage.0.as_slice(), &end, &number, &fresh.0] {
        let (place, after) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = after;
    }
    let digest = Digest::of(hashed);
    let (first, _) = digest.octets().split_at(CHECK_OCTETS);
    check.copy_from_slice(first);
    Minted::new(Zeroizing::new(base64url(octets.as_slice())), digest)
}

/// A presented refresh token whose shape and check are right; nothing else is known of it yet.
pub(crate) struct PresentedRefresh {
    pub(crate) grant: GrantId,
    pub(crate) lineage: Lineage,
    pub(crate) end: Timestamp,
    pub(crate) number: u32,
    pub(crate) digest: Digest,
}

impl PresentedRefresh {
    /// Reads a text of the right shape and check; anything else, a typing error included, is unknown
    /// to the server.
    pub(crate) fn parse(prefix: &str, text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(prefix.as_bytes())?;
        if text.len() != ID_CHARACTERS + SECRET_CHARACTERS {
            return None;
        }
        let (id_text, secret_text) = text.split_at_checked(ID_CHARACTERS)?;
        let id = decode_id(id_text)?;
        let mut octets = Zeroizing::new([0; SECRET_OCTETS]);
        URL_SAFE_NO_PAD.decode_slice(secret_text, octets.as_mut_slice()).ok()?;
        let (hashed, check) = octets.split_at_checked(BODY_OCTETS)?;
        let digest = Digest::of(hashed);
        if !digest.octets().starts_with(check) {
            return None;
        }
        let (lineage, rest) = hashed.split_first_chunk()?;
        let (end, rest) = rest.split_first_chunk()?;
        let number = rest.first_chunk()?;
        Some(Self {
            grant: GrantId::from_octets(id),
            lineage: Lineage(*lineage),
            end: Timestamp::from_seconds(u32::from_be_bytes(*end)),
            number: u32::from_be_bytes(*number),
            digest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SystemEntropy;
    use crate::id::{ID_OCTETS, IdText};

    fn minted() -> (MintedRefresh, Lineage) {
        let lineage = Lineage::draw(&SystemEntropy);
        let position = Position { end: Timestamp::from_seconds(77), number: 3 };
        (mint(position, &lineage, &Fresh::draw(&SystemEntropy)), lineage)
    }

    #[test]
    fn what_was_written_is_read() {
        let (minted, lineage) = minted();
        let text = minted.text("rt_", &IdText::of(&[9; ID_OCTETS]));
        assert_eq!(text.len(), 3 + 102);
        let presented = PresentedRefresh::parse("rt_", text.as_bytes()).unwrap();
        assert_eq!(presented.grant.octets(), &[9; ID_OCTETS]);
        assert_eq!(presented.end, Timestamp::from_seconds(77));
        assert_eq!(presented.number, 3);
        assert_eq!(presented.digest, minted.digest);
        assert_eq!(presented.lineage.digest(), lineage.digest());
    }

    #[test]
    fn every_prefix_and_suffix_is_unknown_and_a_flip_fails_the_check_or_names_another_grant() {
        const ID: std::ops::Range<usize> = 3..3 + ID_CHARACTERS;
        let (minted, _) = minted();
        let text = minted.text("rt_", &IdText::of(&[9; ID_OCTETS]));
        let text = text.as_bytes();
        for cut in 0..text.len() {
            assert!(PresentedRefresh::parse("rt_", &text[..cut]).is_none());
            assert!(PresentedRefresh::parse("rt_", &text[cut + 1..]).is_none());
        }
        for position in 0..text.len() {
            for bit in 0..8 {
                let mut altered = text.to_vec();
                altered[position] ^= 1 << bit;
                let read = PresentedRefresh::parse("rt_", &altered);
                let names_another = read.as_ref().is_some_and(|read| read.grant.octets() != &[9; ID_OCTETS]);
                assert!(read.is_none() || ID.contains(&position) && names_another, "octet {position}, bit {bit}");
            }
        }
    }
}
