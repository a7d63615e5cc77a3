//! The FAPI profile at the thin server, as the OpenID conformance suite tests it: the modules of the plan
//! `fapi2-security-profile-final-test-plan` with plain OAuth, `private_key_jwt` and DPoP. A test has the number of its
//! module. The clock is the test's own, so nothing waits.
//!
//! Every module runs with keys for ES256 and for PS256, and without and with nonces for proofs; those of the plan for
//! client credentials run for that grant too. `issuer.test` is never asked: the server is reached over the loopback,
//! and proofs name its public address.

mod answers;
mod binding;
mod browser;
mod call;
mod clients;
mod discovery;
mod fixture;
mod flow;
mod profile;
mod proofs;
mod pushed;
mod refresh;
mod requests;
mod success;
mod token;
mod transport;

/// FAPI-FIX-06
#[test]
fn every_module_of_the_suite_has_a_test() {
    let folder = support::folder::repository().join("tests/system/tests/servers/fapi");
    let texts: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    for module in 1..=50 {
        let id = format!("FAPI-SUITE-{module:02}");
        let names_it = |line: &str| line.starts_with("/// ") && line.split([' ', ',']).any(|word| word == id);
        assert!(texts.iter().any(|text| text.lines().any(names_it)), "{id}");
    }
}
