//! What a reviewer grants: changes of an approved application, fewer scopes, more demands.

use std::time::Duration;

use grantor::application::{Field, Logo, LogoSlot, Problem, RegistrationLimits};
use grantor::client::ClientState;
use grantor::scope::{Permission, Resource, ResourceScope, ScopeError};
use grantor::{ApplicationForm, Approval, Consent, Decision, RegistrarError};

use crate::registration::{fields, registrar, submitted};
use support::world::{
    Credentials, PKCE, PNG, REDIRECT_URI, Reviewer as _, START, With as _, World, code, form, logo, ok, page, pair,
    red, text, wa,
};

const OTHER_URI: &str = "https://other.example.com/cb";

/// The form of the world with another redirect URI and other scopes.
fn changed() -> ApplicationForm {
    form().with(|form| {
        form.name = "New Name".into();
        form.redirect_uris = vec![OTHER_URI.into()];
        form.scopes = "repo-code:r repo-release:rw".into();
        form.resource_scope = Some(ResourceScope::Public);
    })
}

fn other_logo() -> Logo {
    Logo::new([PNG, &[0]].concat(), &RegistrationLimits::default()).unwrap()
}

/// Returns what the consent page shows: the client's name, the scopes, and the redirect URI.
async fn asked(world: &World) -> (String, String, String) {
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let host = pending.redirect_host().to_owned();
    (pending.client().form().name.clone(), pending.scopes().to_string(), host)
}

/// D-25
#[tokio::test]
async fn the_approved_version_stays_in_force_until_a_change_is_approved() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let in_force = asked(&world).await;
    let live = world.pair().await;
    world.advance(10);
    registrar.change_now(&id, changed(), Some(other_logo())).await.unwrap();

    assert_eq!(asked(&world).await, in_force);
    page(&world.refused(&world.query(&[("redirect_uri", OTHER_URI)])).await);
    red(&world.refused(&world.query(&[("scope", "repo-release:rw")])).await, "invalid_scope");
    let application = registrar.application(&id).await.unwrap();
    assert!(application.awaits_review() && application.form().name == "Example App");
    assert_eq!(application.proposed.as_ref().unwrap().scopes.as_str(), "repo-code:r repo-release:rw");
    assert_eq!(application.submitted.seconds(), START + 10);
    assert_eq!(application.decided.unwrap().seconds(), START);
    let logo_in = async |slot| registrar.logo(&id, slot).await.unwrap().map(|logo| logo.bytes().to_vec());
    let both = (logo_in(LogoSlot::InForce).await, logo_in(LogoSlot::Proposed).await);
    assert_eq!(both, (Some(PNG.to_vec()), Some(other_logo().bytes().to_vec())));

    world.advance(10);
    let approved = registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert!(approved.is_change && approved.client_id == id);
    let expected = ("New Name", "repo-code:r repo-release:rw", "other.example.com");
    let (name, scopes, host) = asked(&world).await;
    assert_eq!((&*name, &*scopes, &*host), expected);
    page(&world.refused(&world.query(&[("redirect_uri", REDIRECT_URI)])).await);
    let both = (logo_in(LogoSlot::InForce).await, logo_in(LogoSlot::Proposed).await);
    assert_eq!(both, (Some(other_logo().bytes().to_vec()), None));
    let application = registrar.application(&id).await.unwrap();
    assert!(!application.awaits_review() && application.form().name == "New Name");
    assert_eq!(application.decided.unwrap().seconds(), START + 20);

    // The secret is unchanged, and earlier grants are reduced and not extended.
    assert_eq!(world.access(&live.access).await.unwrap().scopes().as_str(), "repo-code:r");
    assert_eq!(pair(&world.refresh(&live.refresh).await).scope, "repo-code:r");
    assert_eq!(world.pair().await.scope, "repo-code:r repo-release:rw");
}

/// D-25
#[tokio::test]
async fn a_rejected_change_leaves_the_approved_version_as_it_was() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let in_force = asked(&world).await;
    registrar.change_now(&id, changed(), Some(other_logo())).await.unwrap();
    registrar.reject_now(&id, "The new address is not yours.").await.unwrap();
    assert_eq!(asked(&world).await, in_force);
    ok(&world.exchange(&world.code().await).await);
    let application = registrar.application(&id).await.unwrap();
    assert!(application.proposed.is_none() && !application.awaits_review());
    assert_eq!(application.rejection.as_deref(), Some("The new address is not yours."));
    assert_eq!(registrar.logo(&id, LogoSlot::Proposed).await.unwrap(), None);
    assert_eq!(registrar.logo(&id, LogoSlot::InForce).await.unwrap().unwrap().bytes(), PNG);
    let outcome = registrar.approve_now(&id, Approval::default()).await;
    assert!(matches!(outcome, Err(RegistrarError::NothingProposed)));

    // The next approval removes the reason.
    registrar.change_now(&id, changed(), None).await.unwrap();
    let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
    assert_eq!(registrar.application(&id).await.unwrap().rejection, None);
}

/// D-25
#[tokio::test]
async fn a_later_change_takes_the_place_of_the_one_that_waits() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    registrar.change_now(&id, changed(), Some(other_logo())).await.unwrap();
    let last = form().with(|form| form.name = "Last Name".into());
    registrar.change_now(&id, last, None).await.unwrap();
    let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
    let (name, scopes, host) = asked(&world).await;
    assert_eq!((&*name, &*scopes, &*host), ("Last Name", support::world::SCOPES, "app.example.com"));
}

/// D-25
#[tokio::test]
async fn a_change_of_a_suspended_application_is_decided_while_it_stays_suspended() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    registrar.suspend(&id).await.unwrap();
    registrar.change_now(&id, changed(), None).await.unwrap();
    assert!(registrar.approve_now(&id, Approval::default()).await.unwrap().is_change);
    page(&world.refused(&world.query(&PKCE)).await);
    registrar.resume(&id).await.unwrap();
    assert_eq!(asked(&world).await.0, "New Name");
}

/// D-25, SVC-5-01, CVE-2026-70665, CVE-2026-22752
#[tokio::test]
async fn a_reviewer_may_approve_fewer_scopes_and_never_more() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = submitted(&world).await;
    assert_eq!(registrar.application(&id).await.unwrap().state(), ClientState::Pending);
    for (scopes, problem) in [
        ("\t", Some(ScopeError::Malformed)),
        ("nothing", Some(ScopeError::Unknown { token: Some("nothing".into()), nearest: None })),
        (
            "repo-security:rw",
            Some(ScopeError::PermissionNotAllowed {
                token: "repo-security:rw".into(),
                accepted: "repo-security:r".into(),
            }),
        ),
        ("repo-delete:rw", None),
        ("repo-code:rw account-profile:rw", None),
    ] {
        let outcome = registrar.approve_now(&id, Approval::default().scopes(scopes)).await;
        match problem {
            Some(problem) => assert_eq!(fields(outcome), [(Field::Scopes, Problem::Scope(problem))], "{scopes}"),
            None => assert!(matches!(outcome, Err(RegistrarError::ScopesNotAsked)), "{scopes}"),
        }
    }
    let none = registrar.approve_now(&id, Approval::default().scopes(" ")).await;
    assert_eq!(fields(none), [(Field::Scopes, Problem::Missing)]);
    page(&world.refused(&format!("response_type=code&client_id={id}")).await);

    registrar.approve_now(&id, Approval::default().scopes("account-profile repo-code:r")).await.unwrap();
    let secret = registrar.claim_now(&id).await.unwrap().expose().to_owned();
    let client = Credentials { id: id.to_string(), secret };
    assert_eq!(world.pair_of(&client).await.scope, "repo-code:r account-profile:r");
    red(&world.refused(&world.query_of(&client, &[("scope", "repo-code:rw")])).await, "invalid_scope");
    red(&world.refused(&world.query_of(&client, &[("scope", "repo-issue:r")])).await, "invalid_scope");
    let application = registrar.application(&id).await.unwrap();
    assert_eq!(application.form().scopes.as_str(), "repo-code:r account-profile:r");
    let client = registrar.client(&id).await.unwrap();
    assert!(!client.privileges().trusted && !client.may_introspect());
}

/// D-25
#[tokio::test]
async fn what_a_reviewer_demanded_or_gave_stays_through_changes() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let client = world.register_as(form(), Approval::default().require_pkce().trusted().may_introspect()).await;
    let other = world.pair().await;
    for changes in 0..2 {
        red(&world.refused(&world.query_of(&client, &[])).await, "invalid_request");
        code(&world.approve(&world.query_of(&client, &PKCE)).await);
        let bad_scope = [PKCE[0], PKCE[1], ("scope", "nothing")];
        let error = world.authorize(&world.query_of(&client, &bad_scope)).await.unwrap_err();
        assert!(!error.needs_sign_in());
        red(&error.response(None), "invalid_scope");
        assert_eq!(world.introspect_as(&client, &other.access).await["active"], true);
        if changes == 0 {
            registrar.change_now(&client.client_id(), form(), Some(logo())).await.unwrap();
            let _ = registrar.approve_now(&client.client_id(), Approval::default()).await.unwrap();
        }
    }
    // An application that was approved without them has none of these.
    let plain = world.register(form()).await;
    code(&world.approve(&world.query_of(&plain, &[])).await);
    let error = world.authorize(&world.query_of(&plain, &[("scope", "nothing")])).await.unwrap_err();
    assert!(error.needs_sign_in());
    page(&error.response(None));
    assert_eq!(world.introspect_as(&plain, &other.access).await["active"], false);
}

/// D-29, SVC-5-02, SVC-2.1-07
#[tokio::test]
async fn the_resource_scope_is_stored_at_consent_and_reported_to_the_resource() {
    let world = World::platform().await;
    let form = form().with(|form| form.resource_scope = Some(ResourceScope::specified(["team/a", "team/b"]).unwrap()));
    let client = world.register(form).await;
    let query = world.query_of(&client, &PKCE);
    let pending = world.authorize(&query).await.unwrap();
    assert_eq!(*pending.resource_scope(), ResourceScope::specified(["team/a", "team/b"]).unwrap());
    let picked = |resources: &[&str]| Decision::Approve(Consent::to_everything().resources(resources.iter().copied()));
    red(&world.decide(&query, picked(&[])).await, "access_denied");
    for outside in [&["team/x"][..], &["team/a", "team/x"], &["team"]] {
        page(&world.decide(&query, picked(outside)).await);
    }
    let code = text(&code(&world.decide(&query, picked(&["team/b"])).await), "code");
    let first = pair(&world.exchange_as(&client, &code).await);
    let second = pair(&world.refresh_as(&client, &first.refresh).await);
    for token in [&first.access, &second.access] {
        let token_of = world.access(token).await.unwrap();
        assert_eq!(token_of.resource_scope(), ResourceScope::specified(["team/b"]).unwrap());
        assert!(token_of.permits("repo-code", Permission::Read, Resource::Private("team/b")));
        for resource in [Resource::Private("team/a"), Resource::Public("team/a"), Resource::Public("elsewhere")] {
            let error =
                world.server.resource().require(&token_of, "repo-code", Permission::Read, resource).unwrap_err();
            wa(error, 403, "insufficient_scope");
        }
        let body = world.introspect_as(&client, token).await;
        assert_eq!((&body["resource_scope"], &body["resources"]), (&"specified".into(), &vec!["team/b"].into()));
    }
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    assert_eq!(*grants[0].resource_scope(), ResourceScope::specified(["team/b"]).unwrap());
}

/// D-29
#[tokio::test]
async fn a_registration_that_is_reduced_later_reduces_live_tokens() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let live = world.pair().await;
    let require = async |resource: Resource<'_>| {
        let token = world.access(&live.access).await.unwrap();
        world.server.resource().require(&token, "repo-code", Permission::Read, resource).is_ok()
    };
    let reduce = async |resource_scope: ResourceScope| {
        let form = form().with(|form| form.resource_scope = Some(resource_scope));
        registrar.change_now(&id, form, None).await.unwrap();
        let _ = registrar.approve_now(&id, Approval::default()).await.unwrap();
        let body = world.introspect_as(&world.client, &live.access).await;
        assert_eq!(body["active"], true);
        body["resource_scope"].as_str().unwrap().to_owned()
    };
    assert!(require(Resource::Private("team/a")).await);
    assert_eq!(reduce(ResourceScope::Public).await, "public");
    assert!(!require(Resource::Private("team/a")).await && require(Resource::Public("team/a")).await);
    assert_eq!(reduce(ResourceScope::specified(["team/b"]).unwrap()).await, "specified");
    assert!(!require(Resource::Public("team/a")).await && require(Resource::Private("team/b")).await);
    // The user granted all resources, and the token reaches all of them again.
    assert_eq!(reduce(ResourceScope::All).await, "all");
    assert!(require(Resource::Private("team/a")).await);

    // A grant that was made under a bound does not grow when the bound is extended.
    reduce(ResourceScope::Public).await;
    let bounded = world.pair().await;
    reduce(ResourceScope::All).await;
    assert_eq!(world.access(&bounded.access).await.unwrap().resource_scope(), ResourceScope::Public);
    world.clock.advance(Duration::from_secs(1));
    let next = pair(&world.refresh(&bounded.refresh).await);
    assert_eq!(world.access(&next.access).await.unwrap().resource_scope(), ResourceScope::Public);
}
