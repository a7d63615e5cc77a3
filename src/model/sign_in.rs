//! When and how a user signed in.

use crate::base::ValueError;
use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::Codec;

/// The most values of `amr`.
const METHODS: usize = 8;

/// When and how a user signed in, as your service says.
///
/// The library judges the time alone. The other two are passed on to the client, and are never made up from what it
/// asks for.
///
/// ```
/// use grantor::Timestamp;
/// use grantor::interaction::SignIn;
///
/// let sign_in = SignIn::at(Timestamp::from_seconds(1_900_000_000)).with_amr(["pwd", "otp"])?;
/// assert!(sign_in.with_acr("").is_err());
/// # Ok::<(), grantor::error::ValueError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    at: Timestamp,
    acr: Option<Box<str>>,
    amr: Vec<Box<str>>,
}

impl SignIn {
    /// Creates a sign-in by its time: when the user last proved to be present, by a password for example. A cookie that
    /// is still valid proves nothing.
    #[must_use]
    pub const fn at(time: Timestamp) -> Self {
        Self { at: time, acr: None, amr: Vec::new() }
    }

    /// Sets the authentication context class reference, `acr` [OpenID Connect Core section 2].
    ///
    /// # Errors
    ///
    /// [`ValueError`] unless it has 1 to 255 bytes, and no control characters.
    pub fn with_acr(self, acr: &str) -> Result<Self, ValueError> {
        let acr = text(acr, 255).ok_or(ValueError("acr must have 1 to 255 bytes, and no control characters"))?;
        Ok(Self { acr: Some(acr), ..self })
    }

    /// Sets the authentication methods, `amr` [OpenID Connect Core section 2, RFC 8176].
    ///
    /// # Errors
    ///
    /// [`ValueError`] if there are more than 8, or unless each has 1 to 32 bytes, and no control characters.
    pub fn with_amr<'m>(self, amr: impl IntoIterator<Item = &'m str>) -> Result<Self, ValueError> {
        let amr: Option<Vec<_>> = amr.into_iter().map(|method| text(method, 32)).collect();
        let amr = amr.filter(|amr| amr.len() <= METHODS);
        let error = ValueError("amr must have at most 8 values of 1 to 32 bytes, and no control characters");
        Ok(Self { amr: amr.ok_or(error)?, ..self })
    }

    /// Returns the time.
    #[must_use]
    pub const fn time(&self) -> Timestamp {
        self.at
    }

    /// Returns `acr`.
    #[must_use]
    pub fn acr(&self) -> Option<&str> {
        self.acr.as_deref()
    }

    /// Returns the values of `amr`.
    pub fn amr(&self) -> impl ExactSizeIterator<Item = &str> {
        self.amr.iter().map(|method| &**method)
    }
}

/// Returns a text of 1 to `max` bytes without control characters.
fn text(text: &str, max: usize) -> Option<Box<str>> {
    let fits = !text.is_empty() && text.len() <= max && !text.contains(char::is_control);
    fits.then(|| text.into())
}

impl Codec for SignIn {
    fn write(&self, writer: &mut Writer) {
        self.at.write(writer);
        self.acr.write(writer);
        self.amr.write(writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut sign_in = Self::at(Timestamp::read(reader)?);
        if let Some(acr) = Option::<Box<str>>::read(reader)? {
            sign_in = sign_in.with_acr(&acr).map_err(|_| DecodeError::Malformed)?;
        }
        let amr = Vec::<Box<str>>::read(reader)?;
        sign_in.with_amr(amr.iter().map(|method| &**method)).map_err(|_| DecodeError::Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::codec::kind;
    use crate::base::field;

    fn plain() -> SignIn {
        SignIn::at(Timestamp::from_seconds(7))
    }

    /// SIGNIN-01
    #[test]
    fn acr_and_amr_are_bounded() {
        let (most, long) = ("x".repeat(255), "x".repeat(32));
        let full = plain().with_acr(&most).unwrap().with_amr([&*long; 8]).unwrap();
        assert_eq!((full.acr(), full.amr().count()), (Some(&*most), 8));
        for acr in ["", &"x".repeat(256), "a\nb"] {
            assert!(plain().with_acr(acr).is_err(), "{acr:?}");
        }
        for amr in [&["x"; 9][..], &[""], &[&"x".repeat(33)], &["a\0"]] {
            assert!(plain().with_amr(amr.iter().copied()).is_err(), "{amr:?}");
        }
    }

    #[test]
    fn comes_back_equal_and_within_its_bounds() {
        for sign_in in [plain(), plain().with_acr("loa1").unwrap().with_amr(["pwd", "otp"]).unwrap()] {
            assert_eq!(field::decode(kind::GRANT, &field::encode(kind::GRANT, &sign_in)), Ok(sign_in));
        }
        let hostile = SignIn { acr: Some("".into()), ..plain() };
        let read: Result<SignIn, _> = field::decode(kind::GRANT, &field::encode(kind::GRANT, &hostile));
        assert_eq!(read, Err(DecodeError::Malformed));
    }
}
