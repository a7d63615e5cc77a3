//! What administrators do with an application.

use crate::properties::model::{Model, Rights};

impl Model {
    /// Returns whether it was in use.
    pub(crate) fn suspend(&mut self, client: usize) -> bool {
        !std::mem::replace(&mut self.clients[client].is_suspended, true)
    }

    /// Returns whether it was suspended.
    pub(crate) fn resume(&mut self, client: usize) -> bool {
        std::mem::replace(&mut self.clients[client].is_suspended, false)
    }

    /// A reviewed change of what an application may ask for.
    pub(crate) fn register_anew(&mut self, client: usize, rights: Rights) {
        self.clients[client].registered = rights;
    }
}
