//! What hosts of the Model Context Protocol meet under these settings: for each, what would fail and why.

use std::fmt;
use std::sync::Arc;

use crate::base::with_causes;
use crate::config::{AssertionAudience, Config, DynamicRegistration};
use crate::fetch::documents::Documents;
use crate::hooks::{DocumentRequest, RegistrationPolicy};
use crate::jose::IS_AVAILABLE;
use crate::model::client_metadata::{DocumentError, DocumentUrl, RegistrationBounds};
use crate::wire::Endpoint;
use crate::wire::endpoint::path_of;

/// Why the users of a host of the Model Context Protocol cannot connect.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpHostFinding {
    /// The name of the host.
    pub host: &'static str,
    /// When the hosts were recorded, as the first and the last month. They may have changed since.
    pub recorded: &'static str,
    /// The field of [`Config`] that decides.
    pub setting: &'static str,
    /// What happens, and what to set.
    pub message: String,
}

impl fmt::Display for McpHostFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (recorded {}), {}: {}", self.host, self.recorded, self.setting, self.message)
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

/// Returns what would fail for each host; `bounds` are those of the registration policy, if they are known.
pub(super) fn report(config: &Config, bounds: Option<&RegistrationBounds>) -> Vec<McpHostFinding> {
    if !config.registration.metadata_documents && !is_open(config) {
        let message = "no client can come by itself. Set registration.metadata_documents, or registration.dynamic to \
                       Open.";
        return HOSTS.iter().map(|host| host.finding("registration.metadata_documents", message.into())).collect();
    }
    let findings = HOSTS.iter().flat_map(|host| {
        let failures = host.habits.iter().filter_map(|habit| habit.failure(config, bounds));
        failures.map(|(setting, message)| host.finding(setting, message))
    });
    findings.collect()
}

/// Fetches the documents of the hosts, and returns those that cannot be used. Documents that the policy does not admit are
/// not fetched.
pub(super) async fn report_documents(
    documents: &Documents,
    policy: Option<&Arc<dyn RegistrationPolicy>>,
) -> Vec<McpHostFinding> {
    let mut findings = Vec::new();
    let mut report = |host: &Host, message| findings.push(host.finding("registration.metadata_documents", message));
    for (host, text) in HOSTS.iter().filter_map(|host| Some((host, host.document?))) {
        let Ok(url) = DocumentUrl::parse(text) else { continue };
        if let Some(policy) = policy
            && !policy.admits_document(&DocumentRequest::new(text, url.host())).await
        {
            report(host, format!("the registration policy does not admit {text}: its users see an error page."));
            continue;
        }
        let Err(error) = documents.fetch(url).await else { continue };
        let cause = if let DocumentError::Status(status) = &*error {
            format!("answered {status} to this machine")
        } else {
            format!("is of no use to this machine ({})", with_causes(&*error))
        };
        let message = format!(
            "{text} {cause}. Its users see an error page. Keep a client under that id in a ClientStore of yours, or \
             switch documents off, so that it registers."
        );
        report(host, message);
    }
    findings
}

impl Host {
    fn finding(&self, setting: &'static str, message: String) -> McpHostFinding {
        McpHostFinding { host: self.name, recorded: RECORDED, setting, message }
    }
}

/// The setting that decides, and what happens.
type Failure = (&'static str, String);

impl Habit {
    fn failure(&self, config: &Config, bounds: Option<&RegistrationBounds>) -> Option<Failure> {
        let registration = &config.registration;
        match self {
            Self::AllScopes => excess(config, bounds?),
            Self::ForeignScopes(scopes) => {
                let is_known = |scope: &&str| config.scopes.read(scope.as_bytes()).is_ok();
                let is_refused =
                    registration.metadata_documents && !config.drops_excess_scopes() && !scopes.iter().any(is_known);
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
                config.is_development_on_loopback().then(|| ("issuer", message.into()))
            }
            Self::RootMetadata => {
                let message = "the issuer has a path: some of its releases ask only the root form of the metadata, and \
                               find nothing there. Use an issuer without a path.";
                (!path_of(&config.issuer).is_empty()).then(|| ("issuer", message.into()))
            }
            Self::Scheme(scheme) => {
                let is_named = config.redirect_uris.private_use_schemes.named().iter().any(|named| named == scheme);
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

fn key_beside_none(config: &Config) -> Option<Failure> {
    let (registration, authentication) = (&config.registration, &config.client_authentication);
    let has_keys = IS_AVAILABLE && authentication.accepts_assertions();
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
        let (token_url, issuer) = (config.url_of(Endpoint::Token), &config.issuer);
        let message = format!(
            "its users will agree and then see an error: it signs for {token_url}, and assertion_audience takes \
             {issuer} alone. Set registration.token_url_audience, or remove private_key_jwt."
        );
        return failure("registration.token_url_audience", &message);
    }
    None
}

/// Names the scopes of the metadata that the bounds do not admit. Protected resources with basic scopes name others.
fn excess(config: &Config, bounds: &RegistrationBounds) -> Option<Failure> {
    let names_others =
        !config.resources.is_empty() && config.resources.iter().all(|resource| !resource.basic_scopes.is_empty());
    if names_others || config.drops_excess_scopes() {
        return None;
    }
    let mut excess = config.scopes.supported();
    excess.retain(|token| config.scopes.read(token.as_bytes()).is_ok_and(|scope| !bounds.admits_scopes(&scope)));
    let message = format!(
        "clients that ask for every scope of the metadata ask for {} scopes that open clients may not have ({}). Name \
         scopes in your 401 (basic_scopes of a protected resource), or set registration.excess_scopes to Drop.",
        excess.len(),
        excess.first()?,
    );
    Some(("registration.excess_scopes", message))
}
