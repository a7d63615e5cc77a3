//! What awaits review, and every application by its state.

use askama::Template;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use grantor::Application;
use grantor::application::ApplicationFilter;
use grantor::client::ClientState;

use crate::pages::{Failure, Frame, page, segment};
use crate::registration::{Listing, ROWS, failure};
use crate::session::Administrator;
use crate::web::Platform;
use crate::words::{self, When};

#[derive(Template)]
#[template(path = "review/queue.html")]
struct QueuePage {
    frame: Frame,
    shelf: &'static Shelf,
    rows: Vec<Row>,
    is_first: bool,
    next: Option<String>,
}

/// A list that the page offers.
#[derive(Debug)]
struct Shelf {
    key: &'static str,
    title: &'static str,
    filter: ApplicationFilter,
}

static SHELVES: [Shelf; 6] = [
    Shelf { key: "", title: "To decide", filter: ApplicationFilter::AwaitingReview },
    Shelf { key: "all", title: "All", filter: ApplicationFilter::All },
    Shelf { key: "pending", title: "New", filter: ApplicationFilter::InState(ClientState::Pending) },
    Shelf { key: "approved", title: "Approved", filter: ApplicationFilter::InState(ClientState::Approved) },
    Shelf { key: "rejected", title: "Rejected", filter: ApplicationFilter::InState(ClientState::Rejected) },
    Shelf { key: "suspended", title: "Suspended", filter: ApplicationFilter::InState(ClientState::Suspended) },
];

struct Row {
    /// The id in the path of its page.
    segment: String,
    name: String,
    owner: String,
    state: &'static str,
    state_class: &'static str,
    has_proposed: bool,
    submitted: When,
}

pub(super) async fn queue(
    State(platform): State<Platform>,
    Administrator(account): Administrator,
    query: Result<Query<Listing>, QueryRejection>,
) -> Result<Response, Failure> {
    let listing = Listing::of(query)?;
    let shelf = SHELVES.iter().find(|shelf| shelf.key == listing.state).ok_or(Failure::NotFound)?;
    let found = platform.registrar()?.list(&shelf.filter, listing.page()?).await.map_err(failure)?;
    let mut rows: Vec<_> = found.iter().map(|application| row(application)).collect();
    let has_more = rows.len() > ROWS;
    rows.truncate(ROWS);
    let next = rows.last().filter(|_| has_more).map(|row| row.segment.clone());
    let frame = Frame::for_account(&account);
    Ok(page(&QueuePage { frame, shelf, rows, is_first: listing.is_first(), next }))
}

fn row(application: &Application) -> Row {
    Row {
        segment: segment(application.id().as_str()),
        name: match application.form().name.as_str() {
            "" => "(no name)".to_owned(),
            name => name.to_owned(),
        },
        owner: words::owner(application),
        state: words::state(application.state()),
        state_class: words::state_class(application.state()),
        has_proposed: application.proposed.is_some(),
        submitted: words::when(application.submitted),
    }
}
