//! JPEG: the first frame header [ISO 10918-1 section B.2.2].

use crate::model::application::field::Problem;
use crate::model::application::logo::bound::Bound;

/// Walks the marker segments to the first start of frame, which alone states the dimensions. A scan before it, the end
/// of the image, or bytes between two segments mean that there are none.
pub(super) fn check(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
    let mut segments = bytes.get(2..).unwrap_or_default();
    loop {
        let (marker, rest) = marker(segments).ok_or(Problem::NotAnImage)?;
        match marker {
            // A marker without a segment.
            0x01 => segments = rest,
            // Start of frame. Three markers in this range have other meanings.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => return frame(rest, bound),
            // Restarts, start and end of the image, and start of scan.
            0x00 | 0xd0..=0xda => return Err(Problem::NotAnImage),
            _ => segments = segment(rest).ok_or(Problem::NotAnImage)?,
        }
    }
}

/// > Any marker may optionally be preceded by any number of fill bytes, which are bytes assigned code X'FF'.
///
/// [ISO 10918-1 section B.1.1.2]
fn marker(segments: &[u8]) -> Option<(u8, &[u8])> {
    let mut rest = segments.strip_prefix(b"\xff")?;
    while let Some(filled) = rest.strip_prefix(b"\xff") {
        rest = filled;
    }
    rest.split_first().map(|(marker, rest)| (*marker, rest))
}

/// Returns what follows a segment, whose length includes itself.
fn segment(rest: &[u8]) -> Option<&[u8]> {
    let length = usize::from(u16::from_be_bytes(*rest.first_chunk()?));
    rest.get(length..).filter(|_| length >= 2)
}

/// Reads length, precision, height and width. If the height is 0, another marker states it after the scan.
fn frame(rest: &[u8], bound: Bound) -> Result<(), Problem> {
    let Some([_, _, _, height @ .., width_high, width_low]) = rest.first_chunk::<7>() else {
        return Err(Problem::NotAnImage);
    };
    let [height_high, height_low] = height;
    let side = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
    bound.check(side(*width_high, *width_low), side(*height_high, *height_low))
}
