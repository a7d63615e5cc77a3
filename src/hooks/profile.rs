//! What your service says about a user: typed claims, checked when they are set [OpenID Connect Core section 5.1].

use std::fmt;

use serde_json::{Map, Value};

use crate::base::clock::Timestamp;
use crate::base::json::is_deeper;
pub use crate::error::failure::ProfileError;
use crate::jose::access_jwt::is_reserved;
use crate::model::redirect_uri::https_address;
use crate::scope::is_standard_claim;
use crate::text::{is_blank, language_tag};

/// The answer of [`Claims::of_user`](crate::hooks::Claims::of_user).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UserClaims {
    /// What is known about the user. Only what the token covers is sent.
    Known(UserProfile),
    /// The user was deleted. The token is refused; nothing is revoked.
    Gone,
    /// It cannot be determined right now; the request is answered with 503.
    Unavailable,
}

/// What is known about a user. What is not set is not sent.
///
/// # Examples
///
/// ```
/// use grantor::Timestamp;
/// use grantor::hooks::{Email, UserProfile, ProfileError};
///
/// fn profile(proven: Timestamp) -> Result<UserProfile, ProfileError> {
///     let email = Email::verified("ada@example.com", proven)?;
///     UserProfile::new().name("Ada Lovelace")?.locale("en-GB")?.email(email)
/// }
/// assert!(profile(Timestamp::from_seconds(1)).is_ok());
/// assert!(UserProfile::new().locale("en_GB").is_err());
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct UserProfile {
    members: Map<String, Value>,
    /// When an address or a number was verified, the latest.
    verified: Option<Timestamp>,
}

/// The names alone: the values are about a person.
impl fmt::Debug for UserProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.members.keys()).finish()
    }
}

macro_rules! setters {
    ($($(#[$about:meta])* $name:ident: $read:expr;)+) => {
        impl UserProfile {
            $(
                $(#[$about])*
                ///
                /// # Errors
                ///
                /// [`ProfileError`] if it is malformed, or set twice.
                pub fn $name(self, value: &str) -> Result<Self, ProfileError> {
                    let claim = stringify!($name);
                    let value = $read(value).map_err(|rule| ProfileError::Value(claim, rule))?;
                    self.with(claim, value.into())
                }
            )+
        }
    };
}

setters! {
    /// Sets the full name.
    name: text;
    /// Sets the family name.
    family_name: text;
    /// Sets the given name.
    given_name: text;
    /// Sets the middle name.
    middle_name: text;
    /// Sets the nickname.
    nickname: text;
    /// Sets the name that the user likes to be called by. It is neither unique nor stable, so clients cannot know the
    /// user by it.
    preferred_username: text;
    /// Sets the https URL of the user's profile page.
    profile: link;
    /// Sets the https URL of the user's picture.
    picture: link;
    /// Sets the https URL of the user's website.
    website: link;
    /// Sets the gender.
    gender: text;
    /// Sets the date of birth: `YYYY-MM-DD`, `0000-MM-DD` without the year, or `YYYY` alone.
    birthdate: date;
    /// Sets the time zone, such as `Europe/Paris`.
    zoneinfo: text;
    /// Sets the language, a tag of RFC 5646 such as `en-GB`.
    locale: locale;
}

impl UserProfile {
    /// Creates a profile without claims.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets when the profile was changed last.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if it is set twice.
    pub fn updated_at(self, time: Timestamp) -> Result<Self, ProfileError> {
        self.with("updated_at", time.seconds().into())
    }

    /// Sets the e-mail address, and whether it was verified.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if it is set twice.
    pub fn email(self, email: Email) -> Result<Self, ProfileError> {
        self.proven(["email", "email_verified"], email.0)
    }

    /// Sets the telephone number, and whether it was verified.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if it is set twice.
    pub fn phone_number(self, number: PhoneNumber) -> Result<Self, ProfileError> {
        self.proven(["phone_number", "phone_number_verified"], number.0)
    }

    /// Sets the postal address. One without members is left out.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if it is set twice.
    pub fn address(self, address: Address) -> Result<Self, ProfileError> {
        self.with("address", Value::Object(address.0))
    }

    /// Sets a claim of your service's own, which a [scope](crate::scope::IdentityScope::new) must cover. One that is
    /// null or empty is left out.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if a standard or the library uses the name, if it has a `#`, or if it is set twice.
    pub fn claim(self, name: &str, value: Value) -> Result<Self, ProfileError> {
        let is_taken = is_reserved(name) || is_standard_claim(name) || ELSEWHERE.contains(&name);
        if is_taken || name.contains('#') { Err(ProfileError::Name(name.to_owned())) } else { self.with(name, value) }
    }

    fn proven(self, [name, flag]: [&'static str; 2], proven: Proven) -> Result<Self, ProfileError> {
        let own = self.with(name, proven.text.into())?.with(flag, proven.at.is_some().into())?;
        Ok(Self { verified: own.verified.max(proven.at), ..own })
    }

    fn with(mut self, name: &str, value: Value) -> Result<Self, ProfileError> {
        let is_absent = match &value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Object(members) => members.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        if is_absent {
            return Ok(self);
        }
        match self.members.insert(name.to_owned(), value) {
            None => Ok(self),
            Some(_) => Err(ProfileError::Twice(name.to_owned())),
        }
    }

    /// Returns the claims with these names.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if they are too large or too deep, or if something was verified later than `now`.
    pub(crate) fn released(mut self, wanted: &[&str], now: Timestamp) -> Result<Map<String, Value>, ProfileError> {
        if self.verified.is_some_and(|at| !at.has_come(now)) {
            return Err(ProfileError::Future);
        }
        self.members.retain(|name, _| wanted.contains(&name.as_str()));
        let json = serde_json::to_vec(&self.members).unwrap_or_default();
        if json.len() > MAX_BYTES {
            return Err(ProfileError::TooLarge(json.len()));
        }
        if is_deeper(&json, DEPTH) { Err(ProfileError::TooDeep) } else { Ok(self.members) }
    }
}

/// The most bytes of an answer without `sub`, as JSON.
const MAX_BYTES: usize = 32_768;
const DEPTH: usize = 8;

/// The claims that say where others are [OpenID Connect Core section 5.6.2].
const ELSEWHERE: [&str; 2] = ["_claim_names", "_claim_sources"];

/// A text, and when the user was proven to control what it names.
#[derive(Clone, PartialEq, Eq)]
struct Proven {
    text: String,
    at: Option<Timestamp>,
}

/// An e-mail address. It says by how it was made whether it was verified, and cannot be changed afterwards.
///
/// ```compile_fail
/// use grantor::hooks::Email;
///
/// // A flag that was copied from elsewhere is no proof.
/// let email = Email::verified("ada@example.com", true);
/// ```
///
/// ```compile_fail
/// use grantor::hooks::Email;
///
/// let email: Email = "ada@example.com".into();
/// ```
///
/// ```compile_fail
/// let email = grantor::hooks::Email::default();
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Email(Proven);

/// A telephone number. It says by how it was made whether it was verified.
#[derive(Clone, PartialEq, Eq)]
pub struct PhoneNumber(Proven);

impl Email {
    /// Creates an address that was not verified.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] unless it has one `@` between other characters, at most 254 bytes, and no blanks.
    pub fn unverified(address: &str) -> Result<Self, ProfileError> {
        Ok(Self(Proven { text: email(address)?, at: None }))
    }

    /// Creates an address with the time when the user was proven to control it, by a link in a message for example.
    ///
    /// # Errors
    ///
    /// As [`unverified`](Self::unverified). A time in the future makes the answer fail.
    pub fn verified(address: &str, at: Timestamp) -> Result<Self, ProfileError> {
        Ok(Self(Proven { text: email(address)?, at: Some(at) }))
    }
}

impl PhoneNumber {
    /// Creates a number that was not verified, in any form.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] if it is blank or has control characters.
    pub fn unverified(number: &str) -> Result<Self, ProfileError> {
        let text = text(number).map_err(|rule| ProfileError::Value("phone_number", rule))?;
        Ok(Self(Proven { text, at: None }))
    }

    /// Creates a number with the time when the user was proven to control it.
    ///
    /// # Errors
    ///
    /// [`ProfileError`] unless it is in the form of E.164: `+`, and 2 to 15 digits of which the first is not 0. A time
    /// in the future makes the answer fail.
    pub fn verified(number: &str, at: Timestamp) -> Result<Self, ProfileError> {
        let digits = number.strip_prefix('+').unwrap_or_default();
        let is_e164 = (2..=15).contains(&digits.len()) && !digits.starts_with('0') && is_number(digits);
        if !is_e164 {
            return Err(ProfileError::Value("phone_number", "needs the form of E.164 to be verified"));
        }
        Ok(Self(Proven { text: number.to_owned(), at: Some(at) }))
    }
}

impl fmt::Debug for Email {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Email").field("verified", &self.0.at).finish_non_exhaustive()
    }
}

impl fmt::Debug for PhoneNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PhoneNumber").field("verified", &self.0.at).finish_non_exhaustive()
    }
}

/// A postal address [OpenID Connect Core section 5.1.1].
#[derive(Clone, Default, PartialEq)]
pub struct Address(Map<String, Value>);

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

macro_rules! members {
    ($($(#[$about:meta])* $name:ident;)+) => {
        impl Address {
            $(
                $(#[$about])*
                ///
                /// # Errors
                ///
                /// [`ProfileError`] if it is blank or has control characters.
                pub fn $name(mut self, value: &str) -> Result<Self, ProfileError> {
                    let value = lines(value).map_err(|rule| ProfileError::Value("address", rule))?;
                    self.0.insert(stringify!($name).to_owned(), value.into());
                    Ok(self)
                }
            )+
        }
    };
}

members! {
    /// Sets the whole address, as it would be written on a letter; it may have several lines.
    formatted;
    /// Sets the street and the number of the house; it may have several lines.
    street_address;
    /// Sets the city.
    locality;
    /// Sets the state, province or region.
    region;
    /// Sets the postal code.
    postal_code;
    /// Sets the country.
    country;
}

impl Address {
    /// Creates an address without members.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

const BLANK: &str = "is blank";
const CONTROL: &str = "has a character that could mislead";

fn text(value: &str) -> Result<String, &'static str> {
    if value.contains('\n') { Err(CONTROL) } else { lines(value) }
}

fn lines(value: &str) -> Result<String, &'static str> {
    let value = value.trim_matches(is_blank);
    if value.is_empty() {
        return Err(BLANK);
    }
    if value.chars().any(|character| character.is_control() && character != '\n') {
        Err(CONTROL)
    } else {
        Ok(value.to_owned())
    }
}

fn link(value: &str) -> Result<String, &'static str> {
    https_address(value, 2048).map(Into::into).ok_or("is not an https URL in ASCII, without a fragment")
}

fn locale(value: &str) -> Result<String, &'static str> {
    language_tag(value).ok_or("is not a language tag such as en-GB (RFC 5646)")
}

fn date(value: &str) -> Result<String, &'static str> {
    let is_date = match value.split('-').collect::<Vec<_>>()[..] {
        [year] => year.len() == 4 && is_number(year) && year != "0000",
        [year, month, day] => {
            let is_formed =
                [year.len(), month.len(), day.len()] == [4, 2, 2] && [year, month, day].map(is_number) == [true; 3];
            is_formed && day_exists(year, month, day)
        }
        _ => false,
    };
    if is_date { Ok(value.to_owned()) } else { Err("is not a date: YYYY-MM-DD, 0000-MM-DD or YYYY") }
}

/// The year 0000 stands for none, and has a 29 February.
fn day_exists(year: &str, month: &str, day: &str) -> bool {
    let year: u32 = year.parse().unwrap_or_default();
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        "01" | "03" | "05" | "07" | "08" | "10" | "12" => 31,
        "04" | "06" | "09" | "11" => 30,
        "02" if is_leap => 29,
        "02" => 28,
        _ => 0,
    };
    day.parse().is_ok_and(|day: u32| (1..=days).contains(&day))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn email(address: &str) -> Result<String, ProfileError> {
    let (local, host) = address.split_once('@').unwrap_or_default();
    let is_plain = !host.contains('@') && !address.contains(|own: char| own.is_control() || own.is_whitespace());
    let fits = !local.is_empty() && !host.is_empty() && address.len() <= 254;
    if is_plain && fits {
        return Ok(address.to_owned());
    }
    Err(ProfileError::Value("email", "needs one @ between other characters, at most 254 bytes, and no blanks"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    type Set = fn(UserProfile, &str) -> Result<UserProfile, ProfileError>;

    fn all(profile: UserProfile) -> Value {
        let names: Vec<String> = profile.members.keys().cloned().collect();
        let wanted: Vec<&str> = names.iter().map(String::as_str).collect();
        profile.released(&wanted, Timestamp::from_seconds(100)).unwrap().into()
    }

    /// CLAIMS-04
    #[test]
    fn each_claim_has_its_form() {
        let rows: [(Set, &[&str], &[&str]); 4] = [
            (UserProfile::name, &["Null", " Ada  L. ", "\u{e9}"], &["", " ", "a\nb", "a\0", "\u{3000}"]),
            (
                UserProfile::picture,
                &["https://a.example/p?x=1"],
                &["http://a.example", "a.example", "javascript:x", ""],
            ),
            (
                UserProfile::birthdate,
                &["1815-12-10", "0000-02-29", "1815", "2000-02-29"],
                &["0000", "1815-02-30", "1900-02-29", "1815-13-01", "1815-1-1", "+181-01-01", "1815-12", "18", ""],
            ),
            (UserProfile::locale, &["de", "en-GB", "zh-cn"], &["de_DE", "", "x"]),
        ];
        for (set, good, bad) in rows {
            for value in good {
                assert!(set(UserProfile::new(), value).is_ok(), "{value:?}");
            }
            for value in bad {
                assert!(matches!(set(UserProfile::new(), value), Err(ProfileError::Value(..))), "{value:?}");
            }
        }
        let error = UserProfile::new().locale("de_DE").unwrap_err();
        assert_eq!(error.to_string(), "the claim locale is not a language tag such as en-GB (RFC 5646)");
        let profile = UserProfile::new().name(" Ada ").and_then(|own| own.updated_at(Timestamp::from_seconds(7)));
        assert_eq!(all(profile.unwrap()), json!({"name": "Ada", "updated_at": 7}));
    }

    /// CLAIMS-03, CLAIMS-04
    #[test]
    fn an_address_says_whether_it_was_verified() {
        let at = Timestamp::from_seconds(50);
        for (email, expected) in [(Email::unverified("a@b"), false), (Email::verified("a@b", at), true)] {
            let profile = UserProfile::new().email(email.unwrap()).unwrap();
            assert_eq!(all(profile), json!({"email": "a@b", "email_verified": expected}));
        }
        for address in ["", "a", "a@", "@b", "a@b@c", "a b@c", "a@b\n", &format!("{}@b", "a".repeat(253))] {
            assert!(Email::unverified(address).is_err() && Email::verified(address, at).is_err(), "{address:?}");
        }
        assert!(PhoneNumber::unverified("0171 1").is_ok() && PhoneNumber::verified("+491711", at).is_ok());
        for number in ["01711", "+0171", "+49 171", "+", "+1", "+1234567890123456"] {
            assert!(PhoneNumber::verified(number, at).is_err(), "{number:?}");
        }
        let late = Timestamp::from_seconds(1000);
        let profile = UserProfile::new().email(Email::verified("a@b", late).unwrap()).unwrap();
        let early = profile.released(&["email"], Timestamp::from_seconds(900));
        assert_eq!(early.unwrap_err(), ProfileError::Future);
    }

    /// CLAIMS-05
    #[test]
    fn what_is_absent_is_left_out() {
        let profile = UserProfile::new().address(Address::new()).unwrap();
        let empty = [Value::Null, json!(""), json!([]), json!({})];
        let profile = empty.into_iter().fold(profile, |own, value| own.claim("team", value).unwrap());
        assert_eq!(all(profile), json!({}));
        let address = Address::new().locality("Paris").and_then(|own| own.formatted("a\nb")).unwrap();
        let profile = UserProfile::new().address(address).unwrap();
        assert_eq!(all(profile), json!({"address": {"formatted": "a\nb", "locality": "Paris"}}));
    }

    /// CLAIMS-06
    #[test]
    fn other_claims_have_names_and_sizes_of_their_own() {
        for name in ["sub", "Sub", "email", "email_verified", "_claim_names", "_claim_sources", "name#de", ""] {
            let refused = UserProfile::new().claim(name, json!(1));
            assert_eq!(refused.unwrap_err(), ProfileError::Name(name.to_owned()));
        }
        let twice = UserProfile::new().claim("team", json!(1)).and_then(|own| own.claim("team", json!(1)));
        assert_eq!(twice.unwrap_err(), ProfileError::Twice("team".to_owned()));
        assert!(UserProfile::new().name("a").and_then(|own| own.name("a")).is_err());
        let released =
            |value| UserProfile::new().claim("t", value).unwrap().released(&["t"], Timestamp::from_seconds(0));
        let of_size = |size: usize| json!("x".repeat(size - r#"{"t":""}"#.len()));
        assert!(released(of_size(MAX_BYTES)).is_ok());
        assert_eq!(released(of_size(MAX_BYTES + 1)), Err(ProfileError::TooLarge(MAX_BYTES + 1)));
        let deep = |levels: usize| (2..levels).fold(json!([1]), |inner, _| json!([inner]));
        assert!(released(deep(8)).is_ok());
        assert_eq!(released(deep(9)), Err(ProfileError::TooDeep));
    }

    /// PRIV-01
    #[test]
    fn debug_shows_no_value() {
        let profile = UserProfile::new().name("hidden").unwrap().email(Email::unverified("hidden@b").unwrap()).unwrap();
        let shown = format!("{profile:?} {:?}", Address::new().locality("hidden").unwrap());
        assert!(!shown.contains("hidden") && shown.contains("email_verified"), "{shown}");
        assert!(!format!("{:?}", Email::unverified("hidden@b").unwrap()).contains("hidden"));
    }
}
