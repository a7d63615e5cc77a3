//! The list of authorized applications.

use askama::Template;
use grantor::Timestamp;
use grantor::interaction::{ApplicationsNotice, ApplicationsPage, ConnectedApplication};
use grantor::scope::ResourceScope;

use crate::sentence::{Part, Sentence};
use crate::texts::Texts;
use crate::{Brand, Mark, verbs, whereabouts};

#[derive(Template)]
#[template(path = "applications.html")]
struct Applications<'a> {
    brand: &'a Brand,
    texts: &'a Texts,
    introduction: Sentence<'a>,
    is_revoked: bool,
    rows: &'a [Row<'a>],
    action: &'a str,
    form_token: &'a str,
}

/// An application, whatever the number of grants.
struct Row<'a> {
    id: &'a str,
    name: &'a str,
    /// The id of an unreviewed application, whose name is its own claim.
    shown_id: Option<&'a str>,
    mark: Mark,
    publisher: Option<Sentence<'a>>,
    renewed: String,
    can: Vec<String>,
    where_: Vec<String>,
    revoke_for: Sentence<'a>,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, page: &ApplicationsPage<'_>) -> String {
    let introduction = if page.applications.is_empty() { texts.no_applications } else { texts.applications };
    let names: Vec<_> = page.applications.iter().map(|application| name(texts, application)).collect();
    let rows: Vec<_> = page
        .applications
        .iter()
        .zip(&names)
        .map(|(application, name)| row(texts, application, name, page.now))
        .collect();
    let applications = Applications {
        brand,
        texts,
        introduction: Sentence::new(introduction, &[("user", page.user.shown_name())]),
        is_revoked: page.notice == Some(ApplicationsNotice::Revoked),
        rows: &rows,
        action: page.action,
        form_token: page.form_token,
    };
    applications.render().unwrap_or_default()
}

/// The application's name, if that was reviewed; otherwise marked as a claim.
fn name(texts: &Texts, application: &ConnectedApplication<'_>) -> String {
    let Some(client) = &application.client else { return texts.removed_application.to_owned() };
    match (&application.reviewed, client.form().name.as_str()) {
        (Some(_), name) => name.to_owned(),
        (None, "") => texts.nameless_application.to_owned(),
        (None, name) => Sentence::new(texts.unreviewed_application, &[("name", name)]).plain(),
    }
}

fn row<'a>(texts: &'a Texts, application: &'a ConnectedApplication<'_>, name: &'a str, now: Timestamp) -> Row<'a> {
    let id = application.client_id.as_str();
    let publisher = application.reviewed.as_ref().and_then(|reviewed| reviewed.publisher.as_deref());
    let ago = application.renewed.map(|renewed| (texts.ago)(now.seconds_since(renewed)));
    let has_permissions = application.scopes.iter().any(|scope| scope.permission().is_some());
    let where_ = |resources: &ResourceScope| match resources {
        ResourceScope::Specified(list) => {
            format!("{} {}", texts.only_these_resources, list.iter().collect::<Vec<_>>().join(", "))
        }
        all => whereabouts(texts, all).unwrap_or_default().to_owned(),
    };
    Row {
        id,
        name,
        shown_id: application.client.as_ref().filter(|_| application.reviewed.is_none()).map(|_| id),
        mark: application
            .client
            .as_ref()
            .map_or(Mark::Unknown, |client| Mark::of(client, application.reviewed.as_ref())),
        publisher: publisher.map(|publisher| Sentence::new(texts.publisher, &[("publisher", publisher)])),
        renewed: ago.map_or_else(
            || texts.not_used.to_owned(),
            |ago| Sentence::new(texts.renewed, &[("ago", ago.as_str())]).plain(),
        ),
        can: application.scopes.iter().map(|scope| verbs(texts, scope)).collect(),
        where_: application.resources.iter().filter(|_| has_permissions).map(where_).collect(),
        revoke_for: Sentence::new(texts.revoke_for, &[("client", name)]),
    }
}
