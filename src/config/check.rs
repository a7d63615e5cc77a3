//! Which settings are refused: one table with the range, unit and rule of each. `build()` walks it, and the guide
//! prints it.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use crate::config::Profile::{Fapi, Mcp, Platform, Strict};
use crate::config::clients::ASSERTION_BYTES;
use crate::config::rule::{ConfigError, Parts, Rule, in_seconds, number, quoted, related, seconds, unless, value};
use crate::config::tokens::PROOF_BYTES;
use crate::config::{
    AssertionAudience, AuthorizationErrors, Config, DpopBoundTokens, DynamicRegistration, Identity, PkceRequirement,
    PushedRequests,
};
use crate::model::client::{AuthenticationMethod, AuthenticationMethods, ClientType};
use crate::model::redirect_uri::{
    LoopbackHttp, PrivateUseSchemes, RedirectUriComparison, WebScheme, WebUri, check_host, check_path_and_query,
    is_app_scheme,
};
use crate::scope::OPENID;
use crate::wire::cors::Cors;

impl Config {
    /// Checks the settings against each other, the profile, the standards and the parts of the server.
    pub(crate) fn check(&self, parts: &Parts) -> Result<(), ConfigError> {
        RULES.iter().try_for_each(|rule| rule.check(self, parts))
    }

    /// Adds the scopes of OpenID Connect to the catalog.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] if the catalog has one of them.
    pub(crate) fn with_identity_scopes(mut self) -> Result<Self, ConfigError> {
        if let Some(identity) = &self.identity {
            self.scopes = self.scopes.with_identity(&identity.scopes).map_err(|error| {
                let remedy = "the scopes of OpenID Connect are added to the catalog, so it may have none of them";
                ConfigError::new("scopes", format!("a catalog that they cannot be added to ({error})"), remedy)
            })?;
        }
        Ok(self)
    }

    pub(crate) fn is_development_on_loopback(&self) -> bool {
        self.development && is_on_loopback(&self.issuer)
    }
}

/// All rules, in the order in which they are checked.
const RULES: &[Rule] = &[
    // > The authorization server's issuer identifier, which is a URL that uses the "https" scheme and has no
    // > query or fragment components.
    //
    // [RFC 8414 section 2]
    value("issuer", HTTPS_ISSUER, |own, _| unless(issuer_uri(&own.issuer).is_some(), quoted(&own.issuer))),
    // The metadata and `iss` have it as written, and clients compare strings [RFC 8414 section 3.3].
    value("issuer", PLAIN_ISSUER, |own, _| {
        let plain = plain_issuer(&own.issuer);
        unless(own.issuer == plain, format!("{}, which clients write {}", quoted(&own.issuer), quoted(&plain)))
    }),
    value("issuer", PLAIN_HTTP_ISSUER, |own, _| unless(has_safe_scheme(own), quoted(&own.issuer))),
    value("redirect_uris.comparison", "only Exact is accepted", |own, _| {
        only(own.redirect_uris.comparison, RedirectUriComparison::Exact)
    })
    .only_in(&[Strict, Mcp, Fapi], "RFC 9700 section 2.1"),
    value("authorization.pkce", "only AllClients is accepted", |own, _| {
        // Confidential clients of OpenID Connect may rely on the nonce.
        only(own.authorization.pkce, PkceRequirement::AllClients)
            .filter(|_| own.profile != Strict || !own.has_identity())
    })
    .only_in(&[Strict, Mcp, Fapi], "RFC 9700 section 2.1.1"),
    value("redirect_uris.private_use_schemes", "only Named is accepted", |own, _| {
        let schemes = &own.redirect_uris.private_use_schemes;
        unless(matches!(schemes, PrivateUseSchemes::Named(_)), format!("{schemes:?}"))
    })
    .only_in(&[Mcp], "MCP authorization, communication security"),
    seconds("authorization.hold_lifetime", 1..=NO_LIMIT, |own| own.authorization.hold_lifetime),
    seconds("authorization.code_lifetime", 1..=NO_LIMIT, |own| own.authorization.code_lifetime),
    seconds("tokens.access_lifetime", 1..=NO_LIMIT, |own| own.tokens.access_lifetime),
    seconds("tokens.refresh_lifetime", 1..=NO_LIMIT, |own| own.tokens.refresh_lifetime),
    seconds("tokens.grant_lifetime", 1..=NO_LIMIT, |own| own.tokens.grant_lifetime.unwrap_or(Duration::MAX)),
    // > A maximum authorization code lifetime of 10 minutes is RECOMMENDED.
    seconds("authorization.code_lifetime", 0..=600, |own| own.authorization.code_lifetime).by("RFC 6749 section 4.1.2"),
    // Long enough for a request that is sent at once, and no longer than needed, because the client can get another
    // token.
    seconds("client_credentials.lifetime", 60..=3600, |own| own.client_credentials.lifetime),
    // Long enough for the request that the token is for. Up to 300 s, a revoked token ends within the described five
    // minutes everywhere.
    seconds("tokens.jwt_lifetime", 60..=900, |own| own.tokens.jwt_lifetime),
    // Purges run minutes apart. After a clock jump of more than a month, a purge would delete nearly everything with a
    // shorter lifetime.
    seconds("clock_jump", 3600..=2_592_000, |own| own.clock_jump),
    // A key is a secret, so the error names its place instead.
    value("refresh.derivation_keys", "each key may occur once", |own, _| {
        let mut names = BTreeSet::new();
        let repeated = own.refresh.derivation_keys.iter().position(|key| !names.insert(key.name()));
        repeated.map(|place| format!("a list with a repeated key at place {}", place + 1))
    }),
    related("refresh.grace", GRACE, Config::check_grace),
    value("tokens.prefix", PREFIX, |own, _| unless(is_prefix(&own.tokens.prefix), quoted(&own.tokens.prefix))),
    value("redirect_uris.private_use_schemes", NAMED_SCHEME, |own, _| {
        own.redirect_uris
            .private_use_schemes
            .named()
            .iter()
            .find(|scheme| !is_lower_app_scheme(scheme))
            .map(|scheme| quoted(scheme))
    }),
    value("cors", "at least one origin is accepted; for none, use Cors::Off", |own, _| {
        unless(own.cors != Cors::Origins(Vec::new()), "an empty list")
    }),
    value("cors", ORIGIN, |own, _| no_origin(&own.cors, &[])),
    value("devices.cors", "Cors::Off or a list of at least one origin is accepted", |own, _| match &own.devices.cors {
        Cors::AnyOrigin => Some("AnyOrigin".into()),
        Cors::Origins(origins) => unless(!origins.is_empty(), "an empty list"),
        Cors::Off => None,
    }),
    value("devices.cors", PAGE_ORIGIN, |own, _| no_origin(&own.devices.cors, &PACKAGED)),
    value("require_resource", "only false is accepted without resources", |own, _| {
        only_with(!own.resources.is_empty(), own.require_resource, false)
    }),
    // Clients would wait for an ID token.
    value("scopes", NO_OPENID, |own, _| {
        let has_openid = !own.has_identity() && own.scopes.definition(OPENID).is_some();
        unless(!has_openid, "a catalog with openid")
    }),
    // Each of its codes needs a page, so no client could sign a user in again silently.
    value("identity", "only None is accepted", |own, _| unless(!own.has_identity(), "Some")).only_in(&[Platform], ""),
    value("identity", JOSE_FOR_ID_TOKENS, |own, parts| unless(parts.has_jose || !own.has_identity(), "Some")),
    value("identity.scopes", "plain scopes without claims of the protocol are accepted", |own, _| {
        own.identity.as_ref().and_then(Identity::refused_scope)
    }),
    value("identity.scopes", CLAIMS_HOOK, |own, parts| {
        let needs_hook = own.identity.as_ref().is_some_and(Identity::has_claims);
        unless(parts.has_claims || !needs_hook, "a list of scopes with claims")
    }),
    seconds("identity.id_token_lifetime", 60..=3600, |own| {
        own.identity.as_ref().map_or(Duration::from_secs(60), |identity| identity.id_token_lifetime)
    }),
    value("identity.acr_values", "texts of 1 to 255 bytes without blanks are accepted", |own, _| {
        own.identity.as_ref().and_then(Identity::refused_acr_value).map(quoted)
    }),
    value("identity.ui_locales", "language tags such as en-GB are accepted (RFC 5646)", |own, _| {
        own.identity.as_ref().and_then(Identity::refused_locale).map(quoted)
    }),
    related("resources", RESOURCES, Config::check_resources),
    // Requests of the platform profile name no resource.
    value("require_resource", "only false is accepted", |own, _| only(own.require_resource, false))
        .only_in(&[Platform], ""),
    value("resources", "the platform profile needs one of them with is_default", |own, _| {
        let is_clear = own.profile != Platform || own.resources.len() < 2;
        let has_default = own.resources.iter().any(|resource| resource.is_default);
        unless(is_clear || has_default, format!("{} resources without a default", own.resources.len()))
    }),
    number("limits.body_bytes", 4096..=NO_LIMIT, |own| count(own.limits.body_bytes)),
    number("limits.grants", 1..=NO_LIMIT, |own| count(own.limits.grants)),
    number("registration.form.name", 1..=NO_LIMIT, |own| count(own.registration.form.name)),
    number("registration.form.website", 1..=NO_LIMIT, |own| count(own.registration.form.website)),
    value("limits.consent_requests", "1 to 800 are accepted, and usize::MAX for no limit", |own, _| {
        // A page of a list has 1000 items: these, and about 200 recently decided requests.
        let requests = own.limits.consent_requests;
        unless((1..=800).contains(&requests) || requests == usize::MAX, requests)
    }),
    number("registration.form.logo_pixels", 1..=NO_LIMIT, |own| own.registration.form.logo_pixels.into()),
    // With the maximum, each of the eight records takes about 22 kB. It takes 265 kB if its tokens have different
    // scopes, as many as the platform defines.
    number("limits.client_credentials_tokens", 1..=4096, |own| own.limits.client_credentials_tokens.into()),
    // Their places are drawn by number, and all of them may be in use. A larger number would not be a limit. Each of
    // the four rooms has at least one place.
    number("limits.unreviewed_clients", 10..=1 << 24, |own| own.limits.unreviewed_clients.into()),
    // A person must get from the registration to the consent page, and may need to sign up in between.
    seconds("registration.unused_lifetime", 3600..=NO_LIMIT, |own| own.registration.unused_lifetime),
    value("client_authentication.methods", NONE, |own, _| {
        let methods = own.client_authentication.methods;
        unless(!methods.contains(AuthenticationMethod::None), names(methods))
    }),
    value("client_authentication.methods", NO_METHOD, |own, _| {
        let methods = own.client_authentication.methods;
        unless(!methods.is_empty() || own.public_clients, names(methods))
    }),
    // A client whose clock is wrong by more than a minute should set it.
    value("client_authentication.clock_skew", "0 s to 60 s are accepted", |own, _| {
        let skew = own.client_authentication.clock_skew;
        unless(skew <= Duration::from_secs(60), in_seconds(skew))
    }),
    value("limits.body_bytes", "more than the 8192 bytes of an assertion is accepted", |own, _| {
        let fits = own.limits.body_bytes > ASSERTION_BYTES;
        unless(fits || !own.client_authentication.accepts_assertions(), own.limits.body_bytes)
    }),
    value("limits.body_bytes", "more than the 4096 bytes of a DPoP proof is accepted", |own, _| {
        unless(own.limits.body_bytes > PROOF_BYTES || !own.dpop.reads_proofs(), own.limits.body_bytes)
    }),
    // The current key, the previous one and the next one. Keys are secrets, so the error states only their number.
    value("dpop.nonce_keys", "at most three keys are accepted", |own, _| {
        let keys = own.dpop.nonce_keys.len();
        unless(keys <= 3, format!("a list of {keys}"))
    }),
    // FAPI 2.0 Security Profile section 5.3.2.2 requires less than 600 s.
    seconds("pushed_requests.lifetime", 30..=599, |own| own.pushed_requests.lifetime),
    number("limits.pushed_requests", 1..=1_000_000, |own| own.limits.pushed_requests.into()),
    number("limits.device_requests", 1..=1_000_000, |own| own.limits.device_requests.into()),
    value("limits.device_requests", LONGER_CODES, |own, _| {
        let open = own.limits.device_requests;
        let code = own.devices.user_code;
        (code.is_accepted() && u64::from(open) > code.most_open()).then(|| open.to_string())
    }),
    // A user must find the page and sign in. Guessing gets easier the longer a code is valid.
    seconds("devices.lifetime", 120..=1800, |own| own.devices.lifetime),
    value("devices.user_code", USER_CODE, |own, _| {
        unless(own.devices.user_code.is_accepted(), format!("{:?}", own.devices.user_code))
    }),
    value("devices.verification_uri", VERIFICATION_URI, |own, _| {
        unless(!own.devices.on || is_page(own), quoted(&own.devices.verification_uri))
    }),
    // The interaction serves its page there.
    value("devices.verification_uri", FREE_PATH, |own, _| {
        unless(!own.devices.on || has_free_path(own), quoted(&own.devices.verification_uri))
    }),
    // User codes are stored under keyed digests, so that the store does not reveal them.
    value("devices.on", DEVICE_KEY, |own, parts| only_with(parts.has_derivation_key, own.devices.on, false)),
    // User codes are short enough to be guessed at an unlimited rate [RFC 8628 section 5.1].
    value("devices.on", DEVICE_THROTTLE, |own, parts| only_with(parts.has_throttle, own.devices.on, false)),
    // The profile is for codes in a browser, and for clients that keep a key.
    value("devices.on", ONLY_FALSE, |own, _| only(own.devices.on, false)).only_in(&[Fapi], CODE_FLOW),
    // Every endpoint is reached over TLS.
    value("development", ONLY_FALSE, |own, _| only(own.development, false))
        .only_in(&[Fapi], "FAPI 2.0 Security Profile section 5.2.1"),
    // Confidential clients only.
    value("public_clients", ONLY_FALSE, |own, _| only(own.public_clients, false)).only_in(&[Fapi], SERVERS),
    // Clients authenticate with a key: `private_key_jwt`, since mutual TLS is not supported.
    value("client_authentication.methods", "only {PrivateKeyJwt} is accepted", |own, _| {
        only(own.client_authentication.methods, AuthenticationMethods::KEY)
    })
    .only_in(&[Fapi], SERVERS),
    // The `aud` of an assertion is the issuer, as a string.
    value("client_authentication.assertion_audience", "only IssuerString is accepted", |own, _| {
        only(own.client_authentication.assertion_audience, AssertionAudience::IssuerString)
    })
    .only_in(&[Fapi], SERVERS),
    value("registration.token_url_audience", ONLY_FALSE, |own, _| only(own.registration.token_url_audience, false))
        .only_in(&[Fapi], SERVERS),
    // Signatures are PS256, ES256 or EdDSA.
    value("client_authentication.rs256", ONLY_FALSE, |own, _| only(own.client_authentication.rs256, false))
        .only_in(&[Fapi], "FAPI 2.0 Security Profile section 5.4.1"),
    // Section 5.3.2.1, entry 13: clocks that are 10 s ahead must be accepted.
    seconds("client_authentication.clock_skew", 10..=60, |own| own.client_authentication.clock_skew)
        .only_in(&[Fapi], SERVERS),
    // Requests are pushed, and others are refused.
    value("pushed_requests.mode", ONLY_REQUIRED, |own, _| only(own.pushed_requests.mode, PushedRequests::Required))
        .only_in(&[Fapi], CODE_FLOW),
    // No plain http. The profile's exception is for native clients, which have no secret here and are not served.
    value("redirect_uris.loopback_http", "only Off is accepted", |own, _| {
        only(own.redirect_uris.loopback_http, LoopbackHttp::Off)
    })
    .only_in(&[Fapi], CODE_FLOW),
    value("redirect_uris.private_use_schemes", "no scheme is accepted", |own, _| {
        only(&own.redirect_uris.private_use_schemes, &PrivateUseSchemes::Named(Vec::new()))
    })
    .only_in(&[Fapi], CODE_FLOW),
    value("authorization.errors", "only Rfc6749 is accepted", |own, _| {
        only(own.authorization.errors, AuthorizationErrors::Rfc6749)
    })
    .only_in(&[Fapi], CODE_FLOW),
    seconds("authorization.code_lifetime", 0..=60, |own| own.authorization.code_lifetime).only_in(&[Fapi], SERVERS),
    // Every access token is bound to a key, by DPoP.
    value("dpop.tokens", ONLY_REQUIRED, |own, _| only(own.dpop.tokens, DpopBoundTokens::Required))
        .only_in(&[Fapi], SERVERS),
    // Resources accept access tokens only in the header.
    value("bearer_in_body", ONLY_FALSE, |own, _| only(own.bearer_in_body, false))
        .only_in(&[Fapi], "FAPI 2.0 Security Profile section 5.3.4"),
    // A client whose refresh tokens are rotated can use the old one again for a time: one that lost the response to a
    // refresh tries again within a minute. The server's own setting does not matter here, because rotation can be set
    // for a single client.
    seconds("refresh.grace", 60..=NO_LIMIT, |own| own.refresh.grace).only_in(&[Fapi], SERVERS),
    value("registration.management", MANAGEMENT, |own, _| {
        only_with(own.registration.is_dynamic(), own.registration.management, false)
    }),
    value("registration.dynamic", REGISTRATION_POLICY, |own, parts| {
        only_with(parts.has_policy, own.registration.dynamic, DynamicRegistration::Off)
    }),
    value("registration.dynamic", REGISTRATION_STORE, |own, parts| {
        only_with(parts.has_registry, own.registration.dynamic, DynamicRegistration::Off)
    }),
    value("issuer", LOOPBACK_FETCHER, |own, parts| {
        unless(!parts.reaches_loopback || is_on_loopback(&own.issuer), quoted(&own.issuer))
    }),
    value(DOCUMENTS, DOCUMENT_POLICY, |own, parts| {
        only_with(parts.has_policy, own.registration.metadata_documents, false)
    }),
    value(DOCUMENTS, DOCUMENT_FETCHER, |own, parts| {
        only_with(parts.has_fetcher, own.registration.metadata_documents, false)
    }),
    value(DOCUMENTS, DOCUMENT_STORE, |own, parts| {
        only_with(parts.has_registry, own.registration.metadata_documents, false)
    }),
    value(DOCUMENTS, DOCUMENT_CLIENTS, |own, parts| {
        only_with(own.serves(ClientType::Public) || parts.offers_keys, own.registration.metadata_documents, false)
    }),
    value(DOCUMENTS, DOCUMENT_PUSHED, |own, _| {
        only_with(!own.pushed_requests.are_required(), own.registration.metadata_documents, false)
    }),
    value("client_authentication.methods", JOSE_FOR_KEYS, |own, parts| {
        let needs_jose = own.client_authentication.accepts_assertions();
        unless(parts.has_jose || !needs_jose, names(own.client_authentication.methods))
    }),
    value("dpop.tokens", JOSE_FOR_PROOFS, |own, parts| {
        only_with(parts.has_jose, own.dpop.tokens, DpopBoundTokens::Off)
    }),
];

/// Returns the value, unless it is the one that is accepted.
fn only<T: PartialEq + fmt::Debug>(value: T, accepted: T) -> Option<String> {
    (value != accepted).then(|| format!("{value:?}"))
}

/// Returns the value, unless the setting is off or what it needs is there.
fn only_with<T: PartialEq + fmt::Debug>(is_there: bool, value: T, off: T) -> Option<String> {
    if is_there { None } else { only(value, off) }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// The names of the methods, for error messages.
fn names(methods: AuthenticationMethods) -> String {
    let names: Vec<_> = methods.iter().map(AuthenticationMethod::as_str).collect();
    if names.is_empty() { "an empty set".into() } else { names.join(", ") }
}

impl Config {
    /// Checks that the grace of refresh tokens ends before they expire, and not after that of access tokens: the
    /// owner's refresh after a refused access token would still be in the grace, and a theft would be missed.
    fn check_grace(&self) -> Result<(), ConfigError> {
        let grace = self.refresh.grace;
        let (lifetime, of_access) = (self.tokens.refresh_lifetime, self.refresh.access_token_grace);
        let remedy = if grace >= lifetime {
            format!("less than tokens.refresh_lifetime ({}) is accepted", in_seconds(lifetime))
        } else if grace > of_access {
            format!("at most refresh.access_token_grace ({}) is accepted", in_seconds(of_access))
        } else {
            return Ok(());
        };
        Err(ConfigError::new("refresh.grace", in_seconds(grace), remedy))
    }
}

/// Parses an issuer. It must be a URL of visible ASCII characters with a host but without user, query, fragment and dot
/// segments, because it is published as written.
fn issuer_uri(issuer: &str) -> Option<WebUri<'_>> {
    let plain = issuer.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'?' | b'#'));
    let uri = WebUri::split(issuer).ok().filter(|_| plain)?;
    let sound = check_host(uri.host).and_then(|()| check_path_and_query(uri.path_and_query));
    sound.is_ok().then_some(uri)
}

/// Returns an issuer as the URL libraries of clients write it.
fn plain_issuer(issuer: &str) -> String {
    WebUri::split(issuer).map_or_else(|_| issuer.to_owned(), |uri| uri.plain_origin() + uri.path_and_query)
}

/// Returns whether the page for user codes is reached over TLS, or is for development on this machine, and its URL can
/// be typed.
fn is_page(config: &Config) -> bool {
    let page = &config.devices.verification_uri;
    let is_https = WebUri::split(page.as_str()).is_ok_and(|uri| uri.scheme == WebScheme::Https);
    issuer_uri(page).is_some() && (is_https || config.development && is_on_loopback(page))
}

/// Returns whether the page for user codes is at no path of an endpoint or of another page.
fn has_free_path(config: &Config) -> bool {
    let issuer = config.issuer.trim_end_matches('/');
    let Some(path) = config.devices.verification_uri.strip_prefix(issuer) else { return true };
    path == "/oauth2/auth/device" || !path.starts_with("/oauth2/") && !path.starts_with("/.well-known/")
}

/// Returns whether the issuer is reached over TLS, or is for development on this machine.
fn has_safe_scheme(config: &Config) -> bool {
    let is_https = WebUri::split(config.issuer.as_str()).is_ok_and(|uri| uri.scheme == WebScheme::Https);
    is_https || config.is_development_on_loopback()
}

fn is_on_loopback(issuer: &str) -> bool {
    WebUri::split(issuer).is_ok_and(|uri| is_loopback(uri.host))
}

fn is_prefix(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    text.len() <= 16 && text.bytes().all(is_allowed)
}

/// The origins that packaged applications of televisions send: they are pages in a file.
const PACKAGED: [&str; 2] = ["null", "file://"];

/// Returns the first listed text that is neither an origin nor one of these.
fn no_origin(cors: &Cors, others: &[&str]) -> Option<String> {
    let is_good = |origin: &str| is_origin(origin) || others.contains(&origin);
    match cors {
        Cors::Origins(origins) => origins.iter().find(|origin| !is_good(origin)).map(|origin| quoted(origin)),
        Cors::Off | Cors::AnyOrigin => None,
    }
}

/// Returns whether a text is an origin as browsers write it in the `Origin` header [RFC 6454 section 6.2]. Apps and
/// browser extensions use their own schemes.
fn is_origin(text: &str) -> bool {
    match WebUri::split(text) {
        Ok(uri) => {
            let is_safe = uri.scheme == WebScheme::Https || is_loopback(uri.host);
            let is_bare = uri.path_and_query.is_empty() && check_host(uri.host).is_ok();
            is_safe && is_bare && uri.plain_origin() == text
        }
        Err(_) => text.split_once("://").is_some_and(|(scheme, host)| {
            is_lower_app_scheme(scheme)
                && check_host(host).is_ok()
                && !host.bytes().any(|byte| byte.is_ascii_uppercase())
        }),
    }
}

fn is_lower_app_scheme(scheme: &str) -> bool {
    is_app_scheme(scheme) && !scheme.bytes().any(|byte| byte.is_ascii_uppercase())
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let literal = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || literal.and_then(|text| text.parse::<Ipv6Addr>().ok()).is_some_and(|address| address.is_loopback())
}

/// No upper bound.
const NO_LIMIT: u64 = u64::MAX;
const SERVERS: &str = "FAPI 2.0 Security Profile section 5.3.2.1";
const CODE_FLOW: &str = "FAPI 2.0 Security Profile section 5.3.2.2";

const ONLY_FALSE: &str = "only false is accepted";
const ONLY_REQUIRED: &str = "only Required is accepted";
const GRACE: &str = "at most refresh.access_token_grace, and less than tokens.refresh_lifetime, is accepted";
const RESOURCES: &str = "identifiers that are absolute https URLs without user, query, fragment and dot segments are \
                         accepted, no two the same; plain http on a loopback host with development on; scopes of the \
                         catalog, each served by at least one resource; at most one default; no name of an attribute \
                         of challenges in identifiers, issuer and scopes";
const USER_CODE: &str = "8 to 16 letters or 11 to 16 digits are accepted: fewer have less than 34 random bits";
const VERIFICATION_URI: &str = "an https URL without query, fragment and user is accepted, or plain http on a \
                                loopback host with development on; such as {issuer}/device";
const FREE_PATH: &str = "no path below /oauth2 and /.well-known is accepted, except /oauth2/auth/device";
const DEVICE_KEY: &str = "set it to false, or add a key to refresh.derivation_keys";
const DEVICE_THROTTLE: &str = "set it to false, or add a throttle: Builder::throttle(MemoryThrottle::new())";
const REGISTRATION_POLICY: &str = "set it to Off, or add a policy that decides about each client: \
                                   Builder::registration_policy(ApproveWithin::new(…))";
const REGISTRATION_STORE: &str = "set it to Off, or look up clients in a registry: Stores::with_registry(…)";
const MANAGEMENT: &str = "set it to false, or registration.dynamic to Open or WithToken";
const HTTPS_ISSUER: &str = "an https URL of visible ASCII characters, with a valid host and port and without user, \
                            query, fragment and dot segments, is accepted (RFC 8414 section 2)";
const PLAIN_ISSUER: &str =
    "scheme and host in lower case are accepted, without the scheme's default port (RFC 8414 section 3.3)";
const PLAIN_HTTP_ISSUER: &str = "an https URL is accepted, or plain http on a loopback host with development on (RFC \
                                 8414 section 2); in place of a container's host name, use http://127.0.0.1 with its \
                                 published port";
const NAMED_SCHEME: &str =
    "lower-case schemes of apps are accepted, such as `cursor`, but no scheme that browsers handle themselves";
const ORIGIN: &str = "origins as browsers write them are accepted: `https://app.example`, or http on a loopback host, \
                      with only host and port, in lower case, without the default port; Cors::AnyOrigin allows all";
const LONGER_CODES: &str = "a higher one needs longer codes, so that guesses stay as rare: devices.user_code with 8 \
                            letters is accepted with up to 1000, 9 with 20 000, 10 with 400 000, 11 digits with 3906, \
                            12 with 39 062";
const PAGE_ORIGIN: &str = "origins as browsers write them are accepted, such as `https://tv.example`; also `null` and \
                           `file://`, which packaged applications send";
const PREFIX: &str = "at most 16 letters, digits, `-`, `_`, `.` or `~` are accepted";
const NONE: &str =
    "client_secret_basic, client_secret_post and private_key_jwt are accepted; for the method none, set public_clients";
const NO_METHOD: &str = "at least one method is required unless public_clients is on";
const JOSE_FOR_KEYS: &str = "remove private_key_jwt, or enable the feature jose, which verifies signatures";
const NO_OPENID: &str = "switch identity on, which adds the scope openid, or give the scope another name";
const JOSE_FOR_ID_TOKENS: &str = "set it to None, or enable the feature jose of this crate";
const CLAIMS_HOOK: &str = "set it to an empty list, or add a hook that returns the claims: Builder::claims(…)";
const JOSE_FOR_PROOFS: &str = "set it to Off, or enable the feature `jose` of this crate";
const DOCUMENTS: &str = "registration.metadata_documents";
const DOCUMENT_POLICY: &str = "set it to false, or add a policy that decides about each client: \
                               Builder::registration_policy(ApproveWithin::new(…))";
const DOCUMENT_FETCHER: &str =
    "set it to false, or add a fetcher for the documents: Builder::fetcher(…), such as the one in grantor-fetch";
const DOCUMENT_STORE: &str = "set it to false, or look up clients in a registry: Stores::with_registry(…)";
const DOCUMENT_CLIENTS: &str = "set it to false, or public_clients to true, or add private_key_jwt to \
                                client_authentication.methods: a client with a document has no secret";
const DOCUMENT_PUSHED: &str = "set it to false, or pushed_requests.mode to Off or Optional: a document is fetched \
                               only for a signed-in user, and a pushed request has none, so no client with a document \
                               could connect";
const LOOPBACK_FETCHER: &str = "use an issuer on a loopback host, or a fetcher that does not connect to loopback \
                                addresses: otherwise anyone could send requests to this machine";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::ScopeCatalog;
    use crate::secret::NonceKey;

    type Make = fn(&str) -> Config;

    const ALL: &[Make] = &[
        |issuer| Config::platform(issuer),
        |issuer| Config::strict(issuer),
        |issuer| Config::mcp(issuer),
        #[cfg(feature = "jose")]
        |issuer| Config::fapi(issuer),
    ];

    /// A change, the setting as the error prints it, and what would be accepted.
    type Contradiction = (fn(&mut Config), &'static str, &'static str);

    /// A change, the setting as the error prints it, and the rule of the profile.
    type Loosening = (fn(&mut Config), &'static str, &'static str);

    fn refused(make: Make, change: fn(&mut Config)) -> Option<String> {
        let mut config = make("https://auth.example");
        change(&mut config);
        config.check(&Parts::ALL).err().map(|error| error.to_string())
    }

    #[test]
    fn profiles_hold_together() {
        for make in ALL {
            assert_eq!(make("https://auth.example/tenant").check(&Parts::ALL), Ok(()));
        }
    }

    #[test]
    fn issuers_are_https_with_a_host_alone() {
        for (issuer, value) in [
            ("", r#""""#),
            ("auth.example", r#""auth.example""#),
            ("https://", r#""https://""#),
            ("ftp://auth.example", r#""ftp://auth.example""#),
            ("https://auth.example?x", r#""https://auth.example?…""#),
            ("https://auth.example/#x", r##""https://auth.example/#…""##),
            ("https://user:secret@auth.example", r#""https://…@…""#),
            ("https://@auth.example", r#""https://…@…""#),
            ("https:auth.example", r#""https:auth.example""#),
            ("https:///auth.example", r#""https:///auth.example""#),
            ("https://auth.example/a b", r#""https://auth.example/a b""#),
            ("https://auth.example/a/../b", r#""https://auth.example/a/../b""#),
            ("https://auth.example:", r#""https://auth.example:""#),
            ("https://auth.example:70000", r#""https://auth.example:70000""#),
            ("https://b\u{fc}cher.example", "\"https://b\u{fc}cher.example\""),
            ("https://auth.example/\u{e9}", "\"https://auth.example/\u{e9}\""),
        ] {
            let error = Config::platform(issuer).check(&Parts::ALL).unwrap_err();
            assert_eq!((error.field(), error.value(), error.remedy()), ("issuer", value, HTTPS_ISSUER));
        }
    }

    #[test]
    fn issuers_are_spelled_as_clients_write_them() {
        for (issuer, plain) in [
            ("https://auth.example", "https://auth.example"),
            ("https://auth.example/", "https://auth.example/"),
            ("https://auth.example:8443/Tenant", "https://auth.example:8443/Tenant"),
            ("https://auth.example/a:443", "https://auth.example/a:443"),
            ("https://[2001:db8::443]", "https://[2001:db8::443]"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("https://Auth.example", "https://auth.example"),
            ("HTTPS://auth.example", "https://auth.example"),
            ("https://auth.example:443", "https://auth.example"),
            ("https://auth.example:443/tenant", "https://auth.example/tenant"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
        ] {
            assert_eq!(plain_issuer(issuer), plain);
            let mut config = Config::strict(issuer);
            config.development = true;
            let error = config.check(&Parts::ALL).err();
            assert_eq!(error.map(|error| error.field()), (issuer != plain).then_some("issuer"), "{issuer}");
        }
    }

    #[test]
    fn plain_http_is_for_development_on_a_loopback() {
        for (issuer, development, accepted) in [
            ("http://auth.example", false, false),
            ("http://127.0.0.1:8080", false, false),
            ("http://127.0.0.1:8080", true, true),
            ("http://[::1]:8080", true, true),
            ("http://localhost", true, true),
            ("http://auth.example", true, false),
            // The host name of a container.
            ("http://auth:8080", true, false),
        ] {
            let mut config = Config::platform(issuer);
            config.development = development;
            let remedy = config.check(&Parts::ALL).err().map(|error| error.remedy().to_owned());
            assert_eq!(remedy, (!accepted).then(|| PLAIN_HTTP_ISSUER.to_owned()), "{issuer}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        let cases: [Contradiction; 19] = [
            (
                |config| config.clock_jump = Duration::from_secs(3599),
                "clock_jump is 3599 s",
                "3600 to 2592000 s are accepted",
            ),
            (
                |config| config.clock_jump = Duration::from_secs(2_592_001),
                "clock_jump is 2592001 s",
                "3600 to 2592000 s are accepted",
            ),
            (
                |config| config.authorization.hold_lifetime = Duration::ZERO,
                "authorization.hold_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.authorization.code_lifetime = Duration::from_millis(999),
                "authorization.code_lifetime is 0.999 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.access_lifetime = Duration::ZERO,
                "tokens.access_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.refresh_lifetime = Duration::ZERO,
                "tokens.refresh_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.tokens.grant_lifetime = Some(Duration::ZERO),
                "tokens.grant_lifetime is 0 s",
                "at least 1 s is accepted",
            ),
            (
                |config| config.authorization.code_lifetime = Duration::from_secs(601),
                "authorization.code_lifetime is 601 s",
                "at most 600 s is accepted (RFC 6749 section 4.1.2)",
            ),
            (
                |config| config.refresh.grace = config.tokens.refresh_lifetime,
                "refresh.grace is 15552000 s",
                "less than tokens.refresh_lifetime (15552000 s) is accepted",
            ),
            (
                |config| config.refresh.grace = Duration::from_secs(301),
                "refresh.grace is 301 s",
                "at most refresh.access_token_grace (300 s) is accepted",
            ),
            (
                |config| config.tokens.refresh_lifetime = Duration::from_secs(60),
                "refresh.grace is 60 s",
                "less than tokens.refresh_lifetime (60 s) is accepted",
            ),
            (|config| config.tokens.prefix = "a\u{e9}".into(), "tokens.prefix is \"a\u{e9}\"", PREFIX),
            (
                |config| config.tokens.prefix = "17-characters-too".into(),
                r#"tokens.prefix is "17-characters-too""#,
                PREFIX,
            ),
            (|config| config.limits.body_bytes = 4095, "limits.body_bytes is 4095", "at least 4096 is accepted"),
            (
                |config| config.limits.unreviewed_clients = 0,
                "limits.unreviewed_clients is 0",
                "10 to 16777216 are accepted",
            ),
            (
                |config| config.registration.unused_lifetime = Duration::from_secs(3599),
                "registration.unused_lifetime is 3599 s",
                "at least 3600 s is accepted",
            ),
            (|config| config.registration.form.name = 0, "registration.form.name is 0", "at least 1 is accepted"),
            (|config| config.registration.form.website = 0, "registration.form.website is 0", "at least 1 is accepted"),
            (
                |config| config.registration.form.logo_pixels = 0,
                "registration.form.logo_pixels is 0",
                "at least 1 is accepted",
            ),
        ];
        for make in ALL {
            for (change, setting, remedy) in cases {
                let mut config = make("https://auth.example");
                config.tokens.access_lifetime = Duration::from_secs(28_800);
                config.refresh.grace = Duration::from_secs(60);
                change(&mut config);
                assert_eq!(config.check(&Parts::ALL).unwrap_err().to_string(), format!("{setting}; {remedy}"));
            }
        }
    }

    #[test]
    fn edges_are_accepted() {
        for make in ALL {
            let mut config = make("https://auth.example");
            config.authorization.hold_lifetime = Duration::from_secs(1);
            config.authorization.code_lifetime = Duration::from_secs(if config.profile == Fapi { 60 } else { 600 });
            config.refresh.access_token_grace = config.tokens.access_lifetime;
            config.refresh.grace = config.refresh.access_token_grace;
            config.tokens.grant_lifetime = Some(Duration::MAX);
            config.clock_jump = Duration::from_secs(3600);
            config.tokens.prefix = "exactly-16-chars".into();
            config.scopes = ScopeCatalog::empty();
            let reads_proofs = config.dpop.reads_proofs();
            config.limits.body_bytes = if config.profile == Fapi { 8193 } else { 4096 + usize::from(reads_proofs) };
            config.registration.form.description = 0;
            config.registration.form.logo = 0;
            assert_eq!(config.check(&Parts::ALL), Ok(()));
        }
    }

    #[test]
    fn stricter_profiles_keep_their_promise() {
        let cases: [Loosening; 3] = [
            (
                |config| config.redirect_uris.comparison = RedirectUriComparison::Domain,
                "redirect_uris.comparison is Domain; only Exact",
                "RFC 9700 section 2.1",
            ),
            (
                |config| config.redirect_uris.comparison = RedirectUriComparison::DomainAnyPort,
                "redirect_uris.comparison is DomainAnyPort; only Exact",
                "RFC 9700 section 2.1",
            ),
            (
                |config| config.authorization.pkce = PkceRequirement::PublicClients,
                "authorization.pkce is PublicClients; only AllClients",
                "RFC 9700 section 2.1.1",
            ),
        ];
        for (change, setting, rule) in cases {
            assert_eq!(refused(|issuer| Config::platform(issuer), change), None);
            let error = |profile: &str| Some(format!("{setting} is accepted in the {profile} profile ({rule})"));
            assert_eq!(refused(|issuer| Config::strict(issuer), change), error("strict"));
            assert_eq!(refused(|issuer| Config::mcp(issuer), change), error("MCP"));
            #[cfg(feature = "jose")]
            assert_eq!(refused(|issuer| Config::fapi(issuer), change), error("FAPI"));
        }
    }

    #[test]
    fn origins_are_written_as_browsers_write_them() {
        let refused = |origins: &[&str]| {
            let mut config = Config::strict("https://auth.example");
            config.cors = Cors::Origins(origins.iter().map(|&origin| origin.to_owned()).collect());
            config
                .check(&Parts::ALL)
                .err()
                .map(|error| (error.field(), error.value().to_owned(), error.remedy().to_owned()))
        };
        let good = [
            "https://app.example",
            "https://app.example:8443",
            "https://app.example:80",
            "https://192.0.2.1",
            "https://[2001:db8::1]",
            "https://[::443]",
            "http://localhost:6274",
            "http://localhost:8080",
            "http://127.0.0.1",
            "http://[::1]:3000",
            "chrome-extension://aaaabbbbccccddddeeeeffffgggghhhh",
            "tauri://localhost",
        ];
        assert_eq!(refused(&good), None);
        let empty = "at least one origin is accepted; for none, use Cors::Off";
        assert_eq!(refused(&[]), Some(("cors", "an empty list".into(), empty.into())));
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://*.app.example",
            "https://app.example/",
            "https://app.example/path",
            "https://app.example:443",
            "https://app.example:",
            "https://App.example",
            "HTTPS://app.example",
            "https://app.example https://other.example",
            "https://app.example\r\nX: y",
            "https://b\u{fc}cher.example",
            "http://app.example",
            "http://localhost:80",
            "file://app",
            "javascript://app",
            "Tauri://localhost",
            "tauri://Localhost",
            "tauri://localhost/",
        ] {
            let expected = Some(("cors", quoted(bad), ORIGIN.to_owned()));
            assert_eq!(refused(&["https://app.example", bad]), expected, "{bad:?}");
        }
        assert_eq!(refused(&["https://u:p@app.example"]).unwrap().1, "\"https://…@…\"");
        assert_eq!(refused(&["https://app.example?x"]).unwrap().1, "\"https://app.example?…\"");
    }

    #[test]
    fn named_schemes_are_those_of_apps() {
        // The fourth profile refuses them all.
        for make in ALL.iter().take(3) {
            let refused = |scheme: &str| {
                let mut config = make("https://auth.example");
                let named = vec!["cursor".into(), scheme.into()];
                config.redirect_uris.private_use_schemes = PrivateUseSchemes::Named(named);
                config.check(&Parts::ALL).err().map(|error| error.to_string())
            };
            for good in ["vscode", "com.example.app", "web+app", "x-1"] {
                assert_eq!(refused(good), None, "{good}");
            }
            for bad in [
                "",
                "Cursor",
                "cursor:",
                "cursor://",
                "1app",
                "a_b",
                "\u{e9}",
                "https",
                "http",
                "javascript",
                "data",
                "ws",
            ] {
                let error = format!("redirect_uris.private_use_schemes is {bad:?}; {NAMED_SCHEME}");
                assert_eq!(refused(bad), Some(error));
            }
        }
    }

    #[test]
    fn private_use_schemes_are_for_all_but_mcp() {
        let schemes: fn(&mut Config) = |config| config.redirect_uris.private_use_schemes = PrivateUseSchemes::default();
        assert_eq!(refused(|issuer| Config::platform(issuer), schemes), None);
        assert_eq!(refused(|issuer| Config::strict(issuer), schemes), None);
        let error = refused(|issuer| Config::mcp(issuer), schemes).unwrap();
        assert!(
            error.starts_with(
                "redirect_uris.private_use_schemes is ReverseDomain([]); only Named is accepted in the MCP"
            )
        );
    }

    /// FAPI-5.3.2.1-13
    #[test]
    fn ten_seconds_of_skew_are_accepted() {
        let refused = |seconds| {
            let mut config = Config::fapi("https://auth.example");
            config.client_authentication.clock_skew = Duration::from_secs(seconds);
            config.check(&Parts::ALL).err().map(|error| error.to_string())
        };
        assert_eq!([10, 30, 60].map(refused), [None, None, None]);
        let below = refused(9).unwrap();
        assert!(
            below.starts_with("client_authentication.clock_skew is 9 s; 10 to 60 s are accepted in the FAPI profile"),
            "{below}"
        );
    }

    fn with_documents() -> Config {
        let mut config = Config::mcp("https://auth.example");
        config.registration.metadata_documents = true;
        config
    }

    /// 7591-5-02, 8414-2-07, CIMD-5-05
    #[test]
    fn documents_need_a_policy_a_fetcher_a_store_and_public_clients() {
        assert_eq!(with_documents().check(&Parts::ALL), Ok(()));
        let mut confidential = with_documents();
        confidential.public_clients = false;
        let mut pushed = with_documents();
        pushed.pushed_requests.mode = PushedRequests::Required;
        for (config, needs, remedy) in [
            (with_documents(), Parts { has_policy: false, ..Parts::ALL }, DOCUMENT_POLICY),
            (with_documents(), Parts { has_fetcher: false, ..Parts::ALL }, DOCUMENT_FETCHER),
            (with_documents(), Parts { has_registry: false, ..Parts::ALL }, DOCUMENT_STORE),
            (confidential, Parts::ALL, DOCUMENT_CLIENTS),
            (pushed, Parts::ALL, DOCUMENT_PUSHED),
        ] {
            let error = config.check(&needs).unwrap_err();
            assert_eq!((error.field(), error.value()), ("registration.metadata_documents", "true"));
            assert_eq!(error.remedy(), remedy);
            let mut off = config;
            off.registration.metadata_documents = false;
            assert_eq!(off.check(&needs), Ok(()));
        }
    }

    /// CIMD-8.2-01
    #[test]
    fn documents_with_keys_need_no_public_clients() {
        let confidential = Config { public_clients: false, ..with_documents() };
        assert_eq!(confidential.check(&Parts { offers_keys: true, ..Parts::ALL }), Ok(()));
    }

    /// CIMD-8.6-03
    #[test]
    fn a_fetcher_reaches_the_loopback_where_the_issuer_does() {
        let needs = Parts { reaches_loopback: true, ..Parts::ALL };
        for (issuer, is_accepted) in [
            ("https://auth.example", false),
            ("https://localhost.example", false),
            ("http://localhost:8080", true),
            ("https://127.0.0.1", true),
            ("http://[::1]:8080/tenant", true),
        ] {
            for is_on in [false, true] {
                let mut config = Config { issuer: issuer.into(), development: true, ..with_documents() };
                config.registration.metadata_documents = is_on;
                assert_eq!(config.check(&needs).is_ok(), is_accepted, "{issuer}");
            }
        }
    }

    #[test]
    fn private_key_jwt_needs_the_feature() {
        let without = Parts { has_jose: false, ..Parts::ALL };
        let mut config = Config::strict("https://auth.example");
        config.client_authentication.methods = AuthenticationMethods::KEY;
        assert_eq!(config.check(&Parts::ALL), Ok(()));
        let error = config.check(&without).unwrap_err();
        let expected = ("client_authentication.methods", "private_key_jwt", JOSE_FOR_KEYS);
        assert_eq!((error.field(), error.value(), error.remedy()), expected);
        config.client_authentication.methods = AuthenticationMethods::SECRET;
        assert_eq!(config.check(&without), Ok(()));
    }

    #[test]
    fn proofs_need_the_feature() {
        let without = Parts { has_jose: false, ..Parts::ALL };
        let mut config = Config::strict("https://auth.example");
        assert_eq!(config.check(&without), Ok(()), "they are not read");
        config.dpop.tokens = DpopBoundTokens::Optional;
        let error = config.check(&without).unwrap_err();
        assert_eq!((error.field(), error.value(), error.remedy()), ("dpop.tokens", "Optional", JOSE_FOR_PROOFS));
        assert_eq!(config.check(&Parts::ALL), Ok(()));
    }

    /// With `WRITE_GUIDES` set, the tables are written instead of compared.
    #[test]
    fn the_guide_has_every_rule() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/guide/profiles_and_defaults.md");
        let guide = std::fs::read_to_string(path).unwrap();
        let is_for = |rule: &&Rule, profile| rule.profiles.is_none_or(|profiles| profiles.contains(&profile));
        let of_fapi = RULES.iter().filter(|rule| rule.profiles.is_some() && is_for(rule, Fapi));
        let of_fapi = of_fapi.map(|rule| format!("| `{}` | {} | {} |\n", rule.field, rule.accepted, rule.source));
        let others: Vec<_> = RULES.iter().filter(|rule| is_for(rule, Platform) || is_for(rule, Mcp)).collect();
        let mut fields: Vec<_> = others.iter().map(|rule| rule.field).collect();
        let mut seen = BTreeSet::new();
        fields.retain(|field| seen.insert(*field));
        let row = |field: &&str| {
            let of_field = others.iter().filter(|rule| rule.field == *field);
            format!("| `{field}` | {} |\n", of_field.map(|rule| in_words(rule)).collect::<Vec<_>>().join("; "))
        };
        let written =
            with_rows(&guide, "| setting | what is accepted | rule |\n|---|---|---|\n", &of_fapi.collect::<String>());
        let rows = fields.iter().map(row).collect::<String>();
        let written = with_rows(&written, "| setting | what is accepted |\n|---|---|\n", &rows);
        if std::env::var_os("WRITE_GUIDES").is_some() {
            std::fs::write(path, &written).unwrap();
        } else {
            assert!(guide == written, "a table of src/guide/profiles_and_defaults.md differs from the rules");
        }
    }

    fn in_words(rule: &Rule) -> String {
        let mut words = rule.accepted.to_string();
        if let Some(profiles) = rule.profiles {
            let names: Vec<_> = profiles.iter().map(|profile| profile.name()).collect();
            words += &match names.as_slice() {
                [others @ .., last] if !others.is_empty() => {
                    format!(" in the {} and {last} profiles", others.join(", "))
                }
                only => format!(" in the {} profile", only.concat()),
            };
        }
        if rule.source.is_empty() { words } else { format!("{words} ({})", rule.source) }
    }

    /// Replaces the rows below that heading.
    fn with_rows(guide: &str, heading: &str, rows: &str) -> String {
        let (before, table) = guide.split_once(heading).unwrap();
        let (_, after) = table.split_once("\n\n").unwrap();
        format!("{before}{heading}{rows}\n{after}")
    }

    fn refused_with_keys(change: impl FnOnce(&mut Config)) -> Option<String> {
        let mut config = Config::strict("https://auth.example");
        config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
        change(&mut config);
        config.check(&Parts::ALL).err().map(|error| error.to_string())
    }

    #[test]
    fn bounds_of_assertions_are_checked() {
        type Change = fn(&mut Config);
        let cases: [(Change, &str); 3] = [
            (
                |config| config.client_authentication.clock_skew = Duration::from_secs(61),
                "client_authentication.clock_skew is 61 s; 0 s to 60 s are accepted",
            ),
            (
                |config| config.limits.body_bytes = 8192,
                "limits.body_bytes is 8192; more than the 8192 bytes of an assertion is accepted",
            ),
            (
                |config| config.client_authentication.methods = AuthenticationMethods::PUBLIC,
                "client_authentication.methods is none; client_secret_basic, client_secret_post and private_key_jwt \
                 are accepted; for the method none, set public_clients",
            ),
        ];
        for (change, expected) in cases {
            assert_eq!(refused_with_keys(change).as_deref(), Some(expected));
        }
        assert_eq!(refused_with_keys(|config| config.client_authentication.clock_skew = Duration::ZERO), None);
        assert_eq!(refused_with_keys(|config| config.client_authentication.clock_skew = Duration::from_secs(60)), None);
    }

    #[test]
    fn no_method_at_all_needs_public_clients() {
        let none = AuthenticationMethods::SECRET
            .without(AuthenticationMethod::ClientSecretBasic)
            .without(AuthenticationMethod::ClientSecretPost);
        let error = refused_with_keys(|config| config.client_authentication.methods = none).unwrap();
        assert_eq!(error, format!("client_authentication.methods is an empty set; {NO_METHOD}"));
        assert_eq!(
            refused_with_keys(|config| (config.client_authentication.methods, config.public_clients) = (none, true)),
            None
        );
    }

    fn keys(count: u8) -> Vec<NonceKey> {
        (0..count).map(|number| NonceKey::new([number; 32])).collect()
    }

    /// 9449-8-02
    #[test]
    fn settings_of_proofs_are_bounded() {
        type Change = fn(&mut Config);
        let cases: [(Change, Option<&str>); 6] = [
            (|_| {}, None),
            (|config| config.limits.body_bytes = 4096, None),
            (
                |config| (config.limits.body_bytes, config.dpop.tokens) = (4096, DpopBoundTokens::Optional),
                Some("limits.body_bytes is 4096; more than the 4096 bytes of a DPoP proof is accepted"),
            ),
            (|config| config.client_authentication.clock_skew = Duration::ZERO, None),
            (|config| config.dpop.nonce_keys = keys(3), None),
            (
                |config| config.dpop.nonce_keys = keys(4),
                Some("dpop.nonce_keys is a list of 4; at most three keys are accepted"),
            ),
        ];
        for (number, (change, expected)) in cases.into_iter().enumerate() {
            let refused = refused(|issuer| Config::strict(issuer), change);
            assert_eq!(refused.as_deref(), expected, "{number}");
        }
    }

    /// FAPI-5.3.2.2-12
    #[test]
    fn a_request_uri_lives_for_less_than_ten_minutes() {
        for (accepted, life) in [
            (false, Duration::from_millis(29_999)),
            (true, Duration::from_secs(30)),
            (true, Duration::from_secs(599)),
            (false, Duration::from_millis(599_001)),
            (false, Duration::from_secs(600)),
        ] {
            let mut config = Config::strict("https://auth.example");
            config.pushed_requests.lifetime = life;
            assert_eq!(config.check(&Parts::ALL).is_ok(), accepted, "{life:?}");
        }
        let mut config = Config::strict("https://auth.example");
        config.pushed_requests.lifetime = Duration::from_secs(600);
        let error = config.check(&Parts::ALL).unwrap_err();
        assert_eq!(error.to_string(), "pushed_requests.lifetime is 600 s; 30 to 599 s are accepted");
    }

    /// 9126-2.3-01
    #[test]
    fn a_client_has_at_most_a_million_open_requests() {
        for (count, accepted) in [(0, false), (1, true), (1_000_000, true), (1_000_001, false)] {
            let mut config = Config::strict("https://auth.example");
            config.limits.pushed_requests = count;
            assert_eq!(config.check(&Parts::ALL).is_ok(), accepted, "{count}");
        }
    }
}
