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
    again: Option<&'a str>,
    cause: Option<&'a str>,
}

/// The way to an unreviewed client.
struct Link<'a> {
    before: Sentence<'a>,
    location: &'a str,
    name: String,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, page: &ErrorPage<'_>) -> String {
    let [title, text] = match page.kind {
        ErrorKind::AlreadyAnswered => texts.already_answered,
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
    let again = page.again.map(ReturnTo::as_str);
    Error { brand, texts, title, text, link, again, cause: page.cause }.render().unwrap_or_default()
}
