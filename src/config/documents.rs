//! The settings for metadata documents.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::config::error::{ConfigError, seconds};

/// How metadata documents are fetched, checked and cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetadataDocuments {
    /// The maximum size of a document in bytes; 5120, as section 8.7 of the draft advises. 1024 to 65 536 are accepted.
    pub most_bytes: usize,
    /// How long the whole request for a document may take, while the user waits; 5 s. 1 to 30 s are accepted.
    pub timeout: Duration,
    /// How many documents are cached; 1000. If there are more, the least recently used one is dropped. 1 to 100 000 are
    /// accepted.
    pub most_cached: usize,
    /// The shortest time for which a document is cached, even if its headers forbid caching; 300 s. The minimum is 60
    /// s, so that this server cannot be used to flood another one.
    pub shortest_lifetime: Duration,
    /// The longest time for which a document is cached; 86 400 s (one day). The maximum is 604 800 s (7 days).
    pub longest_lifetime: Duration,
    /// How long a document without caching headers is cached; 3600 s.
    pub usual_lifetime: Duration,
    /// Whether a document must have `client_name`. Off, except in the MCP profile: the MCP specification requires it.
    pub require_name: bool,
    /// Whether a document with `private_key_jwt` is accepted as that of a public client; off. This applies if the
    /// server cannot authenticate the client with its key, and the document's `token_endpoint_auth_methods_supported`
    /// lists `none`.
    ///
    /// The server cannot do so if [`Config::authentication_methods`](crate::Config::authentication_methods) lacks
    /// `private_key_jwt`, or if it does not accept the document's `token_endpoint_auth_signing_alg`
    /// ([`Config::rs256_assertions`](crate::Config::rs256_assertions)). Otherwise the client authenticates with its
    /// key, and this setting has no effect.
    ///
    /// The draft does not define this list. Such a client is not authenticated, although its document announces a key.
    pub none_beside_private_key_jwt: bool,
}

impl Default for MetadataDocuments {
    fn default() -> Self {
        Self {
            most_bytes: 5120,
            timeout: Duration::from_secs(5),
            most_cached: 1000,
            shortest_lifetime: Duration::from_secs(300),
            longest_lifetime: Duration::from_secs(86_400),
            usual_lifetime: Duration::from_secs(3600),
            require_name: false,
            none_beside_private_key_jwt: false,
        }
    }
}

impl MetadataDocuments {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if !BYTES.contains(&self.most_bytes) {
            let remedy = "1024 to 65536 are accepted";
            return Err(ConfigError::new("metadata_documents.most_bytes", self.most_bytes, remedy));
        }
        if !CACHED.contains(&self.most_cached) {
            let remedy = "1 to 100000 are accepted";
            return Err(ConfigError::new("metadata_documents.most_cached", self.most_cached, remedy));
        }
        let (shortest, longest) = (self.shortest_lifetime, self.longest_lifetime);
        for (name, life, accepted) in [
            ("metadata_documents.timeout", self.timeout, TIMEOUTS),
            ("metadata_documents.shortest_lifetime", shortest, LEAST_LIFETIME..=longest),
            ("metadata_documents.longest_lifetime", longest, shortest..=LONGEST_LIFETIME),
            ("metadata_documents.usual_lifetime", self.usual_lifetime, shortest..=longest),
        ] {
            if !accepted.contains(&life) {
                let remedy = format!("{} to {} are accepted", seconds(*accepted.start()), seconds(*accepted.end()));
                return Err(ConfigError::new(name, seconds(life), remedy));
            }
        }
        Ok(())
    }
}

/// A smaller limit would refuse documents that are in use. A larger one would let third parties fill the cache.
const BYTES: RangeInclusive<usize> = 1024..=65_536;
const CACHED: RangeInclusive<usize> = 1..=100_000;
const TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(30);
const LEAST_LIFETIME: Duration = Duration::from_secs(60);
const LONGEST_LIFETIME: Duration = Duration::from_secs(7 * 86_400);
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_documents_are_checked() {
        type Change = fn(&mut MetadataDocuments);
        let seconds = Duration::from_secs;
        let cases: [(Change, &str); 10] = [
            (|documents| documents.most_bytes = 1023, "most_bytes is 1023; 1024 to 65536 are accepted"),
            (|documents| documents.most_bytes = 65_537, "most_bytes is 65537; 1024 to 65536 are accepted"),
            (|documents| documents.most_cached = 0, "most_cached is 0; 1 to 100000 are accepted"),
            (|documents| documents.timeout = Duration::ZERO, "timeout is 0 s; 1 s to 30 s are accepted"),
            (|documents| documents.timeout = Duration::from_secs(31), "timeout is 31 s; 1 s to 30 s are accepted"),
            (
                |documents| documents.shortest_lifetime = Duration::from_secs(59),
                "shortest_lifetime is 59 s; 60 s to 86400 s are accepted",
            ),
            (
                |documents| documents.longest_lifetime = Duration::from_secs(299),
                "shortest_lifetime is 300 s; 60 s to 299 s are accepted",
            ),
            (
                |documents| documents.longest_lifetime = Duration::from_secs(604_801),
                "longest_lifetime is 604801 s; 300 s to 604800 s are accepted",
            ),
            (
                |documents| documents.usual_lifetime = Duration::from_secs(299),
                "usual_lifetime is 299 s; 300 s to 86400 s are accepted",
            ),
            (
                |documents| documents.usual_lifetime = Duration::from_secs(86_401),
                "usual_lifetime is 86401 s; 300 s to 86400 s are accepted",
            ),
        ];
        for (change, expected) in cases {
            let mut documents = MetadataDocuments::default();
            change(&mut documents);
            assert_eq!(documents.check().unwrap_err().to_string(), format!("metadata_documents.{expected}"));
        }
        let edges = MetadataDocuments {
            most_bytes: 65_536,
            timeout: seconds(30),
            shortest_lifetime: seconds(60),
            longest_lifetime: seconds(604_800),
            ..MetadataDocuments::default()
        };
        assert_eq!(edges.check(), Ok(()));
    }
}
