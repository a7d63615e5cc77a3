//! SHA-256 of secrets [FIPS 180-4], and comparison in constant time.

use std::fmt;

use sha2::block_api::compress256;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// The length of a [`Digest`] in bytes.
const DIGEST_BYTES: usize = 32;

/// The SHA-256 of a secret, compared in constant time.
///
/// Secrets that the server generates have 256 random bits. A slow hash would not make them harder to guess.
#[derive(Clone, Copy)]
pub(crate) struct Digest([u8; DIGEST_BYTES]);

impl Digest {
    pub(crate) fn of(secret: &[u8]) -> Self {
        let mut block = [0; BLOCK_BYTES];
        if pad(secret, &mut block).is_none() {
            return Self(Sha256::digest(secret).into());
        }
        let mut state = INITIAL_STATE;
        compress256(&mut state, std::slice::from_ref(&block));
        let mut bytes = [0; DIGEST_BYTES];
        for (four, word) in bytes.as_chunks_mut().0.iter_mut().zip(state) {
            *four = word.to_be_bytes();
        }
        Self(bytes)
    }

    pub(crate) const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        is_equal(&self.0, &other.0)
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest([redacted])")
    }
}

/// The block size of SHA-256 in bytes.
const BLOCK_BYTES: usize = 64;
/// The maximum length of a message that fits into one block, with the end mark and the length.
const ONE_BLOCK_BYTES: usize = BLOCK_BYTES - 1 - 8;

/// FIPS 180-4 section 5.3.3: the fractional parts of the square roots of the first eight primes.
const INITIAL_STATE: [u32; 8] =
    [0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19];

/// Pads a message that fits into one block of zeros [FIPS 180-4 section 5.1.1]; `None` if it is longer.
///
/// A refresh hashes eight such messages. The library's function for messages of any length adds 1 % to its
/// instructions.
fn pad(message: &[u8], block: &mut [u8; BLOCK_BYTES]) -> Option<()> {
    if message.len() > ONE_BLOCK_BYTES {
        return None;
    }
    let (start, rest) = block.split_at_mut_checked(message.len())?;
    start.copy_from_slice(message);
    *rest.first_mut()? = 0x80;
    let bits = u64::try_from(message.len()).ok()? * 8;
    *block.last_chunk_mut()? = bits.to_be_bytes();
    Some(())
}

/// Compares in a time that depends only on the length: it compares every byte before it decides.
pub(crate) fn is_equal<const N: usize>(one: &[u8; N], other: &[u8; N]) -> bool {
    let difference = one.iter().zip(other).fold(0, |difference, (one, other)| difference | (one ^ other));
    difference.ct_eq(&0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_sha_256() {
        // FIPS 180-4: the one-block example.
        let digest = Digest::of(b"abc");
        assert_eq!(digest.bytes()[..4], [0xba, 0x78, 0x16, 0xbf]);
        assert_eq!(digest, Digest::of(b"abc"));
        assert_ne!(digest, Digest::of(b"abd"));
        assert_eq!(format!("{digest:?}"), "Digest([redacted])");
    }

    #[test]
    fn messages_of_one_block_and_of_more_are_hashed_alike() {
        let message: Vec<u8> = (1..=200).collect();
        for length in 0..=message.len() {
            let message = &message[..length];
            assert_eq!(Digest::of(message).bytes()[..], Sha256::digest(message)[..], "{length}");
            assert_eq!(pad(message, &mut [0; BLOCK_BYTES]).is_some(), length <= 55, "{length}");
        }
    }

    #[test]
    fn every_byte_counts_in_a_comparison() {
        let text = [7; 43];
        assert!(is_equal(&text, &text));
        for position in 0..text.len() {
            let mut other = text;
            other[position] ^= 0x80;
            assert!(!is_equal(&text, &other), "{position}");
        }
    }
}
