//! What an administrator does to an approved application: privileges, reduction, secrets, another owner.

use grantor::application::ApplicationFilter;
use grantor::client::{ApplicationType, GrantType, GrantTypes, Privileges};
use grantor::config::Profile;
use grantor::registration::Reduction;
use grantor::scope::ResourceScope;
use grantor::store::Page;
use grantor::{Approval, ClientId, RegistrarError, Subject};

use crate::registration::{developer, registrar, submitted};
use support::world::{
    Credentials, PKCE, Reviewer as _, With as _, World, code, e400, e401, form, logo, ok, page, pair, text, wa,
};

async fn version(world: &World, id: &ClientId) -> u32 {
    registrar(world).client(id).await.unwrap().version()
}

/// ADM-05
#[tokio::test]
async fn privileges_are_given_and_taken_back() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let client = world.register(form()).await;
    let id = client.client_id();
    let foreign = world.pair().await;
    let bad = world.query_of(&client, &[PKCE[0], PKCE[1], ("scope", "nothing")]);
    for is_given in [true, false, true, false] {
        let mut privileges = Privileges::default();
        (privileges.trusted, privileges.may_introspect, privileges.require_pkce) = (is_given, is_given, is_given);
        let read = version(&world, &id).await;
        registrar.set_privileges(&id, read, privileges).await.unwrap();
        let stale = registrar.set_privileges(&id, read, privileges).await;
        assert!(matches!(stale, Err(RegistrarError::ChangedMeanwhile)), "{stale:?}");
        assert_eq!(registrar.client(&id).await.unwrap().privileges(), privileges);

        assert_eq!(world.introspect_as(&client, &foreign.access).await["active"], is_given);
        assert_eq!(world.authorize(&bad).await.unwrap_err().needs_sign_in(), !is_given);
        let without_pkce = world.authorize(&world.query_of(&client, &[])).await;
        assert_eq!(without_pkce.is_err(), is_given);
        if !is_given {
            let code = world.code_for(&world.query_of(&client, &[])).await;
            ok(&world.token(&[("grant_type", "authorization_code"), ("code", &code)]).client(&client).send().await);
        }
    }
}

/// ADM-05, 7662-2.1-04
#[tokio::test]
async fn a_native_application_is_no_resource_server() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let native = || form().with(|form| form.application_type = ApplicationType::Native);
    let id = registrar.submit(developer(), native(), Some(logo())).await.unwrap();
    let refused = registrar.approve_now(&id, Approval::default().may_introspect()).await;
    assert!(matches!(refused, Err(RegistrarError::PublicClient)), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("only a confidential web application may have this"));

    let client = world.register(native()).await;
    let id = client.client_id();
    let mut privileges = Privileges::default();
    privileges.may_introspect = true;
    let refused = registrar.set_privileges(&id, version(&world, &id).await, privileges).await;
    assert!(matches!(refused, Err(RegistrarError::PublicClient)), "{refused:?}");
    // Every copy of the application contains its secret, so the secret proves nothing here.
    let own = world.pair_of(&client).await;
    let call = world.post(grantor::wire::Endpoint::Introspection, &[("token", &own.access)]).client(&client);
    e401(&call.send().await, "invalid_client");
    ok(&world.refresh_as(&client, &own.refresh).await);
}

/// ADM-06
#[tokio::test]
async fn a_reduced_application_has_less_at_once() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let (live, early, later) = (world.pair().await, world.code().await, world.pair().await);
    let reduce = async |reducing| registrar.reduce(&id, version(&world, &id).await, reducing).await;
    reduce(Reduction::default().scopes("repo-code:r account-profile:r")).await.unwrap();
    assert_eq!(world.access(&live.access).await.unwrap().scopes().as_str(), "repo-code:r account-profile:r");
    assert_eq!(pair(&world.exchange(&early).await).scope, "repo-code:r account-profile:r");
    assert_eq!(pair(&world.refresh(&live.refresh).await).scope, "repo-code:r account-profile:r");
    assert_eq!(registrar.application(&id).await.unwrap().form().scopes.as_str(), "repo-code:r account-profile:r");

    let refused = reduce(Reduction::default().scopes("repo-code:rw repo-issue:r account-profile:r")).await;
    let Err(RegistrarError::Extends(new)) = refused else { panic!("{refused:?}") };
    let named: Vec<_> = new.iter().map(|new| (new.field.as_str(), new.added.as_str())).collect();
    assert_eq!(named, [("scopes", "repo-code:rw"), ("scopes", "repo-issue:r")]);

    reduce(Reduction::default().resource_scope(ResourceScope::specified(["one"]).unwrap())).await.unwrap();
    let own = world.access(&later.access).await.unwrap();
    assert_eq!(own.resource_scope(), ResourceScope::specified(["one"]).unwrap());
    assert!(matches!(
        reduce(Reduction::default().resource_scope(ResourceScope::All)).await,
        Err(RegistrarError::Extends(_))
    ));

    reduce(Reduction::default().grant_types(GrantTypes::CODE_ONLY)).await.unwrap();
    e400(&world.refresh(&later.refresh).await, "unauthorized_client");
    assert!(world.opens(&later.access).await);
    let refused = reduce(Reduction::default().grant_types(GrantTypes::default())).await;
    assert!(refused.unwrap_err().to_string().contains("grant_types: \"refresh_token\""));
    let stale = version(&world, &id).await.wrapping_add(1);
    let stale = registrar.reduce(&id, stale, Reduction::default()).await;
    assert!(matches!(stale, Err(RegistrarError::ChangedMeanwhile)), "{stale:?}");
}

/// ADM-06
#[tokio::test]
async fn a_redirect_uri_that_is_taken_away_gets_no_code() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let (kept, lost) = ("https://kept.example.com/cb", "https://lost.example.com/cb");
    let client = world.register(form().with(|form| form.redirect_uris = vec![kept.into(), lost.into()])).await;
    let id = client.client_id();
    let query = |uri| world.query_of(&client, &[PKCE[0], PKCE[1], ("redirect_uri", uri)]);
    let pending = world.authorize(&query(lost)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, support::world::SESSION).await.unwrap();
    let early = [world.code_for(&query(kept)).await, world.code_for(&query(lost)).await];
    let reducing = Reduction::default().redirect_uris([kept]);
    registrar.reduce(&id, version(&world, &id).await, reducing).await.unwrap();
    pair(&world.exchange_as(&client, &early[0]).await);
    e400(&world.exchange_as(&client, &early[1]).await, "invalid_grant");
    let agreed = grantor::Decision::Approve(grantor::Consent::to_everything());
    let decided = world.server.decide(handle.expose(), &world.alice, support::world::SESSION, &agreed).await;
    page(&decided.unwrap_err().response(Some(&world.alice)));
    page(&world.refused(&query(lost)).await);
    code(&world.approve(&query(kept)).await);
    let extended =
        registrar.reduce(&id, version(&world, &id).await, Reduction::default().redirect_uris([kept, lost])).await;
    assert!(extended.unwrap_err().to_string().contains(lost));
}

/// ADM-06, CC-03
#[tokio::test]
async fn a_client_of_client_credentials_is_reduced_too() {
    let world = World::with(Profile::Platform, |config| config.client_credentials.on = true).await;
    let registrar = registrar(&world);
    let machine = world
        .register(form().with(|form| {
            form.grant_types = GrantTypes::default().with(GrantType::ClientCredentials);
            form.client_scopes = "repo-code:rw repo-issue:r".into();
            form.client_resources = Some(ResourceScope::specified(["one", "two"]).unwrap());
        }))
        .await;
    let id = machine.client_id();
    let token = ok(&world.token(&[("grant_type", "client_credentials")]).client(&machine).send().await);
    let token = token.access_token.expose().to_owned();
    let reduce = async |reducing| registrar.reduce(&id, version(&world, &id).await, reducing).await.unwrap();
    reduce(Reduction::default().client_scopes("repo-code:r")).await;
    reduce(Reduction::default().client_resources(ResourceScope::specified(["two"]).unwrap())).await;
    let own = world.access(&token).await.unwrap();
    assert_eq!(own.scopes().as_str(), "repo-code:r");
    assert_eq!(own.resource_scope(), ResourceScope::specified(["two"]).unwrap());
    reduce(Reduction::default().grant_types(GrantTypes::default())).await;
    wa(world.access(&token).await.unwrap_err(), 401, "invalid_token");
    let asked = world.token(&[("grant_type", "client_credentials")]).client(&machine).send().await;
    e400(&asked, "unauthorized_client");
}

/// ADM-08
#[tokio::test]
async fn a_transferred_application_is_the_new_owners() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let live = world.pair().await;
    registrar.change_now(&id, form().with(|form| form.name = "Mine".into()), Some(logo())).await.unwrap();
    let stale = version(&world, &id).await.wrapping_add(1);
    let stale = registrar.transfer(&id, stale, world.alice.clone()).await;
    assert!(matches!(stale, Err(RegistrarError::ChangedMeanwhile)), "{stale:?}");
    registrar.transfer(&id, version(&world, &id).await, world.alice.clone()).await.unwrap();

    let of = async |owner: &Subject| {
        let listed = registrar.list(&ApplicationFilter::OwnedBy(owner.clone()), Page::first(10)).await.unwrap();
        listed.iter().map(|own| own.id().clone()).collect::<Vec<_>>()
    };
    assert_eq!((of(&developer()).await, of(&world.alice).await), (Vec::new(), vec![id.clone()]));
    let application = registrar.application(&id).await.unwrap();
    assert_eq!((application.owner.as_ref(), application.proposed.as_ref()), (Some(&world.alice), None));
    assert_eq!(registrar.logo(&id, grantor::application::LogoSlot::Proposed).await.unwrap(), None);
    let now = application.version();
    for refused in [
        registrar.claim_secret(&id, &developer(), now).await.map(drop),
        registrar.rotate_secret(&id, &developer(), now).await.map(drop),
        registrar.revoke_previous_secret(&id, &developer(), now).await,
        registrar.change(&id, &developer(), form(), None).await,
        registrar.delete_own(&id, &developer(), now).await,
    ] {
        assert!(matches!(refused, Err(RegistrarError::NotFound)), "{refused:?}");
    }

    // The secret works, and the previous owner knows it until it is replaced.
    assert!(registrar.client(&id).await.unwrap().has_secret_of_previous_owner());
    let live = pair(&world.refresh(&live.refresh).await);
    let secret = registrar.rotate_now(&id).await.unwrap().expose().to_owned();
    registrar.retire_now(&id).await.unwrap();
    assert!(!registrar.client(&id).await.unwrap().has_secret_of_previous_owner());
    ok(&world.refresh_as(&Credentials { secret, ..world.client.clone() }, &live.refresh).await);
}

/// ADM-11, D-26
#[tokio::test]
async fn the_owner_makes_the_secret_and_no_administrator() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = submitted(&world).await;
    let early = registrar.claim_now(&id).await;
    assert!(matches!(early, Err(RegistrarError::WrongState(_))), "{early:?}");
    registrar.approve_now(&id, Approval::default()).await.unwrap();
    let unproven = Credentials { id: id.to_string(), secret: "a-secret-that-nobody-made".into() };
    e401(&world.refresh_as(&unproven, "x").await, "invalid_client");
    e401(&world.refresh_as(&Credentials { secret: String::new(), ..unproven.clone() }, "x").await, "invalid_client");
    let read = version(&world, &id).await;
    let foreign = registrar.claim_secret(&id, &world.alice, read).await;
    assert!(matches!(foreign, Err(RegistrarError::NotFound)), "{foreign:?}");
    let owner = developer();
    let claim = || registrar.claim_secret(&id, &owner, read);
    let (one, other) = futures::join!(claim(), claim());
    let ((Ok(made), Err(refused)) | (Err(refused), Ok(made))) = (one, other) else { panic!("one gets the secret") };
    assert!(matches!(refused, RegistrarError::ChangedMeanwhile), "{refused:?}");
    let expected = made.expose().len() == 43 && made.expose().bytes().all(|byte| byte.is_ascii_alphanumeric());
    assert!(expected, "letters and digits");
    world.pair_of(&Credentials { id: id.to_string(), secret: made.expose().into() }).await;
    let again = registrar.claim_now(&id).await.unwrap_err();
    assert_eq!(again.to_string(), "the application has a secret: rotate_secret makes the next one");
}

/// ADM-12
#[tokio::test]
async fn an_administrator_ends_all_secrets_and_the_owner_makes_the_next() {
    let world = World::platform().await;
    let registrar = registrar(&world);
    let id = world.client.client_id();
    let live = world.pair().await;
    let second = registrar.rotate_now(&id).await.unwrap().expose().to_owned();
    registrar.end_secrets(&id).await.unwrap();
    for secret in [world.client.secret.clone(), second] {
        e401(&world.refresh_as(&Credentials { secret, ..world.client.clone() }, &live.refresh).await, "invalid_client");
    }
    assert!(world.opens(&live.access).await);
    let secret = registrar.rotate_now(&id).await.unwrap().expose().to_owned();
    ok(&world.refresh_as(&Credentials { secret, ..world.client.clone() }, &live.refresh).await);
    let nobody = ClientId::new("nobody").unwrap();
    let unknown = registrar.rotate_secret(&nobody, &developer(), 1).await.unwrap_err().to_string();
    let foreign = registrar.rotate_secret(&id, &world.alice, 1).await.unwrap_err().to_string();
    assert_eq!(unknown, foreign);
}

/// ADM-15
#[tokio::test]
async fn nothing_of_it_is_served_over_http() {
    use grantor::wire::Endpoint;
    let world = World::platform().await;
    let paths: Vec<_> = Endpoint::MACHINE
        .iter()
        .chain([&Endpoint::Authorization])
        .flat_map(|endpoint| world.server.paths(*endpoint))
        .collect();
    let protocol = [
        "/oauth2/token",
        "/oauth2/revoke",
        "/oauth2/introspect",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/",
        "/oauth2/auth",
    ];
    assert_eq!(paths, protocol);
    let document =
        text(&[("metadata".into(), crate::rfc8414::metadata(&world).await.to_string().into_bytes())], "metadata");
    assert!(!document.contains("registration_endpoint"));
}
