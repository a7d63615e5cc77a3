//! The fixed pages that a user sees if the server cannot redirect.

use crate::wire::response::Response;

/// Returns the names and values of the headers that a consent or login page should carry
/// [RFC 6749 section 10.13, RFC 9700 section 4.16].
///
/// They keep the page out of frames, caches and referrers, and prevent content sniffing. The policy does not restrict
/// scripts, styles and form targets, which differ from page to page. A page that restricts `form-action` must also list
/// [`form_action_sources`](crate::PendingAuthorization::form_action_sources), because browsers apply it to the
/// redirects that follow the form. Under `no-referrer`, browsers send `Origin: null` with a form, so a check of that
/// header refuses the form.
pub fn protective_headers() -> impl Iterator<Item = (&'static str, &'static str)> {
    [("Content-Security-Policy", "frame-ancestors 'none'")].into_iter().chain(COMMON_HEADERS)
}

/// What an error page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The link that led to the server is incomplete, not valid, or not in use.
    LinkCannotBeAccessed,
    /// The request was answered before, on another page for the same device or pushed request.
    AlreadyAnswered,
    /// The user has allowed this request before.
    AlreadyAllowed,
    /// The user has denied this request before, or it was ended.
    AlreadyDenied,
    /// The form is too old, or belongs to another sign-in or another browser. Nothing was granted.
    Stale,
    /// The form did not arrive as a page of this server sends it. Nothing was changed.
    MalformedForm,
    /// The service is overloaded, or its store failed.
    Unavailable,
    /// The client must be reviewed before it can be used.
    AwaitsReview,
    /// The client is unknown, on a server where clients register themselves.
    UnknownClient,
    /// The user denied the request of an unreviewed client. The page links to that client.
    NotGranted,
    /// The request of an unreviewed client is not valid. The page links to that client.
    RequestRefused,
    /// The browser came back from the sign-in several times, and no user was signed in.
    SignInLoop,
}

impl ErrorKind {
    /// The title and the explanation.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::LinkCannotBeAccessed => (
                "This link does not work",
                "The link that brought you here cannot be accessed: it is incomplete or not valid. \
                 Go back to the application you came from and try again.",
            ),
            Self::AlreadyAnswered => (
                "This request has already been answered",
                "Your answer was recorded and cannot be sent a second time. \
                 To start over, go back to the application you came from.",
            ),
            Self::AlreadyAllowed => (
                "This request has already been answered",
                "You allowed access. To continue, go back to the application you came from.",
            ),
            Self::AlreadyDenied => (
                "This request has already been answered",
                "Access was not granted. To start over, go back to the application you came from.",
            ),
            Self::Stale => (
                "This page was open for too long",
                "Nothing was granted. You have signed in again since the page was made, or too much time has passed. \
                 To start over, go back to the application you came from.",
            ),
            Self::MalformedForm => (
                "The form did not arrive",
                "Nothing was changed. The form was incomplete or did not come from this service. Please try again.",
            ),
            Self::Unavailable => (
                "The service is temporarily unavailable",
                "Nothing is wrong with your request. Please try again in a few minutes.",
            ),
            Self::AwaitsReview => (
                NO_ACCESS,
                "The application that brought you here awaits review: a person must approve it before it can be used. \
                 Please try again later.",
            ),
            Self::UnknownClient => (
                NO_ACCESS,
                "The application that brought you here is unknown. \
                 Its registration may have expired because you did not use it for a long time. \
                 In the application, remove the connection to this service and add it again.",
            ),
            Self::NotGranted => ("Access was not granted", UNREVIEWED),
            Self::RequestRefused => ("The request of the application was refused", UNREVIEWED),
            Self::SignInLoop => (
                "The sign-in does not last",
                "Your browser came back from the sign-in several times, and this service did not recognize you. \
                 Allow cookies for this service, and try again. Its operators find the cause in their log.",
            ),
        }
    }
}

/// Creates a page with a fixed text, so that nothing of the request can appear in it, except in the cause, which is
/// shown during development. `reviewed` is the name of an application that a person has reviewed, and its address.
pub(crate) fn error_page(
    status: u16,
    kind: ErrorKind,
    reviewed: Option<(&str, Option<&str>)>,
    cause: Option<&str>,
) -> Response {
    let (title, explanation) = kind.texts();
    let cause = cause.map(|cause| format!("Shown during development: {}", escape(cause)));
    let reviewed = reviewed.map(|(name, address)| match (escape(name), address.map(escape)) {
        (name, Some(address)) => format!("<a href=\"{address}\" rel=\"noreferrer\">Go to {name}</a>"),
        (name, None) => format!("The application is <strong>{name}</strong>."),
    });
    page(status, title, [Some(explanation), reviewed.as_deref(), cause.as_deref()].into_iter().flatten())
}

/// Creates the page that a user sees before the browser goes to an unreviewed client. Its one link is the redirect.
pub(crate) fn page_with_link(status: u16, kind: ErrorKind, host: &str, location: &str) -> Response {
    let (host, location) = (escape(host), escape(location));
    let explanation = format!(
        "{UNREVIEWED} To tell it, your browser would go to \
         <strong>{host}</strong>. <a href=\"{location}\" rel=\"noreferrer\">Continue to {host}</a>"
    );
    page(status, kind.texts().0, [&*explanation])
}

/// Creates the page after a decision about a device.
pub(crate) fn device_answered(is_allowed: bool) -> Response {
    let (title, explanation) = match is_allowed {
        true => ("Your device is connected", "It will continue by itself in a few seconds. You can close this page."),
        false => ("Your device was not connected", "Nothing was granted. You can close this page."),
    };
    page(200, title, [explanation])
}

/// Creates the page that is shown if `Pages::device` is not implemented.
pub(crate) fn missing_device_page() -> String {
    document("Devices cannot be connected yet", ["The pages of this service lack one: implement Pages::device."])
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// Creates a page. Title and paragraphs are HTML.
pub(crate) fn page<'a>(status: u16, title: &str, paragraphs: impl IntoIterator<Item = &'a str>) -> Response {
    let page = Response::new(status)
        .with_header("Content-Type", "text/html;charset=UTF-8")
        .with_header("Content-Security-Policy", CONTENT_SECURITY_POLICY);
    COMMON_HEADERS
        .into_iter()
        .fold(page, |page, (name, value)| page.with_header(name, value))
        .with_body(document(title, paragraphs).into_bytes())
}

fn document<'a>(title: &str, paragraphs: impl IntoIterator<Item = &'a str>) -> String {
    let paragraphs: String = paragraphs.into_iter().map(|paragraph| format!("<p>{paragraph}</p>\n")).collect();
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body>
<main>
<h1>{title}</h1>
{paragraphs}</main>
</body>
</html>
"#
    )
}

const UNREVIEWED: &str = "Nobody at this service has reviewed the application.";
const NO_ACCESS: &str = "This link cannot be accessed";
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

pub(crate) const COMMON_HEADERS: [(&str, &str); 4] = [
    ("Cache-Control", "no-store"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_protected_and_say_what_happened() {
        let table = [
            (400, ErrorKind::LinkCannotBeAccessed, "This link does not work"),
            (409, ErrorKind::AlreadyAnswered, "This request has already been answered"),
            (503, ErrorKind::Unavailable, "The service is temporarily unavailable"),
            (400, ErrorKind::AwaitsReview, "awaits review"),
            (400, ErrorKind::UnknownClient, "add it again"),
        ];
        for (status, kind, title) in table {
            let page = error_page(status, kind, None, None);
            assert_eq!(page.status(), status);
            let headers = [
                ("Content-Type", "text/html;charset=UTF-8"),
                ("Cache-Control", "no-store"),
                ("X-Frame-Options", "DENY"),
                ("Referrer-Policy", "no-referrer"),
                ("X-Content-Type-Options", "nosniff"),
                ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
            ];
            for (name, value) in headers {
                assert_eq!(page.header(name), Some(value), "{name}");
            }
            assert_eq!(page.headers().count(), headers.len());

            let html = String::from_utf8(page.into_body()).unwrap();
            let (shown, _) = kind.texts();
            assert!(html.contains(title), "{html}");
            assert!(html.contains(&format!("<title>{shown}</title>")), "{html}");
            assert!(html.contains(&format!("<h1>{shown}</h1>")), "{html}");
            for external in ["http", "src=", "href=", "<script", "<style", "style="] {
                assert!(!html.contains(external), "{external}");
            }
        }
    }

    #[test]
    fn the_way_back_to_a_reviewed_application_is_one_escaped_link() {
        let page = |address| {
            let page = error_page(400, ErrorKind::AlreadyAllowed, Some(("<b>\"Notes\"", address)), None);
            String::from_utf8(page.into_body()).unwrap()
        };
        let linked = page(Some("https://notes.example/?a=\"&b"));
        assert!(linked.contains("You allowed access."), "{linked}");
        let link =
            "<a href=\"https://notes.example/?a=&quot;&amp;b\" rel=\"noreferrer\">Go to &lt;b&gt;&quot;Notes&quot;</a>";
        assert!(linked.contains(link), "{linked}");
        let bare = page(None);
        assert!(bare.contains("<strong>&lt;b&gt;&quot;Notes&quot;</strong>") && !bare.contains("href"), "{bare}");
    }

    #[test]
    fn protective_headers_leave_the_content_of_a_page_alone() {
        let mut headers: Vec<_> = protective_headers().collect();
        headers.sort_unstable();
        let expected = [
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", "frame-ancestors 'none'"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
        ];
        assert_eq!(headers, expected);
    }
}
