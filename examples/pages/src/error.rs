//! The error page.

use askama::Template;
use grantor::interaction::{ErrorKind, ErrorPage, ReturnTo};

use crate::Brand;
use crate::sentence::{Part, Sentence};
use crate::texts::Texts;

#[derive(Template)]
#[template(path = "error.html")]
struct Error<'a> {
    brand: &'a Brand,
    texts: &'a Texts,
    title: &'a str,
    text: &'a str,
    link: Option<Link<'a>>,
    /// Which reviewed application it was.
    application: Option<Application<'a>>,
    again: Option<&'a str>,
    cause: Option<&'a str>,
}

/// The way to an unreviewed client.
struct Link<'a> {
    before: Sentence<'a>,
    location: &'a str,
    name: String,
}

/// An application that a person has reviewed, and where it is.
struct Application<'a> {
    named: Sentence<'a>,
    back: Option<(&'a str, String)>,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, page: &ErrorPage<'_>) -> String {
    let [title, text] = match page.kind {
        ErrorKind::AlreadyAnswered => texts.already_answered,
        ErrorKind::AlreadyAllowed => texts.already_allowed,
        ErrorKind::AlreadyDenied => texts.already_denied,
        ErrorKind::Stale => texts.stale,
        ErrorKind::MalformedForm => texts.malformed_form,
        ErrorKind::Unavailable => texts.unavailable,
        ErrorKind::AwaitsReview => texts.awaits_review,
        ErrorKind::UnknownClient => texts.unknown_client,
        ErrorKind::NotGranted => texts.not_granted,
        ErrorKind::RequestRefused => texts.request_refused,
        ErrorKind::SignInLoop => texts.sign_in_loop,
        _ => texts.no_access,
    };
    let link = page.link.map(|link| Link {
        before: Sentence::new(texts.before_link, &[("host", link.host)]),
        location: link.location,
        name: Sentence::new(texts.continue_to, &[("host", link.host)]).plain(),
    });
    let application = page.client.map(|client| {
        let named = |text| Sentence::new(text, &[("client", client.form().name.as_str())]);
        let back = client.web_address().map(|address| (address, named(texts.to_application).plain()));
        Application { named: named(texts.request_of), back }
    });
    let again = page.again.map(ReturnTo::as_str);
    let cause = page.cause;
    Error { brand, texts, title, text, link, application, again, cause }.render().unwrap_or_default()
}
