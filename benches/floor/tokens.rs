//! Codes and tokens in the texts that the library gives them: `prefix | id | secret`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

pub(super) const CODE: &[u8] = b"ac_";
pub(super) const ACCESS: &[u8] = b"at_";
const REFRESH: &[u8] = b"rt_";

const ID_CHARACTERS: usize = 22;
const SECRET_CHARACTERS: usize = 43;
const REFRESH_CHARACTERS: usize = 80;

thread_local! {
    /// The library's generator; its seed by the system is no part of an operation.
    static GENERATOR: RefCell<ChaCha20Rng> = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        RefCell::new(ChaCha20Rng::seed_from_u64(THREADS.fetch_add(1, Ordering::Relaxed)))
    };
}

fn draw<const N: usize>() -> [u8; N] {
    let mut octets = [0; N];
    GENERATOR.with_borrow_mut(|generator| generator.fill_bytes(&mut octets));
    octets
}

/// A new id: the time in buckets of 64 seconds, then random octets.
pub(super) fn id(now: u32) -> [u8; 16] {
    let mut id = draw::<16>();
    id[..4].copy_from_slice(&(now / 64).to_be_bytes());
    id
}

/// The octets of a code challenge.
pub(super) fn challenge(text: &[u8]) -> Option<[u8; 32]> {
    let mut octets = [0; 32];
    (URL_SAFE_NO_PAD.decode_slice(text, &mut octets) == Ok(32)).then_some(octets)
}

/// Draws a code or access token and writes it; gives the digest of its secret.
pub(super) fn write(out: &mut Vec<u8>, prefix: &[u8], id: &[u8; 16]) -> [u8; 32] {
    out.extend_from_slice(prefix);
    encode(out, id, ID_CHARACTERS);
    let public = out.len();
    encode(out, &draw::<32>(), SECRET_CHARACTERS);
    Sha256::digest(&out[public..]).into()
}

/// Reads the id of a code or access token, and the digest of its secret.
pub(super) fn read(prefix: &[u8], text: &[u8]) -> Option<([u8; 16], [u8; 32])> {
    let text = text.strip_prefix(prefix).filter(|text| text.len() == ID_CHARACTERS + SECRET_CHARACTERS)?;
    let (id, secret) = text.split_at(ID_CHARACTERS);
    Some((read_id(id)?, Sha256::digest(secret).into()))
}

/// What all refresh tokens of one grant have in common.
pub(super) struct Lineage([u8; 16]);

impl Lineage {
    pub(super) fn draw() -> Self {
        Self(draw())
    }

    pub(super) fn digest(&self) -> [u8; 16] {
        *Sha256::digest(self.0).first_chunk().expect("32 octets")
    }
}

/// Draws a refresh token and writes it: `lineage | end | number | fresh | check`; gives its digest.
pub(super) fn write_refresh(out: &mut Vec<u8>, id: &[u8; 16], lineage: &Lineage, end: u32, number: u32) -> [u8; 32] {
    let mut octets = [0; 60];
    octets[..16].copy_from_slice(&lineage.0);
    octets[16..20].copy_from_slice(&end.to_be_bytes());
    octets[20..24].copy_from_slice(&number.to_be_bytes());
    octets[24..55].copy_from_slice(&draw::<31>());
    let digest: [u8; 32] = Sha256::digest(&octets[..55]).into();
    octets[55..].copy_from_slice(&digest[..5]);
    out.extend_from_slice(REFRESH);
    encode(out, id, ID_CHARACTERS);
    encode(out, &octets, REFRESH_CHARACTERS);
    digest
}

pub(super) struct PresentedRefresh {
    pub(super) id: [u8; 16],
    pub(super) lineage: Lineage,
    pub(super) digest: [u8; 32],
}

/// Reads a refresh token whose check is right.
pub(super) fn read_refresh(text: &[u8]) -> Option<PresentedRefresh> {
    let text = text.strip_prefix(REFRESH).filter(|text| text.len() == ID_CHARACTERS + REFRESH_CHARACTERS)?;
    let (id, secret) = text.split_at(ID_CHARACTERS);
    let id = read_id(id)?;
    let mut octets = [0; 60];
    URL_SAFE_NO_PAD.decode_slice(secret, &mut octets).ok()?;
    let digest: [u8; 32] = Sha256::digest(&octets[..55]).into();
    let lineage = Lineage(*octets.first_chunk()?);
    (digest[..5] == octets[55..]).then_some(PresentedRefresh { id, lineage, digest })
}

fn read_id(text: &[u8]) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    (URL_SAFE_NO_PAD.decode_slice(text, &mut id) == Ok(16)).then_some(id)
}

fn encode(out: &mut Vec<u8>, octets: &[u8], characters: usize) {
    let start = out.len();
    out.resize(start + characters, 0);
    URL_SAFE_NO_PAD.encode_slice(octets, &mut out[start..]).expect("room for all characters");
}
