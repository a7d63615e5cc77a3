//! A setting that `build` refuses.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use crate::base::debug_as_text;

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

    /// Returns the field of [`Config`](crate::Config), such as `refresh.grace`, of
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
pub(crate) fn seconds(life: Duration) -> String {
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
        let error =
            ConfigError::new("authorization.code_lifetime", seconds(Duration::from_millis(601_500)), "at most 600 s");
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
