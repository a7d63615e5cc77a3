//! The picture shown to the user beside the application's name.

mod formats;

use std::fmt;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field::{self, fields};
use crate::base::id::LogoId;
use crate::model::application::field::{Field, FieldError, Problem};
use crate::model::application::logo::formats::{Bound, check_gif, check_jpeg, check_png, check_webp};
use crate::model::client::form::RegistrationLimits;
use crate::model::record::{Columns, Record, Table, encoded_as, key_and_version};

/// An application's logo: a PNG, JPEG, GIF or WebP image.
///
/// The type and the dimensions are read from the content, never from a file name or a header of the request. The
/// headers of the image are checked in one pass and nothing is decoded: the file may still be damaged, or contain other
/// data as well. Send the bytes with [`media_type`](Self::media_type), `X-Content-Type-Options: nosniff` and
/// `Content-Security-Policy: default-src 'none'; sandbox`.
///
/// # Security
///
/// SVG is refused: it is a document that can contain scripts and load external resources. A user who opens its address
/// would run the applicant's code in the server's origin.
#[derive(Clone, PartialEq, Eq)]
pub struct Logo {
    format: Format,
    bytes: Box<[u8]>,
}

impl Logo {
    /// Checks the bytes of an image: the limits bound their number and the sides of the image.
    ///
    /// # Errors
    ///
    /// [`FieldError`] of [`Field::Logo`]: [`Problem::Missing`] without bytes, [`Problem::TooManyBytes`],
    /// [`Problem::NotAnImage`] (also for unreadable headers), [`Problem::Dimensions`] or [`Problem::Animated`].
    pub fn new(bytes: impl Into<Box<[u8]>>, limits: &RegistrationLimits) -> Result<Self, FieldError> {
        let refused = |problem| FieldError::new(Field::Logo, problem);
        let bytes = bytes.into();
        if bytes.is_empty() {
            return Err(refused(Problem::Missing));
        }
        check_size(bytes.len(), limits)?;
        let format = Format::of(&bytes).ok_or_else(|| refused(Problem::NotAnImage))?;
        let logo = Self { format, bytes };
        logo.check(limits)?;
        Ok(logo)
    }

    /// Reads what [`bytes`](Self::bytes) returned, ignoring the current limits.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not such an image.
    pub fn decode(bytes: impl Into<Box<[u8]>>) -> Result<Self, DecodeError> {
        let bytes = bytes.into();
        let format = Format::of(&bytes).ok_or(DecodeError::Malformed)?;
        Ok(Self { format, bytes })
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

    /// Returns the bytes as they were submitted.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks a logo that may have been created under other limits.
    pub(crate) fn check(&self, limits: &RegistrationLimits) -> Result<(), FieldError> {
        check_size(self.bytes.len(), limits)?;
        let bound = Bound::new(limits.logo_pixels);
        let checked = match self.format {
            Format::Png => check_png(&self.bytes, bound),
            Format::Jpeg => check_jpeg(&self.bytes, bound),
            Format::Gif => check_gif(&self.bytes, bound),
            Format::WebP => check_webp(&self.bytes, bound),
        };
        checked.map_err(|problem| FieldError::new(Field::Logo, problem))
    }
}

impl fmt::Debug for Logo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Logo({}, {} bytes)", self.media_type(), self.bytes.len())
    }
}

/// Which of an application's two logos is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a form is in force or proposed, and so is its logo")]
pub enum LogoSlot {
    /// The one that belongs to [`Application::form`](crate::model::application::Application::form).
    InForce,
    /// The one that belongs to [`Application::proposed`](crate::model::application::Application::proposed), if the
    /// change contains a new one.
    Proposed,
}

fn check_size(bytes: usize, limits: &RegistrationLimits) -> Result<(), FieldError> {
    if bytes > limits.logo {
        return Err(FieldError::new(Field::Logo, Problem::TooManyBytes { limit: limits.logo }));
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
    /// Recognizes a format by the first bytes of its files.
    fn of(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(Self::Png),
            [0xff, 0xd8, 0xff, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            _ => None,
        }
    }
}

/// The logo of an application.
///
/// It is inserted before the [`Application`](crate::Application) that names it, and stays once that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationLogo {
    pub(crate) id: LogoId,
    pub(crate) version: u32,
    /// Set until an application names the logo, and once none does any more.
    pub(crate) end: Option<Timestamp>,
    pub(crate) logo: Logo,
}

impl ApplicationLogo {
    /// Returns the id of the logo, which its application names.
    #[must_use]
    pub const fn id(&self) -> &LogoId {
        &self.id
    }

    /// Returns the time from which a purge may remove the logo; `None` while an application names it.
    #[must_use]
    pub const fn end(&self) -> Option<Timestamp> {
        self.end
    }

    /// Returns the image.
    #[must_use]
    pub const fn logo(&self) -> &Logo {
        &self.logo
    }
}

impl Record for ApplicationLogo {
    const TABLE: Table = Table::ApplicationLogos;

    key_and_version!(LogoId);

    fn purge_after(&self) -> Option<Timestamp> {
        self.end
    }

    fn is_due_sooner(&self) -> bool {
        self.end.is_some()
    }

    fn columns(&self) -> Columns {
        Columns { state: if self.end.is_none() { "named" } else { "unnamed" }, ..Columns::default() }
    }

    encoded_as!(kind::APPLICATION_LOGO);
}

fields! { ApplicationLogo { id, version, end, logo } }

impl field::Codec for Logo {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(self.bytes());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::decode(reader.bytes()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0";
    const JPEG: &[u8] = b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x11\0\0";
    const GIF: &[u8] = b"GIF89a\x01\0\x01\0\0\0\0";
    const WEBP: &[u8] = b"RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0\x2f\0\0\0\0\0";
    const FRAME: &[u8] = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";

    fn media_type(bytes: &[u8]) -> Result<&'static str, Problem> {
        let logo = Logo::new(bytes, &RegistrationLimits::default());
        logo.map(|logo| logo.media_type()).map_err(|error| error.problem().clone())
    }

    #[test]
    fn the_type_comes_from_the_content() {
        for (bytes, expected) in [
            (PNG, "image/png"),
            (JPEG, "image/jpeg"),
            (GIF, "image/gif"),
            (b"GIF87a\x01\0\x01\0\x80\0\0", "image/gif"),
            (WEBP, "image/webp"),
        ] {
            assert_eq!(media_type(bytes), Ok(expected));
            let logo = Logo::decode(bytes).unwrap();
            assert_eq!(logo.bytes(), bytes);
            assert_eq!(format!("{logo:?}"), format!("Logo({expected}, {} bytes)", bytes.len()));
        }
    }

    /// SVC-2.1-02
    #[test]
    fn what_is_no_image_is_refused() {
        assert_eq!(media_type(b""), Err(Problem::Missing));
        for bytes in [
            &b"plain text"[..],
            b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>",
            b"<?xml version='1.0'?><svg/>",
            b"GIF88a\x01\0\x01\0\x80\0\0",
            b"RIFF\x0e\0\0\0WAVEfmt \x01\0\0\0\x2f\0",
            b"BM\x1e\0\0\0",
            b"%PDF-1.7",
        ] {
            assert_eq!(media_type(bytes), Err(Problem::NotAnImage), "{bytes:?}");
            assert_eq!(Logo::decode(bytes), Err(DecodeError::Malformed));
        }
        for bytes in [
            &b"\x89PNG\r\n\x1a\n"[..],
            b"\x89PNG\r\n\x1a\n and a text that follows the signature",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0",
            b"\xff\xd8\xff",
            b"\xff\xd8\xffscript",
            b"\xff\xd8\xff\xe0\0\x01x",
            // No start of frame: the end, a scan, text between two segments.
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xd9",
            b"\xff\xd8\xff\xda\0\x02\xff\xc0\0\x0b\x08\0\x01\0\x01",
            b"\xff\xd8\xff\xe0\0\x02a\xff\xc0\0\x0b\x08\0\x01\0\x01",
            b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0",
            b"\xff\xd8\xff\xff\xff",
            b"GIF89a",
            b"GIF89a\x01\0\x01\0\0\0\0text",
            b"RIFF\x0f\0\0\0WEBP",
            b"RIFF\x0e\0\0\0WEBPtext\x01\0\0\0\x2f\0",
            b"RIFF\x0e\0\0\0WEBPVP8L\x01\0\0\0\x2f\0",
            b"RIFF\x0e\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0abc\x01\0\x01\0",
            b"RIFF\x0e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(media_type(bytes), Err(Problem::NotAnImage), "{bytes:?}");
            // A logo that was stored under other rules stays readable.
            assert!(Logo::decode(bytes).is_ok());
        }
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        [&PNG[..16], &width.to_be_bytes(), &height.to_be_bytes(), &PNG[24..]].concat()
    }

    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        [&JPEG[..7], &height.to_be_bytes(), &width.to_be_bytes(), &JPEG[11..]].concat()
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        [&GIF[..6], &width.to_le_bytes(), &height.to_le_bytes(), &GIF[10..]].concat()
    }

    fn framed(width: u16, height: u16) -> Vec<u8> {
        [GIF, &FRAME[..5], &width.to_le_bytes(), &height.to_le_bytes(), &FRAME[9..]].concat()
    }

    fn lossy(width: u16, height: u16) -> Vec<u8> {
        let head = b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x10\0\0\x9d\x01\x2a";
        [&head[..], &width.to_le_bytes(), &height.to_le_bytes()].concat()
    }

    fn lossless(width: u32, height: u32) -> Vec<u8> {
        let bits = (width - 1) | (height - 1) << 14;
        [&WEBP[..21], &bits.to_le_bytes(), &[0]].concat()
    }

    fn extended(flags: u8, width: u32, height: u32) -> Vec<u8> {
        let side = |side: u32| (side - 1).to_le_bytes()[..3].to_vec();
        [b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0", &[flags, 0, 0, 0][..], &side(width), &side(height)].concat()
    }

    #[test]
    fn sides_have_1_to_2048_pixels() {
        let refused = Err(Problem::Dimensions { limit: 2048 });
        for (width, height, accepted) in
            [(1, 1, true), (2048, 2048, true), (2049, 1, false), (1, 2049, false), (0, 1, false), (1, 0, false)]
        {
            let (wide, high) = (u32::from(width), u32::from(height));
            let mut images = vec![
                png(wide, high),
                jpeg(width, height),
                gif(width, height),
                framed(width, height),
                lossy(width, height),
            ];
            if width > 0 && height > 0 {
                images.extend([lossless(wide, high), extended(0, wide, high)]);
            }
            for image in images {
                let checked = media_type(&image).map(drop);
                assert_eq!(checked, if accepted { Ok(()) } else { refused.clone() }, "{width} {height} {image:?}");
            }
        }
        for image in [png(100_000, 100_000), extended(0, 100_000, 100_000), png(u32::MAX, 1), gif(65_535, 65_535)] {
            assert!(image.len() <= 60);
            assert_eq!(media_type(&image).map(drop), refused);
        }
        // An image inside a canvas, and a frame that begins far to the right.
        assert_eq!(media_type(&[extended(0, 1, 1), lossless(2049, 1)[12..].to_vec()].concat()).map(drop), refused);
        let mut far = framed(1, 1);
        far[GIF.len() + 2] = 8;
        assert_eq!(media_type(&far).map(drop), refused);
    }

    #[test]
    fn metadata_before_a_frame_is_passed_over() {
        let comment = [b"\xff\xfe\xff\xff", &[0xc0; 65_533][..]].concat();
        let image = [&JPEG[..2], &comment.repeat(5), b"\xff\xff\xff\x01", &JPEG[2..]].concat();
        assert!(image.len() > 300_000);
        assert_eq!(media_type(&image), Ok("image/jpeg"));
    }

    #[test]
    fn animations_are_refused() {
        let text = b"\0\0\0\x04tEXtabcd\0\0\0\0";
        let control = b"\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0";
        let colours = [&GIF[..10], &[0x80, 0, 0], &[0; 6]].concat();
        let comment = b"\x21\xfe\x02hi\0";
        for (image, expected) in [
            ([PNG, &[0; 4], text, control].concat(), Err(Problem::Animated)),
            // No animation after the image.
            ([PNG, &[0; 4], text, b"\0\0\0\0IDAT\0\0\0\0", control].concat(), Ok("image/png")),
            ([GIF, FRAME, b";"].concat(), Ok("image/gif")),
            ([GIF, FRAME, FRAME].concat(), Err(Problem::Animated)),
            ([&colours, &comment[..], FRAME, comment, FRAME, b";"].concat(), Err(Problem::Animated)),
            ([GIF, FRAME, b";", FRAME].concat(), Ok("image/gif")),
            (extended(2, 1, 1), Err(Problem::Animated)),
            ([&extended(0, 1, 1), &b"ANIM\x06\0\0\0\0\0\0\0\0\0"[..]].concat(), Err(Problem::Animated)),
            ([&extended(0, 1, 1), &WEBP[12..]].concat(), Ok("image/webp")),
        ] {
            assert_eq!(media_type(&image), expected, "{image:?}");
        }
    }

    #[test]
    fn the_bound_is_a_setting() {
        let limits = RegistrationLimits { logo_pixels: 16, ..RegistrationLimits::default() };
        assert!(Logo::new(png(16, 16), &limits).is_ok());
        let refused = Logo::new(png(17, 16), &limits).unwrap_err();
        assert_eq!(refused.to_string(), "logo: has a side that is not 1 to 16 pixels long");
        // A logo that was created under other limits is checked again when it is submitted.
        assert!(Logo::decode(png(17, 16)).unwrap().check(&limits).is_err());
    }

    /// SVC-2.1-02, D-24
    #[test]
    fn a_megabyte_is_1_048_576_bytes() {
        let of_size = |bytes: usize| {
            let mut image = PNG.to_vec();
            image.resize(bytes, 0);
            media_type(&image)
        };
        assert_eq!(of_size(1_048_576), Ok("image/png"));
        assert_eq!(of_size(1_048_577), Err(Problem::TooManyBytes { limit: 1_048_576 }));
    }

    fn logo(end: Option<Timestamp>) -> ApplicationLogo {
        let logo = Logo::decode(*b"GIF89a\x01\0\x01\0\0\0\0").unwrap();
        ApplicationLogo { id: LogoId::from_bytes([7; 16]), version: 3, end, logo }
    }

    #[test]
    fn comes_back_equal() {
        for logo in [logo(None), logo(Some(Timestamp::from_seconds(7)))] {
            let bytes = logo.encode();
            assert_eq!(ApplicationLogo::decode(&bytes), Ok(logo));
            for cut in 0..bytes.len() {
                assert!(ApplicationLogo::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = logo(Some(Timestamp::from_seconds(7)));
        let file = compared_layout("application_logo.1", &record.encode());
        assert_eq!(ApplicationLogo::decode(&file), Ok(record));
    }
}
