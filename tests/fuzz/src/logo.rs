//! A logo is accepted as it is, or refused. Whatever its headers state, nothing is decoded or allocated for it.

use grantor::application::{Field, Logo, Problem, RegistrationLimits};

pub(super) fn check(input: &[u8]) -> String {
    let limits = RegistrationLimits::default();
    match Logo::new(input, &limits) {
        Ok(logo) => {
            assert_eq!(logo.bytes(), input);
            assert_eq!(Logo::decode(input), Ok(logo.clone()));
            assert!(!says_more(input, limits.logo_pixels), "{}", input.escape_ascii());
            logo.media_type().to_owned()
        }
        Err(error) => {
            assert_eq!(error.field(), Field::Logo);
            match error.problem() {
                Problem::Animated => "animated".to_owned(),
                Problem::Dimensions { limit } => {
                    assert_eq!(*limit, limits.logo_pixels);
                    "dimensions".to_owned()
                }
                Problem::Missing | Problem::NotAnImage => "no image".to_owned(),
                other => panic!("{other}"),
            }
        }
    }
}

/// Whether the header of a PNG or of a GIF, read at its fixed place, states a side that is too long, or none.
fn says_more(image: &[u8], limit: u32) -> bool {
    let side = |start: usize, length: usize, is_big: bool| {
        let bytes = &image[start..start + length];
        let fold = |sum: u32, byte: &u8| sum << 8 | u32::from(*byte);
        if is_big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
    };
    let sides = match image.first() {
        Some(0x89) => [side(16, 4, true), side(20, 4, true)],
        Some(b'G') => [side(6, 2, false), side(8, 2, false)],
        _ => return false,
    };
    sides.iter().any(|side| *side == 0 || *side > limit)
}
