//! Applications that users could confuse, since their names look the same.

use grantor::Application;

use crate::pages::{Failure, segment};
use crate::registration::failure;
use crate::web::Platform;
use crate::words;

/// An application whose name looks the same.
pub(super) struct Namesake {
    /// The id in the path of its page.
    pub(super) segment: String,
    pub(super) name: String,
    pub(super) owner: String,
    pub(super) state: &'static str,
    pub(super) state_class: &'static str,
}

impl Namesake {
    fn new(application: &Application) -> Self {
        let name = &application.form().name;
        let proposed =
            application.proposed.as_ref().map(|proposed| &proposed.name).filter(|proposed| *proposed != name);
        Self {
            segment: segment(application.id().as_str()),
            name: proposed.map_or_else(|| name.clone(), |proposed| format!("{name} (to become {proposed})")),
            owner: words::owner(application),
            state: words::state(application.state()),
            state_class: words::state_class(application.state()),
        }
    }
}

/// Finds a few applications of others whose names look like the one that this has, or is to have.
pub(super) async fn of(platform: &Platform, application: &Application) -> Result<Vec<Namesake>, Failure> {
    let found = platform.registrar()?.look_alikes(application).await.map_err(failure)?;
    Ok(found.iter().map(|other| Namesake::new(other)).collect())
}
