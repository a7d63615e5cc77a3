//! The formats of logos: each is checked in one pass over its headers, and nothing is decoded.

use crate::model::application::field::Problem;

/// The most pixels of a side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound(u32);

impl Bound {
    pub(super) const fn new(limit: u32) -> Self {
        Self(limit)
    }

    /// Checks the sides that a header states.
    pub(super) fn check(self, width: u32, height: u32) -> Result<(), Problem> {
        let sides = 1..=self.0;
        if sides.contains(&width) && sides.contains(&height) {
            return Ok(());
        }
        Err(Problem::Dimensions { limit: self.0 })
    }
}

/// > The IHDR chunk shall be the first chunk in the PNG datastream. […] The acTL chunk must appear before the first
/// > IDAT chunk.
///
/// [PNG sections 11.2.1, 11.3.6.1]
pub(super) fn check_png(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
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

/// Walks the marker segments to the first start of frame, which alone states the dimensions. A scan before it, the end
/// of the image, or bytes between two segments mean that there are none.
pub(super) fn check_jpeg(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
    let mut segments = bytes.get(2..).unwrap_or_default();
    loop {
        let (marker, rest) = marker(segments).ok_or(Problem::NotAnImage)?;
        match marker {
            // A marker without a segment.
            0x01 => segments = rest,
            // Start of frame. Three markers in this range have other meanings.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => return start_of_frame(rest, bound),
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
fn start_of_frame(rest: &[u8], bound: Bound) -> Result<(), Problem> {
    let Some([_, _, _, height @ .., width_high, width_low]) = rest.first_chunk::<7>() else {
        return Err(Problem::NotAnImage);
    };
    let [height_high, height_low] = height;
    let side = |high: u8, low: u8| u32::from(u16::from_be_bytes([high, low]));
    bound.check(side(*width_high, *width_low), side(*height_high, *height_low))
}

/// Walks the blocks to the trailer, or to where the file ends.
pub(super) fn check_gif(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
    let screen = bytes.get(6..).unwrap_or_default();
    let Some((&[width, wide, height, high, flags, _, _], rest)) = screen.split_first_chunk() else {
        return Err(Problem::NotAnImage);
    };
    bound.check(side(width, wide), side(height, high))?;
    let mut blocks = after_colours(flags, rest);
    let mut frames = 0;
    while let Some((introducer, rest)) = blocks.split_first() {
        match introducer {
            EXTENSION => blocks = after_sub_blocks(rest.get(1..).unwrap_or_default()),
            IMAGE if frames > 0 => return Err(Problem::Animated),
            IMAGE => {
                frames += 1;
                let Some((descriptor, rest)) = rest.split_first_chunk() else { break };
                blocks = after_sub_blocks(frame(descriptor, rest, bound)?);
            }
            TRAILER => break,
            _ => return Err(Problem::NotAnImage),
        }
    }
    Ok(())
}

/// Checks a frame and its offset, since some decoders enlarge the screen to fit it. Returns the frame's data.
fn frame<'a>(descriptor: &[u8; 9], rest: &'a [u8], bound: Bound) -> Result<&'a [u8], Problem> {
    let &[left, more_left, top, more_top, width, wide, height, high, flags] = descriptor;
    bound.check(side(width, wide), side(height, high))?;
    bound.check(side(left, more_left) + side(width, wide), side(top, more_top) + side(height, high))?;
    // The code size precedes the data.
    Ok(after_colours(flags, rest).get(1..).unwrap_or_default())
}

/// Returns what follows a color table of 3 bytes for each of 2 to 256 colors, if there is one.
fn after_colours(flags: u8, rest: &[u8]) -> &[u8] {
    let length = if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 0x07) + 1) };
    rest.get(length..).unwrap_or_default()
}

/// Returns what follows sub-blocks. Each is prefixed by its length, and the last one is empty.
fn after_sub_blocks(mut rest: &[u8]) -> &[u8] {
    while let Some((length, block)) = rest.split_first() {
        rest = block.get(usize::from(*length)..).unwrap_or_default();
        if *length == 0 {
            break;
        }
    }
    rest
}

fn side(low: u8, high: u8) -> u32 {
    u32::from(u16::from_le_bytes([low, high]))
}

const EXTENSION: &u8 = &0x21;
const IMAGE: &u8 = &0x2c;
const TRAILER: &u8 = &0x3b;

/// Walks the chunks. The first one is a lossy or a lossless image, or the canvas of an extended file.
pub(super) fn check_webp(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
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
