//! The text of tickets, codes and access tokens: `prefix | id | 43 characters of random base64url`.

use zeroize::Zeroizing;

use crate::base::entropy::Entropy;
use crate::base::id::{ID_BYTES, ID_CHARACTERS, decode_id, write_base64url};
use crate::secret::{Digest, Minted};

/// The number of random bytes in a ticket, code or access token.
const SECRET_BYTES: usize = 32;
/// The number of characters that encode these bytes.
const SECRET_CHARACTERS: usize = 43;

/// A newly generated ticket, code or access token.
pub(crate) type MintedOpaque = Minted<SECRET_CHARACTERS>;

/// Generates the secret of a ticket, code or access token.
pub(crate) fn mint(entropy: &dyn Entropy) -> MintedOpaque {
    let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
    entropy.fill(bytes.as_mut_slice());
    of_bytes(&bytes)
}

/// Encodes these bytes as a secret.
#[inline]
pub(super) fn of_bytes(bytes: &[u8; SECRET_BYTES]) -> MintedOpaque {
    let mut secret = Zeroizing::new([0; SECRET_CHARACTERS]);
    write_base64url(bytes, secret.as_mut_slice());
    let digest = Digest::of(secret.as_slice());
    Minted::new(secret, digest)
}

/// The parts of a presented text: the id, and the digest that proves it.
pub(crate) struct Presented {
    pub(crate) id: [u8; ID_BYTES],
    pub(crate) digest: Digest,
}

impl Presented {
    /// Parses a text; `None` if it does not have the right form.
    pub(crate) fn parse(prefix: &str, text: &[u8]) -> Option<Self> {
        let text = text.strip_prefix(prefix.as_bytes())?;
        if text.len() != ID_CHARACTERS + SECRET_CHARACTERS {
            return None;
        }
        let (id_text, secret) = text.split_at_checked(ID_CHARACTERS)?;
        Some(Self { id: decode_id(id_text)?, digest: Digest::of(secret) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::entropy::SystemEntropy;
    use crate::base::id::IdText;

    #[test]
    fn every_prefix_suffix_and_flip_of_a_text_is_another_text() {
        let id = [7; ID_BYTES];
        let minted = mint(&SystemEntropy);
        let text = minted.text("at_", &IdText::of(&id));
        let text = text.as_bytes();
        assert_eq!(text.len(), 3 + 65);
        let proves = |text: &[u8]| {
            Presented::parse("at_", text)
                .is_some_and(|presented| presented.id == id && presented.digest == minted.digest)
        };
        assert!(proves(text));
        for cut in 0..text.len() {
            assert!(!proves(&text[..cut]), "cut to {cut}");
            assert!(!proves(&text[cut + 1..]), "without the first {cut}");
        }
        for position in 0..text.len() {
            for bit in 0..8 {
                let mut altered = text.to_vec();
                altered[position] ^= 1 << bit;
                assert!(!proves(&altered), "byte {position}, bit {bit}");
            }
        }
        assert!(!proves(&[text, b"A"].concat()));
    }
}
