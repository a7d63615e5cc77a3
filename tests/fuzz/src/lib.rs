//! What a fuzzer does with an input: the bodies of the fuzz targets. The corpora run through them as well.
//!
//! A body panics if a rule is broken. It returns the outcome of the input in a few words, so that a test can require
//! the outcomes that a corpus must reach.

mod answer;
mod assertion;
mod authorization;
mod basic;
mod device;
mod document;
mod dpop_proof;
mod dynamic_registration;
mod key_set;
mod logo;
mod machine;
mod params;
mod records;
mod redirect_uri;
mod registration;
mod request;
mod resource;
mod scope;
mod stage;
mod target_uri;
mod texts;
mod token_text;

use grantor::wire::Endpoint;

/// One fuzz target.
#[derive(Debug)]
#[non_exhaustive]
pub struct Target {
    pub name: &'static str,
    /// Panics if a rule is broken; otherwise returns the outcome of the input.
    pub check: fn(&[u8]) -> String,
    /// The outcomes that the corpus must reach.
    pub reaches: &'static [&'static str],
}

/// Every target there is.
pub const TARGETS: &[Target] = &[
    Target { name: "params", check: params::check, reaches: &["read", "read, a client", "refused"] },
    Target {
        name: "basic",
        check: basic::check,
        reaches: &["admitted, strict", "admitted, lenient", "refused, strict", "refused, lenient"],
    },
    Target {
        name: "redirect_uri",
        check: redirect_uri::check,
        reaches: &["accepted", "accepted by domain", "refused", "not registered"],
    },
    Target { name: "document", check: document::check, reaches: &["client", "several", "document", "url", "unknown"] },
    Target { name: "scope", check: scope::check, reaches: &["1111", "1001", "0010", "0000"] },
    Target { name: "token_text", check: token_text::check, reaches: &["unknown", "genuine", "forged by a holder"] },
    Target {
        name: "records",
        check: records::check,
        reaches: &[
            "authorization",
            "grant",
            "grant of the stage",
            "client",
            "application",
            "device request",
            "user code",
            "logo",
            "nothing",
        ],
    },
    Target {
        name: "authorization",
        check: authorization::check,
        reaches: &["code", "page", "error, invalid_scope", "error, invalid_request", "method"],
    },
    Target {
        name: "token",
        check: |input| machine::check(Endpoint::Token, input),
        reaches: &[
            "200",
            "204",
            "400, invalid_request",
            "400, invalid_grant",
            "400, invalid_scope",
            "400, unsupported_grant_type",
            "400, accused",
            "401, invalid_client",
            "405, invalid_request",
            "413, invalid_request",
        ],
    },
    Target {
        name: "revocation",
        check: |input| machine::check(Endpoint::Revocation, input),
        reaches: &["200", "200, changed", "204", "400, invalid_request", "401, invalid_client", "405, invalid_request"],
    },
    Target {
        name: "introspection",
        check: |input| machine::check(Endpoint::Introspection, input),
        reaches: &["200, active", "200", "400, invalid_request", "401, invalid_client", "405, invalid_request"],
    },
    Target {
        name: "metadata",
        check: |input| machine::check(Endpoint::Metadata, input),
        reaches: &["200", "204", "405, invalid_request"],
    },
    Target {
        name: "device_authorization",
        check: device::asked,
        reaches: &[
            "200",
            "200, with a secret",
            "400, invalid_request",
            "400, invalid_scope",
            "400, invalid_target",
            "400, unauthorized_client",
            "401, invalid_client",
            "405, invalid_request",
            "413, invalid_request",
        ],
    },
    Target { name: "user_code", check: device::typed, reaches: &["found", "unknown", "no code"] },
    Target { name: "resource", check: resource::check, reaches: &["open", "permitted", "401", "400"] },
    Target {
        name: "registration",
        check: registration::check,
        reaches: &["sound", "name", "description", "website", "redirect_uris", "scopes", "resource_scope"],
    },
    Target {
        name: "dynamic_registration",
        check: dynamic_registration::check,
        reaches: &[
            "201, none",
            "201, client_secret_basic",
            "201, client_secret_post",
            "400, invalid_client_metadata",
            "400, invalid_redirect_uri",
        ],
    },
    Target { name: "dpop_proof", check: dpop_proof::check, reaches: &["accepted", "refused", "refused as it is"] },
    Target { name: "target_uri", check: target_uri::check, reaches: &["accepted", "refused"] },
    Target {
        name: "logo",
        check: logo::check,
        reaches: &["image/png", "image/jpeg", "image/gif", "image/webp", "animated", "dimensions", "no image"],
    },
    Target { name: "assertion", check: assertion::check, reaches: &["admitted", "refused"] },
    Target {
        name: "key_set",
        check: key_set::check,
        reaches: &[
            "EC",
            "EC OKP RSA",
            "NotASet",
            "NoUsableKey",
            "KeyIdTwice",
            "key, Private",
            "key, Member",
            "key, NotOnCurve",
            "key, Modulus",
            "key, Exponent",
            "key, SmallOrder",
        ],
    },
    Target {
        name: "texts",
        check: texts::check,
        reaches: &["error", "tokens", "introspection", "metadata", "id", "verifier", "challenge", "text"],
    },
];

/// Inputs that a server writes: the name of their target, their own name, and their bytes.
pub fn made() -> impl Iterator<Item = (&'static str, String, Vec<u8>)> {
    records::of_a_stage().into_iter().map(|(name, bytes)| ("records", name, bytes))
}

/// Runs one input through a target.
///
/// # Panics
///
/// If a rule is broken, or no target has that name.
pub fn check(target: &str, input: &[u8]) {
    let target = TARGETS.iter().find(|own| own.name == target).expect("a target of that name");
    (target.check)(input);
}
