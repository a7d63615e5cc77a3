//! What metadata documents need in addition to the settings.

use crate::config::Config;
use crate::config::check::is_loopback;
use crate::config::error::{ConfigError, quoted};
use crate::model::client::ClientType;
use crate::model::redirect_uri::WebUri;

/// The parts that metadata documents need, and whether they are present.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DocumentNeeds {
    pub(crate) has_policy: bool,
    pub(crate) has_registry: bool,
    pub(crate) has_fetcher: bool,
    /// Whether clients may authenticate with a key, which a document can have.
    pub(crate) offers_keys: bool,
    pub(crate) reaches_loopback: bool,
}

impl Config {
    /// Checks the parts that metadata documents need in addition to the settings.
    pub(crate) fn check_documents(&self, needs: DocumentNeeds) -> Result<(), ConfigError> {
        if needs.reaches_loopback && !self.is_on_loopback() {
            return Err(ConfigError::new("issuer", quoted(&self.issuer), LOOPBACK_FETCHER));
        }
        let needed = [
            (needs.has_policy, DOCUMENT_POLICY),
            (needs.has_fetcher, DOCUMENT_FETCHER),
            (needs.has_registry, DOCUMENT_STORE),
            (self.serves(ClientType::Public) || needs.offers_keys, DOCUMENT_CLIENTS),
            (!self.pushed_requests.are_required(), DOCUMENT_PUSHED),
        ];
        match needed.into_iter().find(|(is_there, _)| self.registration.metadata_documents && !is_there) {
            Some((_, remedy)) => Err(ConfigError::new("registration.metadata_documents", true, remedy)),
            None => Ok(()),
        }
    }

    /// Whether the issuer is on a loopback host.
    fn is_on_loopback(&self) -> bool {
        WebUri::split(&self.issuer).is_ok_and(|uri| is_loopback(uri.host))
    }
}

const DOCUMENT_POLICY: &str = "set it to false, or add a policy that decides about each client: \
                               Builder::registration_policy(ApproveWithin::new(…))";
const DOCUMENT_FETCHER: &str =
    "set it to false, or add a fetcher for the documents: Builder::fetcher(…), such as the one in grantor-fetch";
const DOCUMENT_STORE: &str = "set it to false, or look up clients in a registry: Stores::with_registry(…)";
const DOCUMENT_CLIENTS: &str = "set it to false, or public_clients to true, or add private_key_jwt to \
                                authentication_methods: a client with a document has no secret";
const DOCUMENT_PUSHED: &str = "set it or require_pushed_requests to false: a document is fetched only for a signed-in \
                               user, and a pushed request has none, so no client with a document could connect";
const LOOPBACK_FETCHER: &str = "use an issuer on a loopback host, or a fetcher that does not connect to loopback \
                                addresses: otherwise anyone could send requests to this machine";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PushedRequests;

    const ALL: DocumentNeeds = DocumentNeeds {
        has_policy: true,
        has_registry: true,
        has_fetcher: true,
        offers_keys: false,
        reaches_loopback: false,
    };

    fn on() -> Config {
        let mut config = Config::mcp("https://auth.example");
        config.registration.metadata_documents = true;
        config
    }

    /// 7591-5-02, 8414-2-07, CIMD-5-05
    #[test]
    fn documents_need_a_policy_a_fetcher_a_store_and_public_clients() {
        assert_eq!(on().check_documents(ALL), Ok(()));
        let mut confidential = on();
        confidential.public_clients = false;
        let mut pushed = on();
        pushed.pushed_requests.mode = PushedRequests::Required;
        for (config, needs, remedy) in [
            (on(), DocumentNeeds { has_policy: false, ..ALL }, DOCUMENT_POLICY),
            (on(), DocumentNeeds { has_fetcher: false, ..ALL }, DOCUMENT_FETCHER),
            (on(), DocumentNeeds { has_registry: false, ..ALL }, DOCUMENT_STORE),
            (confidential, ALL, DOCUMENT_CLIENTS),
            (pushed, ALL, DOCUMENT_PUSHED),
        ] {
            let error = config.check_documents(needs).unwrap_err();
            assert_eq!((error.field(), error.value()), ("registration.metadata_documents", "true"));
            assert_eq!(error.remedy(), remedy);
            let mut off = config;
            off.registration.metadata_documents = false;
            assert_eq!(off.check_documents(needs), Ok(()));
        }
    }

    /// CIMD-8.2-01
    #[test]
    fn documents_with_keys_need_no_public_clients() {
        let confidential = Config { public_clients: false, ..on() };
        assert_eq!(confidential.check_documents(DocumentNeeds { offers_keys: true, ..ALL }), Ok(()));
    }

    /// CIMD-8.6-03
    #[test]
    fn a_fetcher_reaches_the_loopback_where_the_issuer_does() {
        let needs = DocumentNeeds { reaches_loopback: true, ..ALL };
        for (issuer, is_accepted) in [
            ("https://auth.example", false),
            ("https://localhost.example", false),
            ("http://localhost:8080", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:8080/tenant", true),
        ] {
            for is_on in [false, true] {
                let mut config = Config { issuer: issuer.into(), ..on() };
                config.registration.metadata_documents = is_on;
                assert_eq!(config.check_documents(needs).is_ok(), is_accepted, "{issuer}");
            }
        }
    }
}
