//! The settings of a connection to PostgreSQL.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::postgres::connector::{PostgresConnector, trusting};
use crate::store::postgres::error::{PostgresError, PostgresProblem};
use crate::store::postgres::schema::Schema;

/// The longest time-out of a statement. A write may begin within three time-outs of being sent (`Link::latest`), and
/// then runs for one at most. Through a pooler, its transaction may then be idle for one, and its commit takes one at
/// most. With 8 minutes, these are 48 minutes, less than the hour within which a store applies a write or never does.
const LONGEST_STATEMENT: Duration = Duration::from_secs(8 * 60);
/// How long a statement waits for a row that others have locked, but at most half of its own time-out.
const LONGEST_LOCK: Duration = Duration::from_secs(2);
/// The default of tokio-postgres, which means that the connection string sets none.
const DEFAULT_KEEPALIVE: Duration = Duration::from_secs(2 * 60 * 60);

/// Settings for connecting a [`PostgresStore`](crate::PostgresStore).
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) config: Config,
    /// Opens the connections, in place of the connection string.
    pub(super) connector: Option<Arc<dyn PostgresConnector>>,
    /// The authorities to trust, if not those of the system.
    pub(super) authorities: Option<MakeRustlsConnect>,
    pub(super) schema: Schema,
    pub(super) connect_timeout: Duration,
    pub(super) statement_timeout: Duration,
    pub(super) lock_timeout: Duration,
    pub(super) queue_limit: usize,
    pub(super) batch_limit: usize,
}

impl PostgresOptions {
    /// Reads a connection string, such as `host=db.internal user=grantor dbname=grantor` or
    /// `postgresql://grantor@db.internal/grantor`.
    ///
    /// The string may name several hosts, separated by commas; the store uses the one that takes writes, as with
    /// `target_session_attrs=read-write`. Unless the string sets them, the connect time-out is 5 seconds per host, a
    /// silent network is noticed after 10 seconds, and the application name is `grantor`. Each connection adds a hyphen
    /// and 8 random letters and digits to that name, so that the store recognizes the connections that a pooler shares.
    ///
    /// `sslmode=require` and `verify-full` mean the same: every connection is encrypted, and the server's certificate
    /// must name its host and be issued by an authority that the system trusts, or by one of
    /// [`root_certificates`](Self::root_certificates). `sslmode=prefer`, the default, does not encrypt without these.
    ///
    /// # Errors
    ///
    /// [`PostgresProblem::Configuration`] if the string is invalid or names no host.
    pub fn new(connection: &str) -> Result<Self, PostgresError> {
        let parsed = parsed(connection);
        let mut config = parsed.map_err(|error| PostgresError::new(PostgresProblem::Configuration, error))?;
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts == 0 {
            return Err(PostgresError::new(PostgresProblem::Configuration, "the connection string names no host"));
        }
        // A standby would return outdated rows.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        let of_a_host = config.get_connect_timeout().copied().unwrap_or(Duration::from_secs(5));
        config.connect_timeout(of_a_host);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(Duration::from_secs(10));
        }
        if config.get_keepalives_idle() == DEFAULT_KEEPALIVE {
            config.keepalives_idle(Duration::from_secs(10));
            config.keepalives_interval(Duration::from_secs(5));
            config.keepalives_retries(3);
        }
        if config.get_application_name().is_none() {
            config.application_name("grantor");
        }
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        Ok(Self {
            config,
            connector: None,
            authorities: None,
            schema: Schema::new("grantor")?,
            connect_timeout: of_a_host.saturating_mul(hosts.saturating_add(1)),
            statement_timeout: Duration::from_secs(10),
            lock_timeout: LONGEST_LOCK,
            queue_limit: 4096,
            batch_limit: 256,
        })
    }

    /// Sets the schema of the tables, by default `grantor`.
    ///
    /// # Errors
    ///
    /// [`PostgresProblem::SchemaName`] if it is empty, longer than 63 bytes, reserved, or contains a NUL byte.
    pub fn schema(mut self, name: &str) -> Result<Self, PostgresError> {
        self.schema = Schema::new(name)?;
        Ok(self)
    }

    /// Encrypts all connections, and trusts servers whose certificate names their host and was issued by one of these
    /// authorities, in PEM, instead of those of the system. `sslmode=disable` still means an unencrypted connection.
    ///
    /// # Errors
    ///
    /// [`PostgresProblem::Configuration`] if the text contains no certificate or an invalid one, or after
    /// [`connector`](Self::connector).
    pub fn root_certificates(mut self, pem: &[u8]) -> Result<Self, PostgresError> {
        if self.connector.is_some() {
            let text = "PostgresOptions::connector decides which certificates to trust: pass these to it instead";
            return Err(PostgresError::new(PostgresProblem::Configuration, text));
        }
        self.authorities = Some(trusting(pem)?);
        if self.config.get_ssl_mode() == SslMode::Prefer {
            self.config.ssl_mode(SslMode::Require);
        }
        Ok(self)
    }

    /// Opens all connections with this, which also decides about encryption and about the certificates to trust, in
    /// place of [`root_certificates`](Self::root_certificates).
    #[must_use]
    pub fn connector(mut self, connector: impl PostgresConnector + 'static) -> Self {
        self.connector = Some(Arc::new(connector));
        self
    }

    /// Sets how long the server may work on one statement: 10 seconds by default, at least 100 milliseconds and at most
    /// 8 minutes. Other values become the nearest of these. After one and a half times that, the connection is closed.
    #[must_use]
    pub fn statement_timeout(mut self, limit: Duration) -> Self {
        self.statement_timeout = limit.clamp(Duration::from_millis(100), LONGEST_STATEMENT);
        self.lock_timeout = LONGEST_LOCK.min(self.statement_timeout / 2);
        self
    }

    /// Sets how many writes, and how many reads, may wait: 4096 by default, 1 to 1 048 576. Other values become the
    /// nearest of these. Any further call fails at once with a transient error.
    #[must_use]
    pub fn queue_limit(mut self, calls: usize) -> Self {
        self.queue_limit = calls.clamp(1, 1 << 20);
        self
    }

    /// Sets how many writes may share one commit, and how many reads may share one statement: 256 by default, 1 to
    /// 4096. Other values become the nearest of these.
    #[must_use]
    pub fn batch_limit(mut self, calls: usize) -> Self {
        self.batch_limit = calls.clamp(1, 1 << 12);
        self
    }

    /// Returns whether the primary is there and refuses writes, given why no connection that writes was opened. Of
    /// several hosts, the one that answers may be an earlier primary: without the newest tokens, a request would be
    /// refused for good.
    pub(super) fn is_read_only(&self, error: &PostgresError) -> bool {
        let hosts = self.config.get_hosts().len().max(self.config.get_hostaddrs().len());
        hosts == 1 && error.problem() == PostgresProblem::ReadOnly
    }
}

/// Parses a connection string, in which `sslmode` may be `verify-full` as well.
fn parsed(connection: &str) -> Result<Config, tokio_postgres::Error> {
    let is_about_mode = |error: &tokio_postgres::Error| {
        std::error::Error::source(error).is_some_and(|source| source.to_string().contains("`sslmode`"))
    };
    let refused = match connection.parse() {
        Err(error) if is_about_mode(&error) => error,
        parsed => return parsed,
    };
    // Here `require` checks the certificate too. The same word elsewhere, as in a password, does not change the error.
    let mut places = connection.match_indices("verify-full").map(|(place, word)| {
        let (before, rest) = connection.split_at(place);
        format!("{before}{}", rest.replacen(word, "require", 1)).parse()
    });
    places.find(|parsed| !parsed.as_ref().is_err_and(is_about_mode)).unwrap_or(Err(refused))
}

impl fmt::Debug for PostgresOptions {
    /// Leaves out the password and other parts of the connection string.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.config.get_hosts().iter().map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        });
        f.debug_struct("PostgresOptions")
            .field("hosts", &hosts.collect::<Vec<_>>())
            .field("database", &self.config.get_dbname())
            .field("schema", &self.schema.name())
            .field("ssl_mode", &self.config.get_ssl_mode())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_hosts_none_is_read_while_it_refuses_writes() {
        for (connection, is_read) in [("host=a", true), ("host=a,b", false), ("hostaddr=::1,::2 user=u", false)] {
            let options = PostgresOptions::new(connection).unwrap();
            assert_eq!(options.is_read_only(&PostgresProblem::ReadOnly.into()), is_read, "{connection}");
            assert!(!options.is_read_only(&PostgresProblem::Unreachable.into()), "{connection}");
        }
    }

    #[test]
    fn verify_full_is_read_in_each_form_and_changes_no_password() {
        for text in [
            "host=a password=verify-full sslmode=verify-full",
            "sslmode = verify-full host=a password='verify-full'",
            "host=a sslmode\n=\t'verify-full' password = verify-full",
            "postgresql://user:verify-full@a/verify-full?sslmode=verify-full",
            "postgresql://user:verify-full@a?connect_timeout=3&sslmode=verify-full&application_name=verify-full",
        ] {
            let config = parsed(text).unwrap();
            assert_eq!(config.get_ssl_mode(), SslMode::Require, "{text}");
            assert_eq!(config.get_password(), Some(b"verify-full".as_slice()), "{text}");
        }
    }

    #[test]
    fn the_wrong_part_of_a_connection_string_is_named() {
        for (text, part) in [
            ("postgresql://a?sslmode=verify-full&connect_timeout=abc", "connect_timeout"),
            ("host=a connect_timeout=abc sslmode=verify-full", "connect_timeout"),
            ("host=a password=verify-full sslmode=verify-ca", "sslmode"),
            ("host=a sslmode=verify-fully", "sslmode"),
        ] {
            let error = PostgresOptions::new(text).unwrap_err();
            let source = std::error::Error::source(&error).and_then(std::error::Error::source).unwrap();
            assert!(source.to_string().contains(part), "{text}: {source}");
        }
    }
}
