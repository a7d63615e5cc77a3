//! The list of one's own applications.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use grantor::Application;
use grantor::application::ApplicationFilter;

use crate::pages::{Failure, Frame, page};
use crate::registration::{Listing, ROWS, failure};
use crate::session::SignedIn;
use crate::web::Platform;
use crate::words::{self, When};

#[derive(Template)]
#[template(path = "applications/list.html")]
struct ListPage {
    frame: Frame,
    rows: Vec<Row>,
    is_first: bool,
    next: Option<String>,
}

struct Row {
    id: String,
    name: String,
    state: &'static str,
    state_class: &'static str,
    has_proposed: bool,
    submitted: When,
}

pub(super) async fn list(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Response, Failure> {
    let listing = Listing::of(query)?;
    let filter = ApplicationFilter::OwnedBy(signed_in.account.subject.clone());
    let found = platform.registrar()?.list(&filter, listing.page()?).await.map_err(failure)?;
    let mut rows: Vec<_> = found.iter().map(|application| row(application)).collect();
    let has_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let next = rows.last().filter(|_| has_more).map(|row| row.id.clone());
    let frame = Frame::for_account(&signed_in.account);
    Ok(page(&ListPage { frame, rows, is_first: listing.is_first(), next }))
}

fn row(application: &Application) -> Row {
    Row {
        id: application.id().to_string(),
        name: application.form().name.clone(),
        state: words::state(application.state()),
        state_class: words::state_class(application.state()),
        has_proposed: application.proposed.is_some(),
        submitted: words::when(application.submitted),
    }
}
