//! Which settings are needed, and what is visible without them.

use grantor::scope::{Permissions, ScopeCatalog, ScopeDefinition};

use super::*;
use crate::rfc8707::resource;

fn refused(change: impl FnOnce(&mut Config), keys: Vec<SigningKey>) -> String {
    let mut config = config();
    change(&mut config);
    build(config, keys).unwrap_err()
}

fn of(config: &mut Config) -> &mut Identity {
    config.identity.as_mut().unwrap()
}

/// IDOFF-02
#[test]
fn openid_is_no_scope_of_a_catalogs_own() {
    let own = |name: &'static str| ScopeCatalog::builder().scope(ScopeDefinition::plain(name)).build().unwrap();
    let mut config = config_of(Profile::Strict);
    config.scopes = own("openid");
    let error = build(config.clone(), Vec::new()).unwrap_err();
    assert!(error.starts_with("scopes is a catalog with openid; "), "{error}");
    for name in ["openid", "email"] {
        let error = refused(|config| config.scopes = own(name), vec![rs256()]);
        assert!(error.starts_with("scopes is a catalog that they cannot be added to"), "{error}");
    }
    config.scopes = own("email");
    build(config, Vec::new()).unwrap();
}

/// IDOFF-05, OIDC-2-02, OIDC-2-10
#[test]
fn a_key_is_needed_and_by_default_one_for_rs256() {
    let error = refused(|_| {}, Vec::new());
    assert!(error.starts_with("signing_keys is a list of 0 keys, none of which signs now"), "{error}");
    let error = refused(|_| {}, vec![es256()]);
    assert!(error.contains("identity.without_rs256"), "{error}");
    let mut config = config();
    of(&mut config).without_rs256 = true;
    build(config.clone(), vec![es256()]).unwrap();
    build(config, vec![ed25519()]).unwrap();
    let mut fapi = config_of(Profile::Fapi);
    fapi.identity = Some(identity());
    assert!(build(fapi.clone(), vec![rs256()]).unwrap_err().contains("FAPI profile"));
    build(fapi, vec![es256()]).unwrap();
    let later = refused(|_| {}, vec![rs256().signs_from(grantor::Timestamp::from_seconds(u32::MAX))]);
    assert!(later.contains("none of which signs now"), "{later}");
}

/// IDOFF-05
#[test]
fn scopes_with_claims_need_a_hook() {
    let without = |config: Config| {
        let builder = AuthorizationServer::builder(config, MemoryStore::new()).signing_keys([rs256()]);
        builder.build().map(drop).map_err(|error| error.to_string())
    };
    let mut config = config();
    let error = without(config.clone()).unwrap_err();
    assert!(error.starts_with("identity.scopes is a list of scopes with claims; "), "{error}");
    of(&mut config).scopes.clear();
    without(config).unwrap();
}

/// IDOFF-05
#[test]
fn scopes_are_plain_and_have_claims_of_their_own() {
    for name in ["sub", "Iss", ""] {
        let scope = IdentityScope::new(ScopeDefinition::plain("staff"), [name]);
        let error = refused(|config| of(config).scopes.push(scope), vec![rs256()]);
        assert!(error.contains("which has the claim"), "{name}: {error}");
    }
    let scope = IdentityScope::new(ScopeDefinition::new("staff", Permissions::ReadOnly), ["department"]);
    let error = refused(|config| of(config).scopes.push(scope), vec![rs256()]);
    assert!(error.contains("which has permissions"), "{error}");
}

/// ID-D-20
#[test]
fn the_platform_profile_has_no_identity() {
    let mut config = config_of(Profile::Platform);
    config.identity = Some(identity());
    let error = build(config, vec![rs256()]).unwrap_err();
    assert_eq!(error, "identity is Some; only None is accepted in the platform profile");
}

/// OIDC-2-06
#[test]
fn an_id_token_lives_for_a_minute_to_an_hour() {
    for seconds in [59, 3601] {
        let lifetime = std::time::Duration::from_secs(seconds);
        let error = refused(|config| of(config).id_token_lifetime = lifetime, vec![rs256()]);
        assert_eq!(error, format!("identity.id_token_lifetime is {seconds} s; 60 to 3600 s are accepted"));
    }
}

/// OIDC-3-16
#[test]
fn no_resource_has_to_serve_identity_scopes() {
    let api = |scopes: &[&str], basic: &[&str]| {
        let mut own = resource("https://api.example", scopes);
        own.basic_scopes = basic.iter().map(|&scope| scope.to_owned()).collect();
        own
    };
    let all = ScopeCatalog::platform().supported();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut config = config();
    for own in [api(&[], &[]), api(&all, &[]), api(&all, &["openid", "repo-code:r"])] {
        config.resources = vec![own];
        build(config.clone(), vec![rs256()]).unwrap();
    }
}
