//! The problems of a form in words, each at its field.

use grantor::ApplicationForm;
use grantor::application::{Field, FieldError, Problem};
use grantor::jose::{JwkError, JwkSetError};
use grantor::scope::ScopeError;
use grantor::text::{TextError, TextFault};

/// Everything that is wrong with a form, in the order of its fields.
#[derive(Debug, Default)]
pub(crate) struct Problems(Vec<FieldProblem>);

#[derive(Debug)]
pub(crate) struct FieldProblem {
    field: &'static str,
    pub(crate) text: String,
}

impl FieldProblem {
    /// The id of the control that the summary leads to.
    pub(crate) fn anchor(&self) -> &'static str {
        match self.field {
            "resource_scope" => "resource_scope-all",
            "client_type" => "client_type-confidential",
            "application_type" => "application_type-web",
            "authentication_methods" => "authentication-secret",
            field => field,
        }
    }
}

impl Problems {
    pub(crate) fn push(&mut self, field: &'static str, text: impl Into<String>) {
        self.0.push(FieldProblem { field, text: text.into() });
        self.0.sort_by_key(|problem| FIELDS.iter().position(|field| *field == problem.field));
    }

    /// Adds what the registrar found, except for fields that have a problem already.
    pub(crate) fn add(&mut self, errors: &[FieldError], form: &ApplicationForm) {
        let known: Vec<_> = self.0.iter().map(|problem| problem.field).collect();
        for error in errors {
            let field = error.field().as_str();
            // The list of resources is a separate control beside the choice.
            let is_known = known.contains(&field) || (field == "resource_scope" && known.contains(&"resources"));
            if !is_known {
                self.push(field, words(error, form));
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &FieldProblem> {
        self.0.iter()
    }

    pub(crate) fn of(&self, field: &str) -> Vec<&str> {
        self.0.iter().filter(|problem| problem.field == field).map(|problem| &*problem.text).collect()
    }
}

/// The fields in the order in which the page shows them.
const FIELDS: [&str; 14] = [
    "name",
    "logo",
    "description",
    "website",
    "client_type",
    "application_type",
    "authentication_methods",
    "jwks",
    "jwks_uri",
    "redirect_uris",
    "scopes",
    "resource_scope",
    "resources",
    "action",
];

/// Describes what the registrar found wrong; `form` is the form that it checked.
pub(crate) fn words(error: &FieldError, form: &ApplicationForm) -> String {
    let subject = subject(error.field());
    let redirect_uri = |number: usize| form.redirect_uris.get(number.saturating_sub(1)).map_or("", |uri| uri);
    match error.problem() {
        Problem::Missing => missing(error.field()).into(),
        Problem::Blank => format!("{subject} has no visible character."),
        Problem::Text(error) => misleading(subject, *error),
        Problem::Animated => "The logo is animated; choose a still image.".into(),
        Problem::Dimensions { limit } => {
            format!("The logo’s width and height must each be between 1 and {limit} pixels; choose another image.")
        }
        Problem::HostNotAscii { a_label } => format!(
            "The address has letters that can be mistaken for others. Write its host as “{a_label}”, as your registrar \
             shows it."
        ),
        Problem::Fixed => format!("{subject} cannot change any more, since the application was approved."),
        Problem::KeySet(error) => key_set(*error, form.jwks.as_deref().unwrap_or_default()),
        Problem::KeysNotUsed => "You chose a secret: leave this empty, or choose the public key above.".into(),
        Problem::NoAcceptedKey { .. } => {
            "None of the keys has an accepted type: use P-256, Ed25519, or RSA for PS256.".into()
        }
        Problem::NoFetcher => "Keys cannot be fetched from an address here; paste them instead.".into(),
        Problem::NoKeyForAlgorithm { algorithm } => {
            format!("None of the keys is for {algorithm}, which the application registered to sign with.")
        }
        Problem::NoKeys => "Paste the public key, or give its address.".into(),
        Problem::NotAnHttpsAddress => {
            "Enter the whole address, beginning with https://, without # and without spaces.".into()
        }
        Problem::TwoKeySets => "Give the keys or their address, not both.".into(),
        Problem::NotAnImage => "The file is not a PNG, JPEG, GIF or WebP image.".into(),
        Problem::NotAWebAddress => "Enter the whole address, beginning with https:// or http://.".into(),
        Problem::NotOffered | Problem::PublicClientsOff | Problem::GrantTypeOff { .. } => {
            format!("{subject} has a choice that is not offered here.")
        }
        Problem::RedirectUri { number, error } => {
            let text = error.to_string();
            let fault = text.strip_prefix("the redirect URI ").unwrap_or(&text);
            format!("“{}” {fault}.", redirect_uri(*number))
        }
        Problem::Repeated { number } => format!("“{}” is listed more than once.", redirect_uri(*number)),
        Problem::Scope(ScopeError::PermissionNotAllowed { token, accepted }) => {
            format!("The scope “{token}” does not exist; “{accepted}” does.")
        }
        Problem::Scope(ScopeError::Unknown { token: Some(token), nearest: Some(nearest) }) => {
            format!("There is no scope “{token}”. Did you mean “{nearest}”?")
        }
        Problem::Scope(ScopeError::Unknown { token: Some(token), .. }) => format!("There is no scope “{token}”."),
        Problem::Scope(_) => "One of the scopes does not exist.".into(),
        Problem::TooManyCharacters { limit } => match characters(error.field(), form) {
            Some(count) => format!("{subject} has {count} characters; it may have at most {limit}."),
            None => format!("{subject} may have at most {limit} characters."),
        },
        Problem::TooManyBytes { limit } => format!("The file is larger than {}; choose a smaller one.", size(*limit)),
        Problem::TooManyValues { limit } => format!("There may be at most {limit} redirect URIs."),
        Problem::UserInfo => "The address has a user name in it, which hides where it leads; leave it out.".into(),
        other => format!("{subject} {other}."),
    }
}

/// Describes what is wrong with the keys; `text` is what was typed.
pub(crate) fn key_set(error: JwkSetError, text: &str) -> String {
    let begins = |start: &str| text.trim_start().starts_with(start);
    match error {
        JwkSetError::NotASet if begins("-----BEGIN") => "This is a key in PEM form. Write it as a JWK Set, which is JSON: \
             in Node.js, crypto.createPublicKey(pem).export({format: \"jwk\"}) makes the key to put into {\"keys\":[…]}."
            .into(),
        JwkSetError::NotASet if begins("{") && text.contains("\"kty\"") && !text.contains("\"keys\"") => {
            "This is one key. Put it into a set: {\"keys\":[…]} with the key in place of the dots.".into()
        }
        JwkSetError::NotASet => "This is not a JWK Set. A JWK Set looks like this: {\"keys\":[{\"kty\":…}]}.".into(),
        JwkSetError::Key(number, JwkError::Private) => format!(
            "Key {number} is a private key, or one that two sides share. It has left your machine, so do \
             not use it any more: make a new key pair, and paste only the public key."
        ),
        JwkSetError::Key(number, error) => format!("Key {number} cannot be used: {error}."),
        JwkSetError::TooLarge(limit) => format!("The keys are larger than {}.", size(limit)),
        JwkSetError::TooManyKeys(limit) => format!("There may be at most {limit} keys."),
        JwkSetError::KeyIdTwice => "Two of the keys have the same “kid”: give each a different one.".into(),
        JwkSetError::NoUsableKey => {
            "None of the keys can verify a signature: use P-256, Ed25519 or RSA, with “use” left out or “sig”.".into()
        }
        other => format!("The keys cannot be used: {other}."),
    }
}

/// Names a character that could mislead, where it is, and what to do.
pub(crate) fn misleading(subject: &str, error: TextError) -> String {
    let (code, place) = (u32::from(error.character), error.place);
    let which = format!("character {place} (U+{code:04X})");
    match error.fault {
        TextFault::OuterBlank => format!("{subject} must not begin or end with a space: remove {which}."),
        TextFault::DoubleBlank => format!("{subject} has two spaces together: remove {which}."),
        TextFault::Control => format!("{subject} has a tab or another control character: remove {which}."),
        TextFault::Invisible => format!("{subject} has an invisible character: remove {which}."),
        TextFault::Direction => {
            format!("{subject} has a character that changes the direction of writing: remove {which}.")
        }
        TextFault::TooManyMarks | TextFault::RepeatedMark => {
            format!("{subject} has too many accents on one letter: remove {which}.")
        }
        _ => format!("{subject} has a character that not every device can show: remove {which}."),
    }
}

/// Normalizes a text: browsers end lines with two characters, and blanks at the end of a line are invisible.
pub(crate) fn without_line_ends(text: &str) -> String {
    text.trim().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// A count of bytes as people say it.
pub(crate) fn size(bytes: usize) -> String {
    if bytes.is_multiple_of(MEGABYTE) { format!("{} MB", bytes / MEGABYTE) } else { format!("{bytes} bytes") }
}

const MEGABYTE: usize = 1024 * 1024;

fn characters(field: Field, form: &ApplicationForm) -> Option<usize> {
    let text = match field {
        Field::Name => &*form.name,
        Field::Description => form.description.as_deref()?,
        Field::Website => &*form.website,
        _ => return None,
    };
    Some(text.chars().count())
}

const fn subject(field: Field) -> &'static str {
    match field {
        Field::Name => "The name",
        Field::Logo => "The logo",
        Field::Description => "The description",
        Field::Website => "The address",
        Field::RedirectUris => "The list of redirect URIs",
        Field::Scopes => "The list of scopes",
        Field::ResourceScope => "The choice of resources",
        Field::ClientType => "The answer to whether it can keep a secret",
        Field::ApplicationType => "The answer to where it runs",
        Field::AuthenticationMethods => "The answer to how it authenticates",
        Field::Reason => "The reason",
        _ => "This field",
    }
}

const fn missing(field: Field) -> &'static str {
    match field {
        Field::Name => "Enter a name.",
        Field::Logo => "Choose a logo.",
        Field::Website => "Enter the address of the official website.",
        Field::RedirectUris => "Enter at least one redirect URI.",
        Field::Scopes => "Choose at least one scope.",
        Field::ResourceScope => "Choose which resources it may reach.",
        Field::Reason => "Give a reason.",
        _ => "Fill this in.",
    }
}
