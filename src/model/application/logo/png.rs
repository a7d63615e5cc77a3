//! PNG, third edition: the header chunk, and whether an animation begins before the image.

use crate::model::application::field::Problem;
use crate::model::application::logo::bound::Bound;

/// > The IHDR chunk shall be the first chunk in the PNG datastream. […] The acTL chunk must appear before the first
/// > IDAT chunk.
///
/// [PNG sections 11.2.1, 11.3.6.1]
pub(super) fn check(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
    let header = bytes.get(8..).and_then(|rest| rest.strip_prefix(b"\0\0\0\x0dIHDR")).ok_or(Problem::NotAnImage)?;
    let (width, rest) = header.split_first_chunk().ok_or(Problem::NotAnImage)?;
    let (height, rest) = rest.split_first_chunk().ok_or(Problem::NotAnImage)?;
    bound.check(u32::from_be_bytes(*width), u32::from_be_bytes(*height))?;
    // The other five bytes of the header, and its checksum.
    let mut chunks = rest.get(9..).unwrap_or_default();
    while let Some((length, rest)) = chunks.split_first_chunk()
        && let Some((kind, rest)) = rest.split_first_chunk()
    {
        match kind {
            b"acTL" => return Err(Problem::Animated),
            b"IDAT" | b"IEND" => break,
            _ => {}
        }
        let length = usize::try_from(u32::from_be_bytes(*length)).ok();
        chunks = length.and_then(|length| rest.get(length.checked_add(4)?..)).unwrap_or_default();
    }
    Ok(())
}
