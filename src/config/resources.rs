//! Checks that the protected resources do not contradict each other, the catalog or the profile.

use crate::config::Config;
use crate::config::check::is_loopback;
use crate::config::rule::{ConfigError, quoted};
use crate::model::protected_resource::{Identifier, OFFLINE_ACCESS, ProtectedResource};
use crate::model::redirect_uri::{WebUri, check_host, uri_text};
use crate::scope::{ScopeError, ScopeSet};
use crate::text::check_line;

/// The attributes of a challenge. Some clients search for the name and `=` anywhere in the header.
const ATTRIBUTES: [&str; 5] = ["realm=", "error=", "error_description=", "scope=", "resource_metadata="];

impl Config {
    pub(super) fn check_resources(&self) -> Result<(), ConfigError> {
        let resources = self.resources.as_slice();
        if resources.is_empty() {
            return Ok(());
        }
        let mut before: Vec<Identifier> = Vec::new();
        for resource in resources {
            let identifier = self.check_identifier(resource)?;
            if before.iter().any(|earlier| earlier.is_same_as(&identifier)) {
                return Err(refused(resource, "an identifier that no other resource has is accepted"));
            }
            before.push(identifier);
            check_words(resource)?;
            self.check_scopes_of(resource)?;
        }
        check_marks(resources, &before)?;
        self.check_challenges()?;
        self.check_every_scope_is_served()
    }

    fn check_identifier(&self, resource: &ProtectedResource) -> Result<Identifier, ConfigError> {
        let identifier = Identifier::parse(&resource.identifier).ok_or_else(|| refused(resource, IDENTIFIER))?;
        let is_safe = identifier.is_https() || (self.development && is_loopback(identifier.host()));
        if !is_safe {
            return Err(refused(resource, PLAIN_HTTP));
        }
        match ATTRIBUTES.iter().find(|attribute| resource.identifier.contains(*attribute)) {
            Some(attribute) => Err(refused(resource, format!("an identifier without {attribute:?} is accepted"))),
            None => Ok(identifier),
        }
    }

    fn check_scopes_of(&self, resource: &ProtectedResource) -> Result<(), ConfigError> {
        let served = self.read_scopes(resource, &resource.scopes)?;
        let basic = self.read_scopes(resource, &resource.basic_scopes)?;
        let offered = self.scopes.union(&[&served, &self.scopes.identity()]);
        if !resource.scopes.is_empty() && !basic.is_subset_of(&offered) {
            return Err(of(resource, "basic_scopes", basic.as_str(), "scopes that the resource serves are accepted"));
        }
        if basic.iter().any(|scope| scope.name() == OFFLINE_ACCESS) {
            return Err(of(resource, "basic_scopes", OFFLINE_ACCESS, "scopes of the resource itself are accepted"));
        }
        Ok(())
    }

    fn read_scopes(&self, resource: &ProtectedResource, tokens: &[String]) -> Result<ScopeSet, ConfigError> {
        let read = self.scopes.select(tokens.iter().map(String::as_str));
        read.map_err(|error| of(resource, "scopes", &tokens.join(" "), &error.to_string()))
    }

    /// A scope that no resource serves could never be granted.
    fn check_every_scope_is_served(&self) -> Result<(), ConfigError> {
        if self.resources.iter().any(|resource| resource.scopes.is_empty()) {
            return Ok(());
        }
        let mut sets = Vec::new();
        for resource in &self.resources {
            sets.push(self.read_scopes(resource, &resource.scopes)?);
        }
        let served = self.scopes.union(&sets.iter().collect::<Vec<_>>());
        let all = self.scopes.of_resources();
        match all.iter().find(|scope| !served.iter().any(|held| held.covers(scope))) {
            None => Ok(()),
            Some(scope) => {
                let identifiers: Vec<&str> = self.resources.iter().map(|own| own.identifier.as_str()).collect();
                let remedy = format!("the resources must together serve every scope; none serves {scope}");
                Err(ConfigError::new("resources", identifiers.join(" "), remedy))
            }
        }
    }

    /// Checks that no text in challenges contains the name of an attribute.
    fn check_challenges(&self) -> Result<(), ConfigError> {
        let misleads = |text: &str| ATTRIBUTES.iter().any(|attribute| text.contains(attribute));
        if misleads(&self.issuer) {
            return Err(ConfigError::new(
                "issuer",
                quoted(&self.issuer),
                "an issuer without names of attributes is accepted",
            ));
        }
        match self.scopes.supported().iter().find(|token| misleads(token)) {
            Some(token) => {
                Err(ConfigError::new("scopes", quoted(token), "scopes without names of attributes are accepted"))
            }
            None => Ok(()),
        }
    }
}

/// Checks the texts and links that pages and documents show.
fn check_words(resource: &ProtectedResource) -> Result<(), ConfigError> {
    if let Err(error) = check_line(&resource.name) {
        return Err(of(resource, "name", &resource.name, &format!("the text {error}")));
    }
    for (name, link) in [
        ("documentation", &resource.documentation),
        ("policy_uri", &resource.policy_uri),
        ("tos_uri", &resource.tos_uri),
    ] {
        let is_web = |link: &str| {
            let uri = uri_text(link.as_bytes()).ok().and_then(|text| WebUri::split(text).ok());
            uri.is_some_and(|uri| check_host(uri.host).is_ok())
        };
        if let Some(link) = link.as_deref().filter(|link| !is_web(link)) {
            return Err(of(resource, name, link, "an https or http URL is accepted"));
        }
    }
    Ok(())
}

/// Checks that there is at most one default, and at most one document at the path without a resource path.
fn check_marks(resources: &[ProtectedResource], identifiers: &[Identifier]) -> Result<(), ConfigError> {
    let mut defaults = resources.iter().filter(|resource| resource.is_default);
    if let (Some(_), Some(second)) = (defaults.next(), defaults.next()) {
        return Err(refused(second, "only one resource with is_default is accepted"));
    }
    let mut roots =
        resources.iter().zip(identifiers).filter(|(own, identifier)| own.root_metadata || identifier.path().is_empty());
    let first_marked = resources.iter().find(|resource| resource.root_metadata);
    if let (Some(_), Some(_), Some(marked)) = (roots.next(), roots.next(), first_marked) {
        return Err(refused(
            marked,
            "root_metadata is accepted for only one resource, and only if no other identifier is without a path",
        ));
    }
    Ok(())
}

fn refused(resource: &ProtectedResource, remedy: impl Into<std::borrow::Cow<'static, str>>) -> ConfigError {
    ConfigError::new("resources", quoted(&resource.identifier), remedy)
}

/// An error in one member of a resource.
fn of(resource: &ProtectedResource, member: &str, value: &str, remedy: &str) -> ConfigError {
    let value = format!("{} with {member} {}", quoted(&resource.identifier), quoted(value));
    ConfigError::new("resources", value, remedy.to_owned())
}

impl ConfigError {
    /// An error for a resource that is not in the settings.
    pub(crate) fn unknown_resource(identifier: &str, resources: &[ProtectedResource]) -> Self {
        let known: Vec<String> = resources.iter().map(|own| quoted(&own.identifier)).collect();
        let remedy = match known.as_slice() {
            [] => "Config::resources is empty: add this resource to it".to_owned(),
            known => format!("one of {} is accepted", known.join(", ")),
        };
        Self::new("resources", quoted(identifier), remedy)
    }

    /// An error for a needed scope that the resource does not serve.
    pub(crate) fn scope_not_served(tokens: &str) -> Self {
        Self::new("scopes", quoted(tokens), "scopes that the resource serves are accepted")
    }

    /// An error for an operation without a scope.
    pub(crate) fn no_scope_named() -> Self {
        Self::new("scopes", "empty", "at least one scope is accepted; for any valid token, use ScopeSet::empty()")
    }

    /// An error for a needed scope that is not in the catalog.
    pub(crate) fn unknown_scope(tokens: &str, error: &ScopeError) -> Self {
        Self::new("scopes", quoted(tokens), error.to_string())
    }
}

const IDENTIFIER: &str = "an absolute https URL without user, query, fragment and dot segments is accepted (RFC 8707 \
                          section 2)";
const PLAIN_HTTP: &str =
    "an https URL is accepted, or plain http on a loopback host with development on (RFC 8707 section 2)";
