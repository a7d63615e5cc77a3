//! The list of authorized applications.

use askama::Template;
use grantor::Timestamp;
use grantor::interaction::{ApplicationsPage, ConnectedApplication};
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
    name: &'a Sentence<'a>,
    /// The id of an unreviewed application, whose name is its own claim.
    shown_id: Option<&'a str>,
    mark: Mark,
    publisher: Option<Sentence<'a>>,
    renewed: String,
    can: Vec<String>,
    where_: Vec<String>,
    revoke_for: String,
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
        is_revoked: page.is_revoked,
        rows: &rows,
        action: page.action,
        form_token: page.form_token,
    };
    applications.render().unwrap_or_default()
}

/// The name that the row shows: a reviewed name, or a text that marks it as a claim, or the application as removed.
fn name<'a>(texts: &'a Texts, application: &'a ConnectedApplication<'_>) -> Sentence<'a> {
    let Some(client) = &application.client else { return Sentence::new(texts.removed_application, &[]) };
    match (&application.reviewed, client.form().name.as_str()) {
        (Some(_), name) => Sentence(vec![Part::Value(name.into())]),
        (None, "") => Sentence::new(texts.nameless_application, &[]),
        (None, name) => Sentence::new(texts.unreviewed_application, &[("name", name)]),
    }
}

fn row<'a>(
    texts: &'a Texts,
    application: &'a ConnectedApplication<'_>,
    name: &'a Sentence<'a>,
    now: Timestamp,
) -> Row<'a> {
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
        revoke_for: Sentence::new(texts.revoke_for, &[("client", &name.plain())]).plain(),
    }
}
