//! The platform example as its operator starts it.

use support_servers::started::{Started, cargo};

/// The two servers of the example.
pub(crate) struct Platform(Started);

impl Platform {
    pub(crate) fn start(test: &str) -> Self {
        Self(Started::platform(cargo::platform(), test, &[]))
    }

    pub(crate) fn client_id(&self) -> &str {
        self.0.about("client_id")
    }

    /// An address at the service.
    pub(crate) fn url(&self, path: &str) -> String {
        self.0.url(path)
    }

    /// An address at the third-party application.
    pub(crate) fn third_party(&self, path: &str) -> String {
        format!("{}{path}", self.0.about("third_party"))
    }
}
