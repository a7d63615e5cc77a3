//! GIF: the screen and the frame (GIF89a).

use crate::model::application::field::Problem;
use crate::model::application::logo::bound::Bound;

/// Walks the blocks to the trailer, or to where the file ends.
pub(super) fn check(bytes: &[u8], bound: Bound) -> Result<(), Problem> {
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
