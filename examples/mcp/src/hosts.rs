//! What hosts of the Model Context Protocol meet under these settings: for each, what would fail and why.

use std::error::Error;
use std::fmt;
use std::iter::successors;

use grantor::client::AuthenticationMethod;
use grantor::client_metadata::DocumentError;
use grantor::config::{AssertionAudience, DynamicRegistration, ExcessScopes};
use grantor::redirect_uri::PrivateUseSchemes;
use grantor::scope::ScopeSet;
use grantor::{AuthorizationServer, Config};

/// Why the users of a host cannot connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) host: &'static str,
    /// The field of [`Config`] that decides.
    pub(crate) setting: &'static str,
    /// What happens, and what to set.
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (recorded {RECORDED}), {}: {}", self.host, self.setting, self.message)
    }
}

/// When the reports were written that [`HOSTS`] is made from.
const RECORDED: &str = "2026-03 to 2026-10";

/// A host, as it was recorded.
struct Host {
    name: &'static str,
    /// Its metadata document.
    document: Option<&'static str>,
    habits: &'static [Habit],
}

/// What a host does that depends on a setting.
enum Habit {
    /// It asks for every scope of the metadata, unless a challenge or the resource names others.
    AllScopes,
    /// Its document names only these scopes of other servers.
    ForeignScopes(&'static [&'static str]),
    /// It writes the issuer without a slash at the end.
    IssuerWithoutSlash,
    /// Its document lists `none` beside `private_key_jwt`, and it signs for the token URL with RS256 where the server
    /// offers that method.
    KeyBesideNone,
    /// It sends no `resource`.
    NoResource,
    /// It uses its document only where the metadata lists `none`, and else registers.
    PublicDocument,
    /// It has no document, or does not use it here.
    Registers,
    /// It runs on its provider's machines.
    Remote,
    /// It looks for the metadata at the root only, even if the issuer has a path.
    RootMetadata,
    /// It returns to this private-use scheme, which it registers.
    Scheme(&'static str),
}

const HOSTS: &[Host] = &[
    Host {
        name: "ChatGPT",
        document: Some("https://chatgpt.com/oauth/client.json"),
        habits: &[Habit::KeyBesideNone, Habit::Remote],
    },
    Host {
        name: "Claude",
        document: Some("https://claude.ai/oauth/mcp-oauth-client-metadata"),
        habits: &[Habit::AllScopes, Habit::PublicDocument, Habit::Remote],
    },
    Host { name: "Claude Code", document: None, habits: &[Habit::AllScopes, Habit::RootMetadata] },
    Host { name: "Codex", document: None, habits: &[Habit::IssuerWithoutSlash] },
    Host { name: "Cursor", document: None, habits: &[Habit::Registers, Habit::Scheme("cursor")] },
    Host { name: "Gemini Spark", document: None, habits: &[Habit::NoResource, Habit::Remote] },
    Host {
        name: "Goose",
        document: Some("https://goose-docs.ai/oauth/client-metadata.json"),
        habits: &[Habit::ForeignScopes(&["openid", "profile", "email"])],
    },
    Host { name: "VS Code", document: Some("https://vscode.dev/oauth/client-metadata.json"), habits: &[] },
];

/// Returns what would fail for each host, where clients that come by themselves may have these scopes.
pub(crate) fn report(config: &Config, allowed: &ScopeSet) -> Vec<Finding> {
    if !config.registration.metadata_documents && !is_open(config) {
        let message = "no client can come by itself. Set registration.metadata_documents, or registration.dynamic to \
                       Open.";
        return HOSTS.iter().map(|host| host.finding("registration.metadata_documents", message.into())).collect();
    }
    let findings = HOSTS.iter().flat_map(|host| {
        let failures = host.habits.iter().filter_map(|habit| habit.failure(config, allowed));
        failures.map(|(setting, message)| host.finding(setting, message))
    });
    findings.collect()
}

/// Fetches the documents of the hosts, and returns those that cannot be used. Documents that the policy does not admit
/// are not fetched.
pub(crate) async fn report_documents(server: &AuthorizationServer) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_on = server.config().registration.metadata_documents;
    for (host, url) in HOSTS.iter().filter(|_| is_on).filter_map(|host| Some((host, host.document?))) {
        let Err(error) = server.check_document(url).await else { continue };
        let cause = match &*error {
            DocumentError::Policy => {
                let message = format!("the registration policy does not admit {url}: its users see an error page.");
                findings.push(host.finding("registration.metadata_documents", message));
                continue;
            }
            DocumentError::Status(status) => format!("answered {status} to this machine"),
            error => format!("is of no use to this machine ({})", with_causes(error)),
        };
        let message = format!(
            "{url} {cause}. Its users see an error page. Keep a client under that id in a ClientStore of yours, or \
             switch documents off, so that it registers."
        );
        findings.push(host.finding("registration.metadata_documents", message));
    }
    findings
}

fn with_causes(error: &(dyn Error + 'static)) -> String {
    let texts: Vec<_> = successors(Some(error), |error| (*error).source()).map(ToString::to_string).collect();
    texts.join(": ")
}

impl Host {
    fn finding(&self, setting: &'static str, message: String) -> Finding {
        Finding { host: self.name, setting, message }
    }
}

/// The setting that decides, and what happens.
type Failure = (&'static str, String);

impl Habit {
    fn failure(&self, config: &Config, allowed: &ScopeSet) -> Option<Failure> {
        let registration = &config.registration;
        match self {
            Self::AllScopes => excess(config, allowed),
            Self::ForeignScopes(scopes) => {
                let is_known = |scope: &&str| config.scopes.parse(scope.as_bytes()).is_ok();
                let is_refused =
                    registration.metadata_documents && !drops_excess(config) && !scopes.iter().any(is_known);
                let message = "its document names only scopes of other servers and is refused. Set \
                               registration.excess_scopes to Drop.";
                is_refused.then(|| ("registration.excess_scopes", message.into()))
            }
            Self::IssuerWithoutSlash => {
                let issuer = &config.issuer;
                let message = || {
                    format!(
                        "the issuer {issuer} ends in a slash: it compares another spelling and refuses it. Remove the slash."
                    )
                };
                issuer.ends_with('/').then(|| ("issuer", message()))
            }
            Self::KeyBesideNone => key_beside_none(config),
            Self::NoResource => {
                let resources = &config.resources;
                let has_default = resources.len() < 2 || resources.iter().any(|resource| resource.is_default);
                if config.require_resource {
                    let message = "requests must name a resource, and it names none: it is refused. Set \
                                   require_resource to false.";
                    return Some(("require_resource", message.into()));
                }
                let message = "several resources and no default: clients that send no resource are refused. Mark one \
                               with is_default.";
                (!has_default).then(|| ("resources", message.into()))
            }
            Self::PublicDocument => {
                let is_refused = registration.metadata_documents && !config.public_clients && !is_open(config);
                let message = "token_endpoint_auth_methods_supported has no none: it ignores documents and registers, \
                               which is off. Set public_clients, or registration.dynamic.";
                is_refused.then(|| ("public_clients", message.into()))
            }
            Self::Registers => {
                let message = "it registers itself, which is off or needs a token. Set registration.dynamic to Open.";
                (!is_open(config)).then(|| ("registration.dynamic", message.into()))
            }
            Self::Remote => {
                let message = "it runs elsewhere, and the issuer is on the loopback. Use a public host name.";
                // `http` is for the loopback alone.
                config.issuer.starts_with("http://").then(|| ("issuer", message.into()))
            }
            Self::RootMetadata => {
                let message = "the issuer has a path: some of its releases ask only the root form of the metadata, and \
                               find nothing there. Use an issuer without a path.";
                (!split(&config.issuer).1.is_empty()).then(|| ("issuer", message.into()))
            }
            Self::Scheme(scheme) => {
                let (PrivateUseSchemes::Named(names) | PrivateUseSchemes::ReverseDomain(names)) =
                    &config.redirect_uris.private_use_schemes
                else {
                    return None;
                };
                let is_named = names.iter().any(|named| named == scheme);
                let message = || {
                    format!(
                        "its desktop app returns to {scheme}://…, which is not named: its users see an error page. Add \
                         {scheme} to redirect_uris.private_use_schemes."
                    )
                };
                (is_open(config) && !is_named).then(|| ("redirect_uris.private_use_schemes", message()))
            }
        }
    }
}

/// Whether anybody may register. No host has an initial access token.
fn is_open(config: &Config) -> bool {
    config.registration.dynamic == DynamicRegistration::Open
}

fn drops_excess(config: &Config) -> bool {
    config.registration.excess_scopes == ExcessScopes::Drop
}

/// Splits an issuer into its origin and its path.
fn split(issuer: &str) -> (&str, &str) {
    let host = issuer.find("://").map_or(0, |colon| colon + 3);
    let end = issuer[host..].find('/').map_or(issuer.len(), |slash| host + slash);
    (&issuer[..end], issuer[end..].trim_end_matches('/'))
}

fn key_beside_none(config: &Config) -> Option<Failure> {
    let (registration, authentication) = (&config.registration, &config.client_authentication);
    let has_keys = authentication.methods.contains(AuthenticationMethod::PrivateKeyJwt);
    let takes_token_url =
        registration.token_url_audience || authentication.assertion_audience == AssertionAudience::Legacy;
    let failure = |setting, message: &str| Some((setting, message.to_owned()));
    if !registration.metadata_documents {
        return None;
    }
    if !config.public_clients {
        return failure(
            "public_clients",
            "it cannot connect: its document lists none, so it is a public client. Set public_clients.",
        );
    }
    if !has_keys && !registration.none_beside_private_key_jwt {
        return failure(
            "registration.none_beside_private_key_jwt",
            "it cannot connect: its document asks for private_key_jwt, which is off. Set \
             registration.none_beside_private_key_jwt, or add private_key_jwt.",
        );
    }
    if has_keys && !authentication.rs256 {
        return failure(
            "client_authentication.rs256",
            "its users will agree and then see an error: it signs with RS256, which is off. Set \
             client_authentication.rs256, or remove private_key_jwt.",
        );
    }
    if has_keys && !takes_token_url {
        let issuer = &config.issuer;
        let token_url = format!("{}/oauth2/token", issuer.trim_end_matches('/'));
        let message = format!(
            "its users will agree and then see an error: it signs for {token_url}, and assertion_audience takes \
             {issuer} alone. Set registration.token_url_audience, or remove private_key_jwt."
        );
        return failure("registration.token_url_audience", &message);
    }
    None
}

/// Names the scopes of the metadata that are not allowed. Protected resources with basic scopes name others.
fn excess(config: &Config, allowed: &ScopeSet) -> Option<Failure> {
    let names_others =
        !config.resources.is_empty() && config.resources.iter().all(|resource| !resource.basic_scopes.is_empty());
    if names_others || drops_excess(config) {
        return None;
    }
    let mut excess = config.scopes.supported();
    excess.retain(|token| config.scopes.parse(token.as_bytes()).is_ok_and(|scope| !scope.is_subset_of(allowed)));
    let message = format!(
        "clients that ask for every scope of the metadata ask for {} scopes that open clients may not have ({}). Name \
         scopes in your 401 (basic_scopes of a protected resource), or set registration.excess_scopes to Drop.",
        excess.len(),
        excess.first()?,
    );
    Some(("registration.excess_scopes", message))
}
