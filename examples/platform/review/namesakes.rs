//! Applications that users could take for another, since they have its name.

use grantor::store::Page;
use grantor::{Application, ApplicationFilter};

use crate::pages::Failure;
use crate::registration::failure;
use crate::web::Platform;
use crate::words;

/// Applications looked at in one step.
const STEP: usize = 200;
/// Those that the page names: more would tell the reviewer nothing new.
const MOST: usize = 5;

/// An application of the same name.
pub(super) struct Namesake {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) applicant: String,
    pub(super) state: &'static str,
    pub(super) state_class: &'static str,
}

impl Namesake {
    fn new(application: &Application) -> Self {
        Self {
            id: application.id().to_string(),
            name: application.form().name().to_owned(),
            applicant: application.applicant().to_string(),
            state: words::state(application.state()),
            state_class: words::state_class(application.state()),
        }
    }
}

/// Looks through all applications for the name that this one has, or is to have.
pub(super) async fn of(platform: &Platform, application: &Application) -> Result<Vec<Namesake>, Failure> {
    let registrar = platform.registrar()?;
    let name = plain(application.proposed().unwrap_or_else(|| application.form()).name());
    let mut found = Vec::new();
    let mut page = Page::first(STEP);
    loop {
        let step = registrar.list(&ApplicationFilter::All, page).await.map_err(failure)?;
        let others = step.iter().filter(|other| other.id() != application.id());
        found.extend(others.filter(|other| plain(other.form().name()) == name).map(|other| Namesake::new(other)));
        found.truncate(MOST);
        match step.last() {
            Some(last) if step.len() == STEP && found.len() < MOST => page = Page::after(last.id().clone(), STEP),
            _ => return Ok(found),
        }
    }
}

/// A name as people tell it from others: letters of either case and any spaces are the same.
fn plain(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
