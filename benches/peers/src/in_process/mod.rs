//! The same work in one process: bytes of a request in, bytes of an answer out, everything in memory.

pub(crate) mod grantor;
mod measure;
mod oauth_as;
pub(crate) mod oxide_auth;
mod report;

pub(crate) use self::measure::flows;
pub use self::measure::{Effort, Figures};
pub use self::report::report;

use crate::material::Credentials;

/// A server with one confidential client, as each project's documentation sets it up.
///
/// Each operation asserts its own result.
pub(crate) trait Peer {
    fn credentials(&self) -> &Credentials;

    /// Checks the authorization request and, without a consent page, returns the `Location` with the code.
    fn authorize(&mut self, query: &str, owner: &str) -> String;

    /// Exchanges a code: `Authorization` header and form in, JSON out.
    fn exchange(&mut self, basic: &str, form: &str) -> Vec<u8>;

    /// Refreshes: `Authorization` header and form in, JSON out.
    fn refresh(&mut self, basic: &str, form: &str) -> Vec<u8>;

    /// Checks the token of an `Authorization` header, and that it was issued for `owner`.
    fn authenticate(&mut self, bearer: &str, owner: &str);

    /// Lets some minutes pass, if the project's clock can be set: in practice, refreshes are far apart.
    fn let_minutes_pass(&mut self) {}

    /// Removes expired codes, if the project can.
    fn clean_up(&mut self) {}
}

/// A rival, or grantor itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Grantor,
    OxideAuth,
    /// With its default, Argon2id, for client secrets.
    OxideAuthDefault,
    OauthAs,
}

impl Contender {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Grantor => "grantor",
            Self::OxideAuth => "oxide-auth",
            Self::OxideAuthDefault => "oxide-auth (Argon2id)",
            Self::OauthAs => "oauth-as",
        }
    }

    fn start(self) -> Box<dyn Peer> {
        match self {
            Self::Grantor => Box::new(grantor::Grantor::new()),
            Self::OxideAuth => Box::new(oxide_auth::OxideAuth::with_plain_secrets()),
            Self::OxideAuthDefault => Box::new(oxide_auth::OxideAuth::with_default_secrets()),
            Self::OauthAs => Box::new(oauth_as::OauthAs::new()),
        }
    }
}

/// Runs a future that never waits: stores in memory answer at once.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("a store in memory waited"),
    }
}
