//! The text that shows which kind of secret follows.

/// The text before each kind of secret: [`tokens.prefix`](crate::config::TokenSettings::prefix), then the kind.
#[derive(Debug)]
pub(crate) struct Prefixes {
    pub(crate) handle: Box<str>,
    pub(crate) code: Box<str>,
    pub(crate) device_code: Box<str>,
    pub(crate) access_token: Box<str>,
    pub(crate) refresh_token: Box<str>,
    pub(crate) initial_access_token: Box<str>,
    pub(crate) registration_access_token: Box<str>,
}

impl Prefixes {
    pub(crate) fn new(prefix: &str) -> Self {
        let of = |kind| format!("{prefix}{kind}").into_boxed_str();
        Self {
            handle: of("ah_"),
            code: of("ac_"),
            device_code: of("dc_"),
            access_token: of("at_"),
            refresh_token: of("rt_"),
            initial_access_token: of("ia_"),
            registration_access_token: of("ra_"),
        }
    }
}
