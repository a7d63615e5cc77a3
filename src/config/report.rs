//! Lists the settings that are weaker than the current best practice.

use std::borrow::Cow;
use std::fmt;
use std::slice;
use std::time::Duration;
use std::vec;

use crate::config::DynamicRegistration;
use crate::config::{
    AssertionAudience, AuthorizationErrors, BasicDecoding, Config, ExchangeRedirectUri, PkceRequirement, Profile,
    StateCharacters,
};
use crate::model::client::RefreshRotation;
use crate::model::redirect_uri::{LoopbackHttp, RedirectUriComparison};
use crate::wire::RedirectStatus;
use crate::wire::cors::Cors;

/// The settings that are weaker than RFC 9700 and OAuth 2.1 require, each with its consequence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecurityReport {
    /// One entry for each finding; empty if there is none.
    pub findings: Vec<Finding>,
}

/// A setting that is weaker than the current best practice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The name of the setting: a field of [`Config`], of
    /// [`IntrospectionSettings`](crate::resource::IntrospectionSettings) or of
    /// [`JwtSettings`](crate::resource::JwtSettings), or a part that was not given.
    pub setting: &'static str,
    /// The rule that requires more.
    pub rule: &'static str,
    /// What the weaker setting costs, and what protects instead.
    pub consequence: Cow<'static, str>,
}

impl fmt::Display for SecurityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in self {
            writeln!(f, "{} ({}): {}", finding.setting, finding.rule, finding.consequence)?;
        }
        Ok(())
    }
}

impl IntoIterator for SecurityReport {
    type Item = Finding;
    type IntoIter = vec::IntoIter<Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.findings.into_iter()
    }
}

impl<'a> IntoIterator for &'a SecurityReport {
    type Item = &'a Finding;
    type IntoIter = slice::Iter<'a, Finding>;

    fn into_iter(self) -> Self::IntoIter {
        self.findings.iter()
    }
}

impl Config {
    /// Lists the settings that are weaker than RFC 9700 and OAuth 2.1 require.
    pub(crate) fn security_report(&self) -> SecurityReport {
        let weaker = RULES.iter().filter(|rule| (rule.is_weaker)(self));
        SecurityReport { findings: weaker.map(|rule| rule.finding.clone()).chain(self.findings_of_jwts()).collect() }
    }

    /// What JWT access tokens cost, with numbers: APIs that verify them themselves learn of a revocation late.
    fn findings_of_jwts(&self) -> Vec<Finding> {
        let lifetime = self.tokens.jwt_lifetime.min(self.tokens.access_lifetime);
        let (exact, lifetime) = (lifetime.as_secs_f64(), lifetime.as_secs());
        let mut findings = Vec::new();
        for resource in self.resources.iter().filter(|resource| resource.has_jwts()) {
            let api = &resource.identifier;
            let late = format!("{api} may accept a revoked token for up to {lifetime} s: its access tokens are JWTs");
            findings.push(of_jwts("resources", "RFC 9068 section 5", late));
            let grace = self.refresh.access_token_grace.as_secs();
            if lifetime > grace {
                let late = format!(
                    "{api} may accept a token that a refresh replaced for up to {lifetime} s; the grace is {grace} s"
                );
                findings.push(of_jwts("tokens.jwt_lifetime", "RFC 9700 section 4.14.2", late));
            }
        }
        // An owner refreshes once in each lifetime of its access token. A thief who refreshes less than the grace
        // before the owner does is not noticed.
        let grace = self.refresh.grace.as_secs_f64();
        if self.issues_jwts() && self.rotates_by_itself() && grace > exact / 5.0 {
            let share = (100.0 * grace / exact).min(100.0).round();
            let missed = format!(
                "where access tokens are JWTs, a client refreshes every {lifetime} s, and with a grace of {grace} s \
                 {share} % of the thefts of its refresh tokens are not noticed"
            );
            findings.push(of_jwts("refresh.grace", "RFC 9700 section 4.14.2", missed));
        }
        findings
    }
}

fn of_jwts(setting: &'static str, rule: &'static str, consequence: String) -> Finding {
    Finding { setting, rule, consequence: consequence.into() }
}

/// A finding and its condition.
struct Rule {
    is_weaker: fn(&Config) -> bool,
    finding: Finding,
}

const fn weaker(
    setting: &'static str,
    rule: &'static str,
    is_weaker: fn(&Config) -> bool,
    consequence: &'static str,
) -> Rule {
    Rule { is_weaker, finding: Finding { setting, rule, consequence: Cow::Borrowed(consequence) } }
}

/// All findings, in the order of the report.
const RULES: &[Rule] = &[
    weaker(
        "devices.on",
        "RFC 10027 section 2",
        |config| config.devices.on,
        "a user can be sent the code of an attacker's device and sign that in; the consent page warns, and \
         ScopeDefinition::not_for_devices bars scopes",
    ),
    weaker(
        "devices.complete_uri",
        "RFC 8628 section 5.4",
        |config| config.devices.on && config.devices.complete_uri,
        "a link saves an attacker's victim the typing; the user must still confirm that the device shows the code",
    ),
    weaker(
        "redirect_uris.comparison",
        "RFC 9700 section 2.1",
        |own| own.redirect_uris.comparison != RedirectUriComparison::Exact,
        "any path of the registered host may receive codes: unsafe if several owners share the host by path, or if the \
         host has an open redirector; PKCE and a redirect_uri in the exchange protect the codes there",
    ),
    weaker(
        "redirect_uris.comparison",
        "RFC 9700 section 2.1",
        |own| own.redirect_uris.comparison == RedirectUriComparison::DomainAnyPort,
        "any service on the registered host may receive codes",
    ),
    weaker(
        "redirect_uris.loopback_http",
        "RFC 8252 section 8.3",
        |own| own.redirect_uris.loopback_http == LoopbackHttp::AddressesAndLocalhost,
        "the name localhost may resolve elsewhere; PKCE, which native clients need, makes a stolen code useless",
    ),
    weaker(
        "redirect_uris.private_use_schemes",
        "RFC 8252 section 7.1",
        |own| !own.redirect_uris.private_use_schemes.named().is_empty(),
        "any app on the user's device may claim such a scheme and receive codes; PKCE makes a stolen code useless",
    ),
    weaker(
        "authorization.pkce",
        "RFC 9700 section 2.1.1",
        |own| own.authorization.pkce != PkceRequirement::AllClients,
        "confidential clients that send no challenge are not protected against injected codes",
    ),
    weaker(
        "authorization.pkce",
        "RFC 6749 section 4.1.2",
        |own| own.authorization.pkce != PkceRequirement::AllClients,
        "an attacker who has a spent code of a client without PKCE, such as from a log, can send it to the client's \
         redirect URI: the client sends it again, and the user's grant is revoked; demand PKCE of the client, or make \
         sure that it compares `state` with the browser's session before it exchanges a code",
    ),
    weaker(
        "authorization.redirect_status",
        "RFC 9700 section 4.12",
        |own| own.authorization.redirect_status != RedirectStatus::SeeOther,
        "in theory, a browser may repeat a POST after a 302; browsers in use turn it into a GET, and 307 is never sent",
    ),
    weaker(
        "authorization.state",
        "RFC 6749 appendix A.5",
        |own| own.authorization.state != StateCharacters::Visible,
        "clients get back any bytes that they sent, percent-encoded",
    ),
    weaker(
        "authorization.exchange_redirect_uri",
        "RFC 6749 section 4.1.3",
        |own| own.authorization.exchange_redirect_uri == ExchangeRedirectUri::Optional,
        "a client that sends neither redirect_uri nor PKCE is not protected against injected codes",
    ),
    weaker(
        "authorization.errors",
        "RFC 6749 section 4.1.2.1",
        |own| own.authorization.errors != AuthorizationErrors::Rfc6749,
        "clients do not learn of a wrong response_type or state; there are no unnecessary redirects",
    ),
    weaker(
        "client_authentication.basic",
        "RFC 6749 section 2.3.1",
        |own| own.client_authentication.basic == BasicDecoding::Either,
        "credentials that are not form-encoded are accepted too; those made by the server are the same either way",
    ),
    weaker(
        "development",
        "RFC 6749 section 3.1",
        |own| is_plain_http(&own.issuer),
        "tokens and secrets are sent unencrypted: for development only",
    ),
    weaker(
        "issuer",
        "RFC 8414 section 3.3",
        |own| own.issuer.ends_with('/'),
        "the issuer has a slash at the end: some clients leave it out, and then refuse the metadata or `iss`",
    ),
    weaker(
        "cors",
        "RFC 9700 section 2.6",
        |own| own.cors != Cors::Off && !own.public_clients,
        "pages may call the token endpoint while public_clients is off: such a page contains a client secret, which \
         every visitor can read",
    ),
    weaker(
        "devices.cors",
        "RFC 6454 section 7.3",
        |own| matches!(&own.devices.cors, Cors::Origins(list) if list.iter().any(|origin| origin == "null")),
        "every page can send this origin from a sandboxed frame, and ask for codes in the network of its visitor",
    ),
    weaker(
        "client_authentication.assertion_audience",
        "RFC 10070, CVE-2025-27370",
        |own| {
            let settings = &own.client_authentication;
            settings.accepts_assertions() && settings.assertion_audience == AssertionAudience::Legacy
        },
        "a malicious server can name this server's token endpoint as its own: a client that authenticates there signs \
         an assertion that is accepted here",
    ),
    weaker(
        "registration.token_url_audience",
        "RFC 10070 section 4",
        |own| {
            let is_read = own.registration.metadata_documents && own.client_authentication.accepts_assertions();
            is_read && own.registration.token_url_audience
        },
        "clients whose document lists none may sign for the URL of the token endpoint: another server that names this \
         URL as its own gets assertions that are accepted here; they count as no proof, since such a client is public",
    ),
    weaker(
        "client_authentication.rs256",
        "FAPI 2.0 Security Profile section 5.4.1",
        |own| own.client_authentication.accepts_assertions() && own.client_authentication.rs256,
        "assertions may be signed with RSASSA-PKCS1-v1_5: no attack has broken the signatures, but verifiers often had \
         flaws; ask clients for PS256 or ES256",
    ),
    weaker(
        "refresh.rotation",
        "FAPI 2.0 Security Profile section 5.3.2.1",
        |own| own.profile == Profile::Fapi && own.refresh.rotation == RefreshRotation::Rotate,
        "a client that loses the response to a refresh can retry only within the grace; the client's key protects its \
         refresh token without rotation",
    ),
    weaker(
        "tokens.access_lifetime",
        "RFC 9449 section 11.2",
        |own| own.profile == Profile::Fapi && own.dpop.nonce_keys.is_empty() && own.tokens.access_lifetime > A_DAY,
        "access tokens are valid for more than a day, and proofs need no nonce: an attacker who could use the client's \
         key for an hour may have made proofs for all that time; set dpop.nonce_keys",
    ),
    weaker(
        "refresh.grace",
        "RFC 9700 section 4.14.2",
        |own| own.rotates_by_itself() && own.refresh.grace > Duration::ZERO,
        "a stolen refresh token that is used within the grace yields the owner's newest pair; the theft is detected \
         when one of the two refreshes later than the grace after the other; each use in grace raises an event",
    ),
    weaker(
        "refresh.derivation_keys",
        "RFC 9700 section 4.14.2",
        |own| own.rotates_by_itself() && own.refresh.derivation_keys.is_empty(),
        "whoever has a copy of the database and a superseded refresh token can derive the pairs after it; keep 32 \
         random bytes outside the database, the same on every server",
    ),
    weaker(
        "refresh.access_token_grace",
        "RFC 9700 section 4.14.2",
        |own| own.rotates_by_itself() && has_near_ends(own),
        "this grace, or the lifetime of access tokens, is less than 60 s longer than the grace of refresh tokens: if \
         the clocks of two servers differ, the owner's refresh after a refused access token may still be in the grace, \
         and a theft is missed",
    ),
    weaker(
        "bearer_in_body",
        "RFC 9700 section 4.3.2",
        |own| own.bearer_in_body,
        "access tokens may end up in logs of form bodies",
    ),
    weaker(
        "tokens.grant_lifetime",
        "RFC 9700 section 4.14.2",
        |own| own.rotates_by_itself() && own.tokens.grant_lifetime.is_none(),
        "a grant that is always refreshed in time ends only by revocation",
    ),
    weaker(
        "registration.dynamic",
        "RFC 7591 section 5",
        |own| own.registration.dynamic == DynamicRegistration::Open,
        "anyone can register a client under any name: the consent page must show where the browser goes, and that no \
         person has reviewed the client",
    ),
    weaker(
        "registration.metadata_documents",
        "draft-ietf-oauth-client-id-metadata-document section 8",
        |own| own.registration.metadata_documents,
        "anyone can make this server fetch documents, and introduce clients under any name: the consent page must show \
         the host of the client id and where the browser goes; with DocumentHosts, the policy can admit known hosts \
         only",
    ),
    weaker(
        "registration.none_beside_private_key_jwt",
        "draft-ietf-oauth-client-id-metadata-document section 8.2",
        |own| own.registration.metadata_documents && own.registration.none_beside_private_key_jwt,
        "a client whose document announces a key is not authenticated: any program that has its code and its PKCE \
         verifier can use the code",
    ),
];

fn is_plain_http(issuer: &str) -> bool {
    issuer.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http"))
}

/// Whether an access token, which ends with its lifetime or with its grace, ends less than a minute after the grace of
/// refresh tokens. The described service has five minutes for both graces.
fn has_near_ends(own: &Config) -> bool {
    let access_token_end = own.refresh.access_token_grace.min(own.tokens.access_lifetime);
    own.profile != Profile::Platform
        && own.refresh.grace > Duration::ZERO
        && access_token_end < own.refresh.grace.saturating_add(A_MINUTE)
}

const A_MINUTE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(86_400);

/// Not a setting: reported if the fetcher connects to loopback addresses.
pub(crate) const LOOPBACK: Finding = Finding {
    setting: "fetcher",
    rule: "draft-ietf-oauth-client-id-metadata-document section 8.6",
    consequence: Cow::Borrowed(
        "users can make this server send requests to programs on the same machine: for development only",
    ),
};

/// Not a setting: reported if the builder got no throttle.
pub(crate) const NO_THROTTLE: Finding = Finding {
    setting: "throttle",
    rule: "RFC 6749 section 2.3.1",
    consequence: Cow::Borrowed(
        "nothing slows down a caller that guesses secrets or holds requests without end; add \
                  `.throttle(MemoryThrottle::new())` to the builder",
    ),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::DerivationKey;

    fn settings(config: &Config) -> Vec<&'static str> {
        config.security_report().findings.iter().map(|finding| finding.setting).collect()
    }

    #[test]
    fn the_platform_profile_names_what_the_described_service_leaves_open() {
        let settings = settings(&Config::platform("https://auth.example"));
        for expected in
            ["redirect_uris.comparison", "authorization.pkce", "authorization.exchange_redirect_uri", "refresh.grace"]
        {
            assert!(settings.contains(&expected), "{expected}");
        }
    }

    #[test]
    fn a_tightened_strict_profile_has_nothing_to_report() {
        let mut config = Config::strict("https://auth.example");
        config.refresh.grace = Duration::ZERO;
        config.refresh.derivation_keys = vec![DerivationKey::new([1; 32])];
        config.redirect_uris.loopback_http = LoopbackHttp::Addresses;
        config.tokens.grant_lifetime = Some(Duration::from_secs(365 * 24 * 60 * 60));
        assert_eq!(settings(&config), Vec::<&str>::new());
        config.issuer = "http://127.0.0.1".into();
        assert_eq!(settings(&config), ["development"]);
    }

    #[test]
    fn clients_without_pkce_are_told_what_a_spent_code_costs() {
        let reported = |config: &Config| {
            let findings = config.security_report().findings;
            findings.into_iter().find(|own| (own.setting, own.rule) == ("authorization.pkce", "RFC 6749 section 4.1.2"))
        };
        let mut config = Config::platform("https://auth.example");
        let finding = reported(&config).unwrap();
        for remedy in ["demand PKCE", "`state`"] {
            assert!(finding.consequence.contains(remedy), "{remedy}");
        }
        config.authorization.pkce = PkceRequirement::AllClients;
        assert!(reported(&config).is_none() && reported(&Config::strict("https://auth.example")).is_none());
    }

    #[test]
    fn an_issuer_with_a_slash_at_the_end_is_reported() {
        for (issuer, reported) in [
            ("https://auth.example", false),
            ("https://auth.example/a", false),
            ("https://auth.example/", true),
            ("https://auth.example/tenant/", true),
        ] {
            assert_eq!(settings(&Config::strict(issuer)).contains(&"issuer"), reported, "{issuer}");
        }
    }

    #[test]
    fn prints_one_line_per_finding() {
        let report = Config::strict("https://auth.example").security_report();
        assert_eq!(report.to_string().lines().count(), report.findings.len());
    }
}
