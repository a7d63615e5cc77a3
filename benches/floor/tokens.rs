//! Codes and tokens in the library's format: `prefix | id | secret`.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};

pub(super) const CODE: &[u8] = b"ac_";
pub(super) const ACCESS: &[u8] = b"at_";
const REFRESH: &[u8] = b"rt_";

const ID_CHARACTERS: usize = 22;
const SECRET_CHARACTERS: usize = 43;
const REFRESH_CHARACTERS: usize = 88;
/// The length of the hashed part of a refresh token: all but the tag.
const BODY: usize = 55;
const TAG: usize = 11;

thread_local! {
    /// The library's generator. Seeding it from the system is not part of an operation.
    static GENERATOR: RefCell<ChaCha20Rng> = {
        static THREADS: AtomicU64 = AtomicU64::new(0);
        RefCell::new(ChaCha20Rng::seed_from_u64(THREADS.fetch_add(1, Ordering::Relaxed)))
    };
}

fn draw<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    GENERATOR.with_borrow_mut(|generator| generator.fill_bytes(&mut bytes));
    bytes
}

/// A new id: the time in buckets of 64 seconds, then random bytes.
pub(super) fn id(now: u32) -> [u8; 16] {
    let mut id = draw::<16>();
    id[..4].copy_from_slice(&(now / 64).to_be_bytes());
    id
}

/// The bytes of a code challenge.
pub(super) fn challenge(text: &[u8]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    (URL_SAFE_NO_PAD.decode_slice(text, &mut bytes) == Ok(32)).then_some(bytes)
}

/// Draws the secret of a code or access token.
pub(super) fn secret() -> [u8; 32] {
    draw()
}

/// Writes a code or access token, and returns the digest of its secret.
pub(super) fn write(out: &mut Vec<u8>, prefix: &[u8], id: &[u8; 16], secret: &[u8; 32]) -> [u8; 32] {
    out.extend_from_slice(prefix);
    encode(out, id, ID_CHARACTERS);
    let public = out.len();
    encode(out, secret, SECRET_CHARACTERS);
    Sha256::digest(&out[public..]).into()
}

/// Reads the id of a code or access token, and the digest of its secret.
pub(super) fn read(prefix: &[u8], text: &[u8]) -> Option<([u8; 16], [u8; 32])> {
    let text = text.strip_prefix(prefix).filter(|text| text.len() == ID_CHARACTERS + SECRET_CHARACTERS)?;
    let (id, secret) = text.split_at(ID_CHARACTERS);
    Some((read_id(id)?, Sha256::digest(secret).into()))
}

/// What all refresh tokens of one grant have in common.
pub(super) struct FamilyId([u8; 16]);

impl FamilyId {
    pub(super) fn draw() -> Self {
        Self(draw())
    }

    pub(super) fn digest(&self) -> [u8; 16] {
        *Sha256::digest(self.0).first_chunk().expect("32 bytes")
    }
}

/// The key of the tags of one grant.
pub(super) struct TagKey([u8; 16]);

impl TagKey {
    pub(super) fn draw() -> Self {
        Self(draw())
    }

    /// The tag of the refresh token with that digest.
    pub(super) fn tag(&self, digest: &[u8; 32]) -> [u8; TAG] {
        let mut message = [0; 48];
        message[..16].copy_from_slice(&self.0);
        message[16..].copy_from_slice(digest);
        *Sha256::digest(message).first_chunk().expect("32 bytes")
    }
}

/// The part of a refresh token from which the next pair is derived.
pub(super) type Fresh = [u8; 31];

pub(super) fn fresh() -> Fresh {
    draw()
}

/// The link from one pair to the next: twelve random bytes, and four that name no key.
pub(super) type Link = [u8; 16];

pub(super) fn link() -> Link {
    let mut link = [0; 16];
    link[..12].copy_from_slice(&draw::<12>());
    link
}

/// The secrets of the next pair: of the access token, and of the refresh token.
pub(super) fn next(old: &Fresh, link: &Link) -> ([u8; 32], Fresh) {
    let block = |counter: u32| -> [u8; 32] {
        let mut message = [0; 55];
        message[..4].copy_from_slice(&counter.to_be_bytes());
        message[4..35].copy_from_slice(old);
        message[35..39].copy_from_slice(b"next");
        message[39..].copy_from_slice(link);
        Sha256::digest(message).into()
    };
    (block(1), *block(2).first_chunk().expect("32 bytes"))
}

/// The grant that a refresh token names, and its place in the grant.
pub(super) struct Place<'a> {
    pub(super) id: &'a [u8; 16],
    pub(super) family_id: &'a FamilyId,
    pub(super) key: &'a TagKey,
    pub(super) end: u32,
    pub(super) number: u32,
}

/// Writes a refresh token, `family id | end | number | fresh | tag`, and returns its digest.
pub(super) fn write_refresh(out: &mut Vec<u8>, place: &Place<'_>, fresh: &Fresh) -> [u8; 32] {
    let mut bytes = [0; BODY + TAG];
    bytes[..16].copy_from_slice(&place.family_id.0);
    bytes[16..20].copy_from_slice(&place.end.to_be_bytes());
    bytes[20..24].copy_from_slice(&place.number.to_be_bytes());
    bytes[24..BODY].copy_from_slice(fresh);
    let digest: [u8; 32] = Sha256::digest(&bytes[..BODY]).into();
    bytes[BODY..].copy_from_slice(&place.key.tag(&digest));
    out.extend_from_slice(REFRESH);
    encode(out, place.id, ID_CHARACTERS);
    encode(out, &bytes, REFRESH_CHARACTERS);
    digest
}

pub(super) struct PresentedRefresh {
    pub(super) id: [u8; 16],
    pub(super) family_id: FamilyId,
    pub(super) fresh: Fresh,
    pub(super) digest: [u8; 32],
    pub(super) tag: [u8; TAG],
}

/// Reads a refresh token, without comparing its tag.
pub(super) fn read_refresh(text: &[u8]) -> Option<PresentedRefresh> {
    let text = text.strip_prefix(REFRESH).filter(|text| text.len() == ID_CHARACTERS + REFRESH_CHARACTERS)?;
    let (id, secret) = text.split_at(ID_CHARACTERS);
    let id = read_id(id)?;
    let mut bytes = [0; BODY + TAG];
    URL_SAFE_NO_PAD.decode_slice(secret, &mut bytes).ok()?;
    let (body, tag) = bytes.split_at(BODY);
    let family_id = FamilyId(*body.first_chunk()?);
    Some(PresentedRefresh {
        id,
        family_id,
        fresh: *body.last_chunk()?,
        digest: Sha256::digest(body).into(),
        tag: *tag.first_chunk()?,
    })
}

fn read_id(text: &[u8]) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    (URL_SAFE_NO_PAD.decode_slice(text, &mut id) == Ok(16)).then_some(id)
}

fn encode(out: &mut Vec<u8>, bytes: &[u8], characters: usize) {
    let start = out.len();
    out.resize(start + characters, 0);
    URL_SAFE_NO_PAD.encode_slice(bytes, &mut out[start..]).expect("room for all characters");
}
