//! The picture shown to the user beside the application's name.

use std::fmt;

use crate::client::application::field::{Field, FieldError, Problem};
use crate::client::application::form::RegistrationLimits;
use crate::codec::DecodeError;

/// An application's logo: a PNG, JPEG, GIF or WebP image.
///
/// The type is taken from the content, never from a file name or a header. Only the beginning is read:
/// send the octets with [`media_type`](Self::media_type) and `X-Content-Type-Options: nosniff`.
///
/// # Security
///
/// SVG is refused: it is a document that can hold scripts and load what is elsewhere, so whoever
/// opens its address would run the applicant's code in the server's origin.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    format: Format,
    octets: Box<[u8]>,
}

impl Logo {
    /// Checks the octets of an image, at most as many as the limits say.
    ///
    /// # Errors
    ///
    /// [`FieldError`] of [`Field::Logo`]: [`Problem::Missing`] without octets,
    /// [`Problem::TooManyOctets`], or [`Problem::NotAnImage`].
    pub fn new(octets: impl Into<Box<[u8]>>, limits: &RegistrationLimits) -> Result<Self, FieldError> {
        let refused = |problem| FieldError::new(Field::Logo, problem);
        let octets = octets.into();
        if octets.is_empty() {
            return Err(refused(Problem::Missing));
        }
        check_size(octets.len(), limits)?;
        let format = Format::of(&octets).ok_or_else(|| refused(Problem::NotAnImage))?;
        Ok(Self { format, octets })
    }

    /// Reads back what [`octets`](Self::octets) gave, whatever the limits are by now.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the octets are no such image.
    pub fn decode(octets: impl Into<Box<[u8]>>) -> Result<Self, DecodeError> {
        let octets = octets.into();
        let format = Format::of(&octets).ok_or(DecodeError::Malformed)?;
        Ok(Self { format, octets })
    }

    /// Returns the media type: `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
    #[must_use]
    pub const fn media_type(&self) -> &'static str {
        match self.format {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::WebP => "image/webp",
        }
    }

    /// Returns the octets as they were submitted.
    #[must_use]
    pub fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// Checks a logo that may have been made under other limits.
    pub(crate) fn check(&self, limits: &RegistrationLimits) -> Result<(), FieldError> {
        check_size(self.octets.len(), limits)
    }
}

impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logo({}, {} octets)", self.media_type(), self.octets.len())
    }
}

/// Which of an application's two logos is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a form is in force or proposed, and so is its logo")]
pub enum LogoSlot {
    /// The one that belongs to [`Application::form`](crate::client::application::Application::form).
    InForce,
    /// The one that belongs to [`Application::proposed`](crate::client::application::Application::proposed),
    /// if the change brings a new one.
    Proposed,
}

fn check_size(octets: usize, limits: &RegistrationLimits) -> Result<(), FieldError> {
    if octets > limits.logo {
        return Err(FieldError::new(Field::Logo, Problem::TooManyOctets { limit: limits.logo }));
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl Format {
    fn of(octets: &[u8]) -> Option<Self> {
        if is_png(octets) {
            Some(Self::Png)
        } else if is_jpeg(octets) {
            Some(Self::Jpeg)
        } else if is_gif(octets) {
            Some(Self::Gif)
        } else if is_webp(octets) {
            Some(Self::WebP)
        } else {
            None
        }
    }
}

/// The signature, then the header chunk of 13 octets with a size that is not zero [PNG section 5.2, 11.2.1].
fn is_png(octets: &[u8]) -> bool {
    let Some(header) = octets.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR") else { return false };
    let Some(([width, height], _)) = two_chunks::<4>(header) else { return false };
    width != [0; 4] && height != [0; 4]
}

/// Start of image, then a marker segment with a length [ISO 10918-1 section B.1].
fn is_jpeg(octets: &[u8]) -> bool {
    matches!(octets, [0xff, 0xd8, 0xff, 0xc0..=0xcf | 0xdb..=0xfe, high, low, _, ..] if (*high, *low) >= (0, 2))
}

/// The signature, then a screen with a size that is not zero [GIF89a sections 17, 18].
fn is_gif(octets: &[u8]) -> bool {
    let screen = octets.strip_prefix(b"GIF87a").or_else(|| octets.strip_prefix(b"GIF89a"));
    let Some(([width, height], rest)) = screen.and_then(two_chunks::<2>) else { return false };
    width != [0; 2] && height != [0; 2] && rest.len() >= 3
}

/// A file of the stated length that begins with an image chunk [RFC 9649 section 2].
fn is_webp(octets: &[u8]) -> bool {
    let Some((length, form)) = octets.strip_prefix(b"RIFF").and_then(<[u8]>::split_first_chunk) else { return false };
    let Ok(length) = usize::try_from(u32::from_le_bytes(*length)) else { return false };
    let Some(chunk) = form.strip_prefix(b"WEBP") else { return false };
    let is_image = [b"VP8 ", b"VP8L", b"VP8X"].iter().any(|kind| chunk.starts_with(*kind));
    is_image && chunk.len() > 8 && length <= form.len()
}

fn two_chunks<const N: usize>(octets: &[u8]) -> Option<([[u8; N]; 2], &[u8])> {
    let (first, rest) = octets.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    Some(([*first, *second], rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x10JFIF\0";
    const GIF: &[u8] = b"GIF89a\x01\0\x01\0\x80\0\0";
    const WEBP: &[u8] = b"RIFF\x0e\0\0\0WEBPVP8L\x01\0\0\0\x2f\0";

    fn media_type(octets: &[u8]) -> Result<&'static str, Problem> {
        let logo = Logo::new(octets, &RegistrationLimits::default());
        logo.map(|logo| logo.media_type()).map_err(|error| error.problem())
    }

    #[test]
    fn the_type_comes_from_the_content() {
        for (octets, expected) in [
            (PNG, "image/png"),
            (JPEG, "image/jpeg"),
            (GIF, "image/gif"),
            (b"GIF87a\x01\0\x01\0\x80\0\0", "image/gif"),
            (WEBP, "image/webp"),
        ] {
            assert_eq!(media_type(octets), Ok(expected));
            let logo = Logo::decode(octets).unwrap();
            assert_eq!(logo.octets(), octets);
            assert_eq!(format!("{logo:?}"), format!("Logo({expected}, {} octets)", octets.len()));
        }
    }

    /// SVC-2.1-02
    #[test]
    fn what_is_no_image_is_refused() {
        assert_eq!(media_type(b""), Err(Problem::Missing));
        for octets in [
            &b"plain text"[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
            b"<?xml version='1.0'?><svg/>",
            b"\x89PNG\r\n\x1a\n",
            b"\x89PNG\r\n\x1a\n and a text that follows the signature",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\0\0\0\0\x01\x08\x06\0\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0",
            b"\xff\xd8\xff",
            b"\xff\xd8\xffscript",
            b"\xff\xd8\xff\xe0\0\x01x",
            b"GIF89a",
            b"GIF89a\0\0\x01\0\x80\0\0",
            b"GIF88a\x01\0\x01\0\x80\0\0",
            b"RIFF\x0e\0\0\0WAVEfmt \x01\0\0\0\x2f\0",
            b"RIFF\x0f\0\0\0WEBPVP8L\x01\0\0\0\x2f\0",
            b"RIFF\x0e\0\0\0WEBPtext\x01\0\0\0\x2f\0",
            b"BM\x1e\0\0\0",
            b"%PDF-1.7",
        ] {
            assert_eq!(media_type(octets), Err(Problem::NotAnImage), "{octets:?}");
            assert_eq!(Logo::decode(octets), Err(DecodeError::Malformed));
        }
    }

    /// SVC-2.1-02, D-24
    #[test]
    fn a_megabyte_is_1_048_576_octets() {
        let of_size = |octets: usize| {
            let mut image = PNG.to_vec();
            image.resize(octets, 0);
            media_type(&image)
        };
        assert_eq!(of_size(1_048_576), Ok("image/png"));
        assert_eq!(of_size(1_048_577), Err(Problem::TooManyOctets { limit: 1_048_576 }));
    }
}
