//! The sign-in page.

use askama::Template;
use grantor::interaction::ReturnTo;

use crate::Brand;
use crate::sentence::{Part, Sentence};
use crate::texts::Texts;

/// What the sign-in page shows.
///
/// Its form is sent with `POST` and has these fields:
///
/// | field | value |
/// |---|---|
/// | `user` | the user name or e-mail address, as it was typed |
/// | `password` | the password |
/// | `return_to` | where the user continues after the sign-in, a [`ReturnTo`] |
#[derive(Clone, Copy, Debug)]
pub struct SignInPage<'a> {
    action: &'a str,
    return_to: &'a ReturnTo,
    pub(crate) languages: &'a str,
    is_email: bool,
    /// The user name of the attempt that failed.
    failed: Option<&'a str>,
}

impl<'a> SignInPage<'a> {
    /// Creates the page of a first attempt. The form is sent to the path `action`, such as `/sign-in`.
    #[must_use]
    pub const fn new(action: &'a str, return_to: &'a ReturnTo) -> Self {
        Self { action, return_to, languages: "", is_email: false, failed: None }
    }

    /// Sets the value of the `Accept-Language` header [RFC 9110 section 12.5.4]. Without it, the page is in the first
    /// language of [`Pages`](crate::Pages).
    #[must_use]
    pub const fn languages(mut self, header: &'a str) -> Self {
        self.languages = header;
        self
    }

    /// Asks for an e-mail address. By default the page asks for a user name.
    #[must_use]
    pub const fn email(mut self) -> Self {
        self.is_email = true;
        self
    }

    /// Reports that the last attempt failed, and keeps the user name that was typed. The page does not say which of the
    /// two was wrong, so it does not reveal who has an account.
    #[must_use]
    pub const fn failed(mut self, user: &'a str) -> Self {
        self.failed = Some(user);
        self
    }
}

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignIn<'a> {
    brand: &'a Brand,
    texts: &'a Texts,
    sources: &'a str,
    title: Sentence<'a>,
    action: &'a str,
    return_to: &'a str,
    label: &'a str,
    user: &'a str,
    is_email: bool,
    problem: Option<&'a str>,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, sources: &str, page: &SignInPage<'_>) -> String {
    let [label, problem] = if page.is_email { texts.email } else { texts.user_name };
    let sign_in = SignIn {
        brand,
        texts,
        sources,
        title: Sentence::new(texts.sign_in_title, &[("service", &brand.name)]),
        action: page.action,
        return_to: page.return_to.as_str(),
        label,
        user: page.failed.unwrap_or_default(),
        is_email: page.is_email,
        problem: page.failed.map(|_| problem),
    };
    sign_in.render().unwrap_or_default()
}
