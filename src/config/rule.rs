//! A rule for one setting: what is accepted, where, and why; and the error of a setting that breaks one.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::base::debug_as_text;
use crate::config::{Config, Profile};

/// What rules need to know besides the values of the settings. Some settings need one of these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    pub(crate) has_throttle: bool,
    /// Whether there is a derivation key. An API in another process needs none of its own.
    pub(crate) has_derivation_key: bool,
    pub(crate) has_policy: bool,
    pub(crate) has_registry: bool,
    pub(crate) has_fetcher: bool,
    /// Whether the fetcher connects to loopback addresses.
    pub(crate) reaches_loopback: bool,
    /// Whether clients may authenticate with a key, which a metadata document can have.
    pub(crate) offers_keys: bool,
    /// Whether signatures can be verified.
    pub(crate) has_jose: bool,
    /// Whether a hook says who users are. An API in another process needs none of its own.
    pub(crate) has_claims: bool,
}

/// A rule for one setting.
pub(super) struct Rule {
    /// The field of [`Config`] that the error names.
    pub(super) field: &'static str,
    pub(super) accepted: Accepted,
    /// Where it holds; `None` for every profile.
    pub(super) profiles: Option<&'static [Profile]>,
    /// The standard that demands it, if the text does not name one.
    pub(super) source: &'static str,
}

/// What is accepted.
pub(super) enum Accepted {
    /// A duration of so many seconds.
    Seconds(RangeInclusive<u64>, fn(&Config) -> Duration),
    /// A number in this range.
    Number(RangeInclusive<u64>, fn(&Config) -> u64),
    /// What the text says. The function returns the value if it is refused.
    Value(&'static str, fn(&Config, &Parts) -> Option<String>),
    /// The same, but the function makes the error, which names other settings too.
    Related(&'static str, fn(&Config) -> Result<(), ConfigError>),
}

const fn rule(field: &'static str, accepted: Accepted) -> Rule {
    Rule { field, accepted, profiles: None, source: "" }
}

pub(super) const fn seconds(field: &'static str, range: RangeInclusive<u64>, of: fn(&Config) -> Duration) -> Rule {
    rule(field, Accepted::Seconds(range, of))
}

pub(super) const fn number(field: &'static str, range: RangeInclusive<u64>, of: fn(&Config) -> u64) -> Rule {
    rule(field, Accepted::Number(range, of))
}

pub(super) const fn related(
    field: &'static str,
    accepted: &'static str,
    check: fn(&Config) -> Result<(), ConfigError>,
) -> Rule {
    rule(field, Accepted::Related(accepted, check))
}

pub(super) const fn value(
    field: &'static str,
    accepted: &'static str,
    refused: fn(&Config, &Parts) -> Option<String>,
) -> Rule {
    rule(field, Accepted::Value(accepted, refused))
}

impl Rule {
    pub(super) const fn by(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    pub(super) const fn only_in(mut self, profiles: &'static [Profile], source: &'static str) -> Self {
        self.profiles = Some(profiles);
        self.source = source;
        self
    }

    pub(super) fn check(&self, config: &Config, parts: &Parts) -> Result<(), ConfigError> {
        if self.profiles.is_some_and(|profiles| !profiles.contains(&config.profile)) {
            return Ok(());
        }
        let refused = match &self.accepted {
            Accepted::Seconds(range, of) => unless(is_within(range, of(config)), in_seconds(of(config))),
            Accepted::Number(range, of) => unless(range.contains(&of(config)), of(config)),
            Accepted::Value(_, refused) => refused(config, parts),
            Accepted::Related(_, check) => return check(config),
        };
        let Some(value) = refused else { return Ok(()) };
        let mut remedy = self.accepted.to_string();
        if self.profiles.is_some() {
            remedy.push_str(&format!(" in the {} profile", config.profile.name()));
        }
        if !self.source.is_empty() {
            remedy.push_str(&format!(" ({})", self.source));
        }
        Err(ConfigError::new(self.field, value, remedy))
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (range, unit) = match self {
            Self::Seconds(range, _) => (range, " s"),
            Self::Number(range, _) => (range, ""),
            Self::Value(accepted, _) | Self::Related(accepted, _) => return f.write_str(accepted),
        };
        match (range.start(), range.end()) {
            (0, most) => write!(f, "at most {most}{unit} is accepted"),
            (least, &u64::MAX) => write!(f, "at least {least}{unit} is accepted"),
            (least, most) => write!(f, "{least} to {most}{unit} are accepted"),
        }
    }
}

impl Profile {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Platform => "platform",
            Self::Strict => "strict",
            Self::Mcp => "MCP",
            Self::Fapi => "FAPI",
        }
    }
}

/// Returns the value, unless the setting is accepted.
pub(super) fn unless(is_accepted: bool, value: impl fmt::Display) -> Option<String> {
    (!is_accepted).then(|| value.to_string())
}

/// Returns whether a duration is in the range of seconds: 599.001 s is more than 599 s.
fn is_within(range: &RangeInclusive<u64>, life: Duration) -> bool {
    let whole = life.as_secs();
    let begun = whole.saturating_add(u64::from(life.subsec_nanos() > 0));
    range.contains(&whole) && range.contains(&begun)
}

#[cfg(test)]
impl Parts {
    /// Everything that a setting may need, and nothing that another rule refuses.
    pub(super) const ALL: Self = Self {
        has_throttle: true,
        has_derivation_key: true,
        has_policy: true,
        has_registry: true,
        has_fetcher: true,
        reaches_loopback: false,
        offers_keys: false,
        has_jose: true,
        has_claims: true,
    };
}

/// A setting that contradicts another one, the profile or the standards. No server was built.
///
/// It is a text with the name of a field, and not an enum, because people react to a wrong setting, and programs do
/// not.
///
/// Prints as `authorization.code_lifetime is 601 s; at most 600 s is accepted (RFC 6749 section 4.1.2)`.
///
/// # Security
///
/// It never contains the value of a secret setting. It leaves out the user, query and fragment of a text, because they
/// may contain a password.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; {remedy}")]
pub struct ConfigError {
    field: &'static str,
    value: String,
    remedy: Cow<'static, str>,
}

debug_as_text!(ConfigError);

impl ConfigError {
    pub(crate) fn new(field: &'static str, value: impl fmt::Display, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { field, value: value.to_string(), remedy: remedy.into() }
    }

    /// Returns the field of [`Config`], such as `refresh.grace`, of
    /// [`IntrospectionSettings`](crate::resource::IntrospectionSettings) or of
    /// [`JwtSettings`](crate::resource::JwtSettings), or what was refused besides, such as `signing_keys`.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        self.field
    }

    /// Returns the refused value in readable form, such as `601 s`.
    #[must_use]
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns what would be accepted or how to fix the setting, such as
    /// `at most 600 s is accepted (RFC 6749 section 4.1.2)`.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

/// Formats a duration in seconds.
pub(crate) fn in_seconds(life: Duration) -> String {
    format!("{} s", life.as_secs_f64())
}

/// Quotes a text without its user, query and fragment, because they may contain a password.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains('@') {
        let scheme = text.split_once("://").map_or("", |(scheme, _)| scheme);
        let scheme = if scheme.contains('@') { "" } else { scheme };
        return format!("\"{}://…@…\"", scheme.escape_debug());
    }
    match text.find(['?', '#']) {
        Some(end) => format!("\"{}…\"", text.get(..=end).unwrap_or_default().escape_debug()),
        None => format!("{text:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_field_value_and_remedy() {
        let error = ConfigError::new(
            "authorization.code_lifetime",
            in_seconds(Duration::from_millis(601_500)),
            "at most 600 s",
        );
        assert_eq!(error.to_string(), "authorization.code_lifetime is 601.5 s; at most 600 s");
        assert_eq!(
            (error.field(), error.value(), error.remedy()),
            ("authorization.code_lifetime", "601.5 s", "at most 600 s")
        );
    }

    #[test]
    fn a_quoted_text_shows_no_password() {
        for (text, shown) in [
            ("https://auth.example", r#""https://auth.example""#),
            ("a\"b\n", r#""a\"b\n""#),
            ("https://user:secret@auth.example", r#""https://…@…""#),
            ("https://user:se?cret@auth.example", r#""https://…@…""#),
            ("secret@x://auth.example", r#""://…@…""#),
            ("https://auth.example?key=secret", r#""https://auth.example?…""#),
            ("https://auth.example#secret", r##""https://auth.example#…""##),
        ] {
            assert_eq!(quoted(text), shown);
        }
    }
}
