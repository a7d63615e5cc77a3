//! Secrets that are derived from others: the successor of a refresh token, and a code.
//!
//! A refresh derives the next pair from the old refresh token and the link, random bytes that stay in the record. The
//! server can therefore return the same pair again to a client that presents the old token, although the record
//! contains no token. Someone who reads only the record cannot derive anything: the old token is the secret input. A
//! [`DerivationKey`] is a second secret input. It protects against a reader who has that token too.
//!
//! A code is derived from what the browser sent with the decision and from bytes that were drawn then, so that the same
//! decision gets the same code when it is sent again.

use std::fmt;

use hkdf::Hkdf;
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::base::entropy::Entropy;
use crate::base::field::arrays;
use crate::secret::refresh::{FRESH_BYTES, Fresh};
use crate::secret::{Digest, MintedOpaque};

/// Separates this use of SHA-256 from all others.
const LABEL: [u8; 4] = *b"next";
/// Separates the derivation of codes from all others.
const CODE_LABEL: [u8; 4] = *b"code";
const NONCE_BYTES: usize = 12;
const NAME_BYTES: usize = 4;
const COUNTER_BYTES: usize = 4;
/// The length of an access token's secret in bytes.
const ACCESS_BYTES: usize = 32;

/// The link from a superseded pair to the next one: 12 random bytes, and 4 bytes that identify the derivation key.
/// These are zero if no key was used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link([u8; Self::BYTES]);

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Link([redacted])")
    }
}

arrays! { Link: bytes }

impl Link {
    pub(crate) const BYTES: usize = NONCE_BYTES + NAME_BYTES;

    /// Draws a link whose successor is derived with `key`, if there is one.
    pub(crate) fn random(entropy: &dyn Entropy, key: Option<&DerivationKey>) -> Self {
        let mut bytes = [0; Self::BYTES];
        let (nonce, name) = bytes.split_at_mut(NONCE_BYTES);
        entropy.fill(nonce);
        name.copy_from_slice(&key.map_or([0; NAME_BYTES], DerivationKey::name));
        Self(bytes)
    }

    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Derives the successor of `old`.
    ///
    /// # Errors
    ///
    /// [`MissingKey`] if the key that the link names is not among `keys`.
    pub(crate) fn follow(&self, old: &Fresh, keys: &[DerivationKey]) -> Result<PairSecrets, MissingKey> {
        let (_, name) = self.0.split_at(NONCE_BYTES);
        if name == [0; NAME_BYTES] {
            return Ok(self.plain(old));
        }
        let key = keys.iter().find(|key| key.name() == name).ok_or(MissingKey)?;
        Ok(self.keyed(old, key))
    }

    /// NIST SP 800-56C section 4.1, option 1: `SHA-256(counter ‖ old fresh part ‖ label ‖ link)`, 55 bytes, one
    /// block each.
    fn plain(&self, old: &Fresh) -> PairSecrets {
        let mut message = Zeroizing::new([0; COUNTER_BYTES + FRESH_BYTES + LABEL.len() + Self::BYTES]);
        let (_, mut rest) = message.split_at_mut(COUNTER_BYTES);
        for part in [old.bytes().as_slice(), &LABEL, &self.0] {
            let (place, after) = rest.split_at_mut(part.len());
            place.copy_from_slice(part);
            rest = after;
        }
        let mut block = |number: u32| {
            let (counter, _) = message.split_at_mut(COUNTER_BYTES);
            counter.copy_from_slice(&number.to_be_bytes());
            Zeroizing::new(*Digest::of(message.as_slice()).bytes())
        };
        PairSecrets::new(&block(1), &block(2))
    }

    /// RFC 5869 with the key as the salt, the old fresh part as the secret, label and link as the context.
    fn keyed(&self, old: &Fresh, key: &DerivationKey) -> PairSecrets {
        let mut bytes = Zeroizing::new([0; 2 * ACCESS_BYTES]);
        let context = [LABEL.as_slice(), &self.0].concat();
        let expanded = Hkdf::<Sha256>::new(Some(&key.0), old.bytes()).expand(&context, bytes.as_mut_slice());
        debug_assert!(expanded.is_ok(), "64 bytes are far below the limit of HKDF");
        let (access, fresh) = bytes.split_at(ACCESS_BYTES);
        let half = |bytes: &[u8]| {
            let mut half = Zeroizing::new([0; ACCESS_BYTES]);
            half.copy_from_slice(bytes);
            half
        };
        PairSecrets::new(&half(access), &half(fresh))
    }
}

/// The secrets of one pair of tokens.
#[derive(Clone)]
pub(crate) struct PairSecrets {
    pub(crate) access: MintedOpaque,
    pub(crate) fresh: Fresh,
}

impl PairSecrets {
    /// Draws the secrets of a pair that replaces no other.
    pub(crate) fn random(entropy: &dyn Entropy) -> Self {
        Self { access: MintedOpaque::random(entropy), fresh: Fresh::random(entropy) }
    }

    fn new(access: &[u8; ACCESS_BYTES], fresh: &[u8; ACCESS_BYTES]) -> Self {
        Self { access: MintedOpaque::of_bytes(access), fresh: Fresh::first_of(fresh) }
    }
}

/// Bytes that are drawn at a decision and kept with it. A code is derived from them, so nobody who has read the page
/// before the decision can compute it. Nor can anybody who reads only the record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeSeed([u8; Self::BYTES]);

impl CodeSeed {
    const BYTES: usize = 32;

    pub(crate) fn random(entropy: &dyn Entropy) -> Self {
        let mut bytes = [0; Self::BYTES];
        entropy.fill(&mut bytes);
        Self(bytes)
    }

    pub(crate) const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    const fn bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// NIST SP 800-56C section 4.1, option 1: `SHA-256(counter ‖ ticket ‖ these bytes ‖ label ‖ session)`. All tickets
    /// have one length, and these bytes belong to one of them, so no two inputs are the same.
    pub(crate) fn code(&self, ticket: &[u8], session: &[u8]) -> MintedOpaque {
        let message = Zeroizing::new([&1_u32.to_be_bytes(), ticket, &self.0, &CODE_LABEL, session].concat());
        let bytes = Zeroizing::new(*Digest::of(&message).bytes());
        MintedOpaque::of_bytes(&bytes)
    }
}

arrays! { CodeSeed: bytes }

impl fmt::Debug for CodeSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CodeSeed([redacted])")
    }
}

/// A link names a derivation key that the server does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MissingKey;

/// A key from which the successors of refresh tokens are derived: 32 random bytes, kept outside the database.
///
/// Without a key, someone who reads the database and has the refresh token that was superseded last can derive the next
/// pair. Configure the same keys on every server of one store.
/// [`Config::refresh.derivation_keys`](crate::Config::refresh) explains how to replace a key.
///
/// # Examples
///
/// ```
/// use grantor::Config;
/// use grantor::secret::DerivationKey;
///
/// # let (new, old) = ([1; 32], [2; 32]);
/// let mut config = Config::strict("https://auth.example");
/// // `new` and `old` are 32 bytes each, from a cryptographic generator. The first key derives.
/// config.refresh.derivation_keys = vec![DerivationKey::new(new), DerivationKey::new(old)];
/// ```
#[derive(Clone)]
pub struct DerivationKey([u8; 32]);

impl Drop for DerivationKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for DerivationKey {}

impl DerivationKey {
    /// Creates a key from 32 bytes of a cryptographic random generator. A password or a text is not random enough.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns a keyed digest of a message: HKDF with the key as the salt, the message as the secret, and the label as
    /// the context [RFC 5869]. The label separates it from all other uses of the key.
    pub(crate) fn authenticate(&self, label: &[u8], message: &[u8]) -> [u8; 32] {
        let mut bytes = [0; 32];
        let expanded = Hkdf::<Sha256>::new(Some(&self.0), message).expand(label, &mut bytes);
        debug_assert!(expanded.is_ok(), "32 bytes are far below the limit of HKDF");
        bytes
    }

    /// Returns four bytes of a digest that distinguish the keys of a server; never zero. They do not reveal the key.
    pub(crate) fn name(&self) -> [u8; NAME_BYTES] {
        let digest = Digest::of(&[b"grantor key".as_slice(), &self.0].concat());
        let mut name = [0; NAME_BYTES];
        name.copy_from_slice(digest.bytes().split_at(NAME_BYTES).0);
        if name == [0; NAME_BYTES] { [1; NAME_BYTES] } else { name }
    }
}

impl fmt::Debug for DerivationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DerivationKey([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::entropy::SystemEntropy;

    fn hex(digest: &[u8]) -> String {
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Computed with Python's hashlib over the same bytes.
    #[test]
    fn a_successor_is_the_derivation_of_the_standard() {
        let old = Fresh::first_of(&[7; 32]);
        let link = Link::from_bytes([0; Link::BYTES]);
        let successor = link.follow(&old, &[]).unwrap();
        assert_eq!(hex(successor.fresh.bytes()), "303136c83ab846ec33e24265090084719772c2395555759ed0a201025f96e8");
        let key = DerivationKey::new([9; 32]);
        let mut bytes = [3; Link::BYTES];
        bytes[NONCE_BYTES..].copy_from_slice(&key.name());
        let keyed = Link::from_bytes(bytes).follow(&old, &[key]).unwrap();
        assert_eq!(hex(keyed.fresh.bytes()), "8c9e84756329666ab8ea1b739239329b86012ef6464c132f685428ff5b3a50");
    }

    #[test]
    fn one_token_and_one_link_have_one_successor() {
        let [old, other] = [(); 2].map(|()| Fresh::random(&SystemEntropy));
        let key = DerivationKey::new([9; 32]);
        for key in [None, Some(key)] {
            let keys: Vec<_> = key.iter().cloned().collect();
            let [link, other_link] = [(); 2].map(|()| Link::random(&SystemEntropy, key.as_ref()));
            let of = |fresh: &Fresh, link: &Link| {
                let successor = link.follow(fresh, &keys).unwrap();
                (successor.access.digest, *successor.fresh.bytes())
            };
            assert_eq!(of(&old, &link), of(&old, &link));
            assert_ne!(of(&old, &link), of(&other, &link));
            assert_ne!(of(&old, &link), of(&old, &other_link));
        }
    }

    /// Computed with Python's hashlib.
    #[test]
    fn a_code_is_the_derivation_of_the_standard() {
        let code = CodeSeed::from_bytes([7; 32]).code(b"ah_ticket", b"session");
        assert_eq!(
            code.text("", &crate::base::id::IdText::of(&[0; 16]))[22..],
            *"N-xko3VQVDSuELan1LFCVF3b-bSyAoptXDGt1WXgxk0"
        );
    }

    #[test]
    fn each_of_ticket_session_and_drawn_bytes_decides_the_code() {
        let [seed, other] = [(); 2].map(|()| CodeSeed::random(&SystemEntropy));
        let own = seed.code(b"ticket", b"session").digest;
        assert_eq!(seed.code(b"ticket", b"session").digest, own);
        for another in [
            other.code(b"ticket", b"session"),
            seed.code(b"ticket of another page", b"session"),
            seed.code(b"ticket", b"another session"),
            seed.code(b"", b"session"),
            seed.code(b"ticket", b""),
        ] {
            assert_ne!(another.digest, own);
        }
        assert_eq!(format!("{seed:?}"), "CodeSeed([redacted])");
    }

    #[test]
    fn a_link_is_followed_with_the_key_that_it_names() {
        let old = Fresh::random(&SystemEntropy);
        let keys = [DerivationKey::new([1; 32]), DerivationKey::new([2; 32])];
        let link = Link::random(&SystemEntropy, keys.last());
        let access = |keys: &[DerivationKey]| link.follow(&old, keys).map(|successor| successor.access.digest);
        assert_eq!(access(&keys), access(&keys[1..]));
        assert_eq!(access(&keys[..1]), Err(MissingKey));
        assert_eq!(access(&[]), Err(MissingKey));
        assert_eq!(format!("{:?}", keys[0]), "DerivationKey([redacted])");
    }
}
