//! Lists the settings that are weaker than the current best practice.

use std::fmt;
use std::time::Duration;

use crate::config::DynamicRegistration;
use crate::config::{
    AssertionAudience, AuthorizationErrors, BasicDecoding, Config, ExchangeRedirectUri, PkceRequirement, Profile,
    ReuseResponse, StateCharacters,
};
use crate::model::client::RefreshRotation;
use crate::model::redirect_uri::{LoopbackHttp, RedirectUriComparison, WebUri};
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The field of [`Config`].
    pub setting: &'static str,
    /// The rule that requires more.
    pub rule: &'static str,
    /// What the weaker setting costs, and what protects instead.
    pub consequence: &'static str,
}

impl fmt::Display for SecurityReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{} ({}): {}", finding.setting, finding.rule, finding.consequence)?;
        }
        Ok(())
    }
}

impl Config {
    /// Lists the settings that are weaker than RFC 9700 and OAuth 2.1 require.
    pub(crate) fn security_report(&self) -> SecurityReport {
        let weaker = self.weaker_settings();
        SecurityReport {
            findings: weaker.into_iter().filter_map(|(loose, finding)| loose.then_some(finding)).collect(),
        }
    }

    fn weaker_settings(&self) -> [(bool, Finding); 26] {
        let uris = &self.redirect_uris;
        let domain = uris.comparison != RedirectUriComparison::Exact;
        let refresh_grace = self.refresh.grace;
        let rotates = self.rotates_by_itself();
        // An access token ends with its lifetime, or with its grace. The described service has five minutes for both
        // graces.
        let access_token_end = self.refresh.access_token_grace.min(self.tokens.access_lifetime);
        let has_near_ends = self.profile != Profile::Platform
            && refresh_grace > Duration::ZERO
            && access_token_end < refresh_grace.saturating_add(A_MINUTE);
        let is_fapi = self.profile == Profile::Fapi;
        let takes_assertions = self.client_authentication.accepts_assertions();
        [
            (domain, DOMAIN_RULE),
            (uris.comparison == RedirectUriComparison::DomainAnyPort, ANY_PORT),
            (uris.loopback_http == LoopbackHttp::AddressesAndLocalhost, LOCALHOST),
            (!uris.private_use_schemes.named().is_empty(), NAMED_SCHEMES),
            (self.authorization.pkce != PkceRequirement::AllClients, PKCE),
            (self.authorization.pkce != PkceRequirement::AllClients, SPENT_CODE),
            (self.authorization.redirect_status != RedirectStatus::SeeOther, REDIRECT_STATUS),
            (self.authorization.state != StateCharacters::Visible, STATE),
            (self.authorization.exchange_redirect_uri == ExchangeRedirectUri::Optional, EXCHANGE_REDIRECT_URI),
            (self.authorization.errors != AuthorizationErrors::Rfc6749, ERRORS),
            (self.client_authentication.basic == BasicDecoding::Either, BASIC),
            (is_plain_http(&self.issuer), PLAIN_HTTP_ISSUER),
            (is_rewritten_by_clients(&self.issuer), ISSUER),
            (self.cors != Cors::Off && !self.public_clients, CORS),
            (
                takes_assertions && self.client_authentication.assertion_audience == AssertionAudience::Legacy,
                ASSERTION_AUDIENCE,
            ),
            (takes_assertions && self.client_authentication.rs256, RS256_ASSERTIONS),
            (is_fapi && self.refresh.rotation == RefreshRotation::Rotate, REFRESH_ROTATION),
            (is_fapi && self.dpop.nonce_keys.is_empty() && self.tokens.access_lifetime > A_DAY, LONG_ACCESS),
            (rotates && refresh_grace > Duration::ZERO, REFRESH_GRACE),
            (rotates && has_near_ends, NEAR_ENDS),
            (self.refresh.reuse != ReuseResponse::RevokeGrant, REUSE),
            (self.bearer_in_body, BEARER_IN_BODY),
            (rotates && self.tokens.grant_lifetime.is_none(), GRANT_LIFETIME),
            (self.registration.dynamic == DynamicRegistration::Open, DYNAMIC_REGISTRATION),
            (self.registration.metadata_documents, DOCUMENTS),
            (self.registration.none_beside_private_key_jwt, NONE_BESIDE_PRIVATE_KEY_JWT),
        ]
    }
}

fn is_plain_http(issuer: &str) -> bool {
    issuer.split_once(':').is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http"))
}

/// Whether the URL libraries of clients rewrite that issuer, or clients leave out its last slash.
fn is_rewritten_by_clients(issuer: &str) -> bool {
    issuer.ends_with('/') || WebUri::split(issuer).is_ok_and(|uri| !uri.has_plain_origin(issuer))
}

const DYNAMIC_REGISTRATION: Finding = Finding {
    setting: "registration.dynamic",
    rule: "RFC 7591 section 5",
    consequence: "anyone can register a client under any name: the consent page must show where the browser goes, and \
                  that no person has reviewed the client",
};
const DOCUMENTS: Finding = Finding {
    setting: "registration.metadata_documents",
    rule: "draft-ietf-oauth-client-id-metadata-document section 8",
    consequence: "anyone can make this server fetch documents, and introduce clients under any name: the consent page \
                  must show the host of the client id and where the browser goes; with DocumentHosts, the policy can \
                  admit known hosts only",
};
const NONE_BESIDE_PRIVATE_KEY_JWT: Finding = Finding {
    setting: "registration.none_beside_private_key_jwt",
    rule: "draft-ietf-oauth-client-id-metadata-document section 8.2",
    consequence: "a client whose document announces a key is not authenticated: any program that has its code and its \
                  PKCE verifier can use the code",
};
const DOMAIN_RULE: Finding = Finding {
    setting: "redirect_uris.comparison",
    rule: "RFC 9700 section 2.1",
    consequence: "any path of the registered host may receive codes: unsafe if several owners share the host by path, \
                  or if the host has an open redirector; PKCE and a redirect_uri in the exchange protect the codes \
                  there",
};
const ANY_PORT: Finding = Finding {
    setting: "redirect_uris.comparison",
    rule: "RFC 9700 section 2.1",
    consequence: "any service on the registered host may receive codes",
};
const LOCALHOST: Finding = Finding {
    setting: "redirect_uris.loopback_http",
    rule: "RFC 8252 section 8.3",
    consequence: "the name localhost may resolve elsewhere; PKCE, which native clients need, makes a stolen code \
                  useless",
};
const NAMED_SCHEMES: Finding = Finding {
    setting: "redirect_uris.private_use_schemes",
    rule: "RFC 8252 section 7.1",
    consequence: "any app on the user's device may claim such a scheme and receive codes; PKCE makes a stolen code \
                  useless",
};
const PKCE: Finding = Finding {
    setting: "authorization.pkce",
    rule: "RFC 9700 section 2.1.1",
    consequence: "confidential clients that send no challenge are not protected against injected codes",
};
const SPENT_CODE: Finding = Finding {
    setting: "authorization.pkce",
    rule: "RFC 6749 section 4.1.2",
    consequence: "an attacker who has a spent code of a client without PKCE, such as from a log, can send it to the \
                  client's redirect URI: the client sends it again, and the user's grant is revoked; demand PKCE of \
                  the client, or make sure that it compares `state` with the browser's session before it exchanges a \
                  code",
};
const REDIRECT_STATUS: Finding = Finding {
    setting: "authorization.redirect_status",
    rule: "RFC 9700 section 4.12",
    consequence: "in theory, a browser may repeat a POST after a 302; browsers in use turn it into a GET, and 307 is \
                  never sent",
};
const STATE: Finding = Finding {
    setting: "authorization.state",
    rule: "RFC 6749 appendix A.5",
    consequence: "clients get back any bytes that they sent, percent-encoded",
};
const EXCHANGE_REDIRECT_URI: Finding = Finding {
    setting: "authorization.exchange_redirect_uri",
    rule: "RFC 6749 section 4.1.3",
    consequence: "a client that sends neither redirect_uri nor PKCE is not protected against injected codes",
};
const ERRORS: Finding = Finding {
    setting: "authorization.errors",
    rule: "RFC 6749 section 4.1.2.1",
    consequence: "clients do not learn of a wrong response_type or state; there are no unnecessary redirects",
};
const BASIC: Finding = Finding {
    setting: "client_authentication.basic",
    rule: "RFC 6749 section 2.3.1",
    consequence: "credentials that are not form-encoded are accepted too; those made by the server are the same \
                  either way",
};
const PLAIN_HTTP_ISSUER: Finding = Finding {
    setting: "development",
    rule: "RFC 6749 section 3.1",
    consequence: "tokens and secrets are sent unencrypted: for development only",
};
const ISSUER: Finding = Finding {
    setting: "issuer",
    rule: "RFC 8414 section 3.3",
    consequence: "the issuer has a slash at the end, upper case in scheme or host, or the default port: clients \
                  rewrite such an issuer, and then refuse the metadata or `iss`",
};
const CORS: Finding = Finding {
    setting: "cors",
    rule: "RFC 9700 section 2.6",
    consequence: "pages may call the token endpoint while public_clients is off: such a page contains a client \
                  secret, which every visitor can read",
};
const ASSERTION_AUDIENCE: Finding = Finding {
    setting: "client_authentication.assertion_audience",
    rule: "RFC 10070, CVE-2025-27370",
    consequence: "a malicious server can name this server's token endpoint as its own: a client that authenticates \
                  there signs an assertion that is accepted here",
};
const RS256_ASSERTIONS: Finding = Finding {
    setting: "client_authentication.rs256",
    rule: "FAPI 2.0 Security Profile section 5.4.1",
    consequence: "assertions may be signed with RSASSA-PKCS1-v1_5: no attack has broken the signatures, but verifiers \
                  often had flaws; ask clients for PS256 or ES256",
};
const REFRESH_ROTATION: Finding = Finding {
    setting: "refresh.rotation",
    rule: "FAPI 2.0 Security Profile section 5.3.2.1",
    consequence: "a client that loses the response to a refresh can retry only within the grace; the client's key \
                  protects its refresh token without rotation",
};
const LONG_ACCESS: Finding = Finding {
    setting: "tokens.access_lifetime",
    rule: "RFC 9449 section 11.2",
    consequence: "access tokens are valid for more than a day, and proofs need no nonce: an attacker who could use \
                  the client's key for an hour may have made proofs for all that time; set dpop.nonce_keys",
};
const REFRESH_GRACE: Finding = Finding {
    setting: "refresh.grace",
    rule: "RFC 9700 section 4.14.2",
    consequence: "a stolen refresh token that is used within the grace yields the owner's newest pair; the theft is \
                  detected at the first refresh that comes later than the grace after the other party's, and each \
                  use in grace raises an event",
};
const NEAR_ENDS: Finding = Finding {
    setting: "refresh.access_token_grace",
    rule: "RFC 9700 section 4.14.2",
    consequence: "this grace, or the lifetime of access tokens, is less than 60 s longer than the grace of refresh \
                  tokens: if the clocks of two servers differ, the owner's refresh after a refused access token may \
                  still be in the grace, and a theft is missed",
};
const REUSE: Finding = Finding {
    setting: "refresh.reuse",
    rule: "RFC 9700 section 4.14.2",
    consequence: "a thief who refreshed first keeps the grant",
};
const BEARER_IN_BODY: Finding = Finding {
    setting: "bearer_in_body",
    rule: "RFC 9700 section 4.3.2",
    consequence: "access tokens may end up in logs of form bodies",
};
const GRANT_LIFETIME: Finding = Finding {
    setting: "tokens.grant_lifetime",
    rule: "RFC 9700 section 4.14.2",
    consequence: "a grant that is always refreshed in time ends only by revocation",
};

const A_MINUTE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(86_400);

/// Not a setting: reported if the fetcher connects to loopback addresses.
pub(crate) const LOOPBACK: Finding = Finding {
    setting: "fetcher",
    rule: "draft-ietf-oauth-client-id-metadata-document section 8.6",
    consequence: "users can make this server send requests to programs on the same machine: for development only",
};

/// Not a setting: reported if the builder got no throttle.
pub(crate) const NO_THROTTLE: Finding = Finding {
    setting: "throttle",
    rule: "RFC 6749 section 2.3.1",
    consequence: "nothing slows down a caller that guesses secrets or holds requests without end; add \
                  `.throttle(MemoryThrottle::new())` to the builder",
};

#[cfg(test)]
mod tests {
    use super::*;

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
        config.redirect_uris.loopback_http = LoopbackHttp::Addresses;
        config.tokens.grant_lifetime = Some(Duration::from_secs(365 * 24 * 60 * 60));
        assert_eq!(settings(&config), Vec::<&str>::new());
        config.issuer = "http://127.0.0.1".into();
        assert_eq!(settings(&config), ["development"]);
    }

    #[test]
    fn clients_without_pkce_are_told_what_a_spent_code_costs() {
        let reported = |config: &Config| config.security_report().findings.contains(&SPENT_CODE);
        let mut config = Config::platform("https://auth.example");
        assert!(reported(&config));
        for remedy in ["demand PKCE", "`state`"] {
            assert!(SPENT_CODE.consequence.contains(remedy), "{remedy}");
        }
        config.authorization.pkce = PkceRequirement::AllClients;
        assert!(!reported(&config) && !reported(&Config::strict("https://auth.example")));
    }

    #[test]
    fn issuers_that_clients_rewrite_are_reported() {
        for (issuer, reported) in [
            ("https://auth.example", false),
            ("https://auth.example:8443/Tenant", false),
            ("https://auth.example/a:443", false),
            ("https://[2001:db8::443]", false),
            ("http://127.0.0.1:8080", false),
            ("https://auth.example/", true),
            ("https://auth.example/tenant/", true),
            ("https://Auth.example", true),
            ("HTTPS://auth.example", true),
            ("https://auth.example:443", true),
            ("https://auth.example:443/tenant", true),
            ("http://127.0.0.1:80", true),
        ] {
            assert_eq!(is_rewritten_by_clients(issuer), reported, "{issuer}");
        }
    }

    #[test]
    fn prints_one_line_per_finding() {
        let report = Config::strict("https://auth.example").security_report();
        assert_eq!(report.to_string().lines().count(), report.findings.len());
    }
}
