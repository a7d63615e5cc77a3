//! WebP: the canvas, and every image in it [RFC 9649 section 2].

use crate::model::application::field::Problem;
use crate::model::application::logo::bound::Bound;

/// Walks the chunks. The first one is a lossy or a lossless image, or the canvas of an extended file.
pub(super) fn check(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
    let mut chunks = bytes.get(12..).unwrap_or_default();
    let mut is_first = true;
    while let Some((kind, rest)) = chunks.split_first_chunk()
        && let Some((length, data)) = rest.split_first_chunk()
    {
        match kind {
            b"VP8 " => lossy(data, bound)?,
            b"VP8L" => lossless(data, bound)?,
            b"VP8X" => canvas(data, bound)?,
            b"ANIM" | b"ANMF" => return Err(Problem::Animated),
            _ if is_first => return Err(Problem::NotAnImage),
            _ => {}
        }
        is_first = false;
        // A chunk of an odd length is padded.
        let length = usize::try_from(u32::from_le_bytes(*length)).ok();
        let next = length.and_then(|length| data.get(length.checked_next_multiple_of(2)?..));
        chunks = next.unwrap_or_default();
    }
    if is_first { Err(Problem::NotAnImage) } else { Ok(()) }
}

/// Reads a key frame: its tag, the start code, and 14 bits for each side [RFC 6386 section 9.1].
fn lossy(data: &[u8], bound: Bound) -> Result<(), Problem> {
    let Some(&[_, _, _, 0x9d, 0x01, 0x2a, width, wide, height, high]) = data.first_chunk() else {
        return Err(Problem::NotAnImage);
    };
    let side = |low, high| u32::from(u16::from_le_bytes([low, high])) & 0x3fff;
    bound.check(side(width, wide), side(height, high))
}

/// Reads the signature, then 14 bits for each side minus one [RFC 9649 section 3.4].
fn lossless(data: &[u8], bound: Bound) -> Result<(), Problem> {
    let Some(&[0x2f, one, two, three, four]) = data.first_chunk() else { return Err(Problem::NotAnImage) };
    let bits = u32::from_le_bytes([one, two, three, four]);
    bound.check((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1)
}

/// Reads the flags, three reserved bytes, then 24 bits for each side minus one [RFC 9649 section 2.7].
fn canvas(data: &[u8], bound: Bound) -> Result<(), Problem> {
    let Some(&[flags, _, _, _, width, wider, widest, height, higher, highest]) = data.first_chunk() else {
        return Err(Problem::NotAnImage);
    };
    if flags & 0x02 != 0 {
        return Err(Problem::Animated);
    }
    let side = |low, middle, high| u32::from_le_bytes([low, middle, high, 0]) + 1;
    bound.check(side(width, wider, widest), side(height, higher, highest))
}
