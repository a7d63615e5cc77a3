//! Faults of other servers.

use grantor::Decision;
use grantor::client::{AuthenticationMethod, AuthenticationMethods};
use grantor::config::PushedRequests;
use grantor::config::{DpopBoundTokens, Profile};
use grantor::store::{Authorization, ClientStore as _, Page, Record, RecordStore};
use grantor::wire::Endpoint;

use super::{approved, decided, held, stored};
use crate::cimd::web::Web;
use support::keys::{Signer, unchanged};
use support::world::{ISSUER, PKCE, SESSION, World, config_of, created, e400, encode, page};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// A world whose clients may authenticate with keys, and bind their tokens.
async fn with_keys_and_proofs(web: &Web) -> World {
    let mut config = config_of(Profile::Strict);
    config.pushed_requests.mode = PushedRequests::Optional;
    config.client_authentication.methods = AuthenticationMethods::SECRET.with(AuthenticationMethod::PrivateKeyJwt);
    config.dpop.tokens = DpopBoundTokens::Optional;
    World::built(config, |builder| builder.fetcher(web.clone())).await
}

/// The parts of a signed token that no other token has.
fn parts(token: &str) -> Vec<String> {
    token.split('.').skip(1).chain([token]).map(str::to_owned).collect()
}

/// 9126-2.1-03, NEG-PAR-01, FAPI-5.3.2.2-04
/// The credentials of a client are in no record, page, response or event.
#[tokio::test]
async fn pushed_credentials_are_nowhere_to_be_found() {
    let mut world = with_keys_and_proofs(&Web::default()).await;
    let signer = Signer::es256();
    let mut keyed = support::world::form();
    keyed.name = "Signing App".into();
    keyed.authentication_methods = AuthenticationMethods::KEY;
    keyed.jwks = Some(signer.key_set());
    let (keyed, own) = (world.register(keyed).await, world.client.clone());
    let now = u64::from(grantor::Clock::now(&world.clock).seconds());
    let assertion = signer.assertion(&keyed.id, ISSUER, now, unchanged);
    let mut needles = parts(&assertion);
    needles.push(own.secret.clone());
    let mut pushed = Vec::new();
    for client in [&own, &own, &keyed] {
        let call = world.post(Endpoint::PushedAuthorization, &[]).raw_body(world.query_of(client, &PKCE));
        let call = match (pushed.len(), client.secret.is_empty()) {
            (0, _) => call.basic(&client.id, &client.secret),
            (_, false) => call.field("client_secret", &client.secret),
            (_, true) => call.field("client_assertion_type", JWT_BEARER).field("client_assertion", &assertion),
        };
        let proof = signer.another().proof("POST", &format!("{ISSUER}/oauth2/par"), now, unchanged);
        needles.extend(parts(&proof));
        pushed.push((client.clone(), created(&call.header("DPoP", proof.as_bytes()).send().await)));
    }
    let mut shown = String::new();
    let mut records: Vec<Vec<u8>> = Vec::new();
    for (client, uri) in &pushed {
        needles.push(uri[uri.len() - 43..].to_owned());
        world.client = client.clone();
        // As it was pushed, after a visit of another browser, and used.
        records.push(stored(&world, uri).await.unwrap().encode());
        let _ = world.visit(&world.reference(uri), b"another browser", None).await.unwrap();
        records.push(stored(&world, uri).await.unwrap().encode());
        shown.push_str(&shown_of(&world, uri).await);
        let record = stored(&world, uri).await.unwrap();
        assert!(record.is_used(), "the records are those of the whole flow");
        shown.push_str(&format!("{record:?}"));
        records.push(record.encode());
        let client = world.store.current_client(&client.client_id()).await.unwrap().unwrap();
        records.push(client.encode());
    }
    let authorizations =
        RecordStore::<Authorization>::list(&world.store, world.alice.as_str(), Page::first(100)).await.unwrap();
    assert_eq!(authorizations.len(), pushed.len());
    records.extend(authorizations.iter().map(|record| record.encode()));
    let events = world.events.take().join("\n");
    assert!(events.contains("CodeIssued") && !events.contains("request_uri:"), "{events}");
    for needle in &needles {
        for record in &records {
            let found = record.windows(needle.len()).any(|window| window == needle.as_bytes());
            assert!(!found, "a record has {needle}");
        }
        assert!(!shown.contains(needle) && !events.contains(needle), "{needle}");
    }
}

/// Everything that a browser and your service are shown of a pushed request.
async fn shown_of(world: &World, uri: &str) -> String {
    let pending = world.visit(&world.reference(uri), SESSION, Some(&world.alice)).await.unwrap();
    let mut shown = format!("{pending:?}");
    let handle = held(world, uri).await;
    let answer = approved(world, &handle).await;
    shown.push_str(&handle);
    answer.headers().for_each(|(_, value)| shown.push_str(value));
    let again = decided(world, &handle, Decision::Deny).await;
    again.headers().for_each(|(_, value)| shown.push_str(value));
    shown + &String::from_utf8_lossy(again.body())
}

/// NEG-PAR-01, PYSEC-2026-4360
/// A `request_uri` of another kind is refused without a fetch, with the same text.
#[tokio::test]
async fn a_request_uri_is_never_fetched() {
    let web = Web::default();
    let mut world = with_keys_and_proofs(&web).await;
    let signer = Signer::es256();
    web.publish("https://app.example.com/keys.json", serde_json::from_str(&signer.key_set()).unwrap());
    let mut keyed = support::world::form();
    keyed.name = "Signing App".into();
    keyed.authentication_methods = AuthenticationMethods::KEY;
    keyed.jwks_uri = Some("https://app.example.com/keys.json".into());
    world.client = world.register(keyed).await;
    let query = world.query(&PKCE);
    let pushing = async |more: &[(&str, &str)]| {
        let now = grantor::Clock::now(&world.clock).seconds().into();
        let assertion = signer.assertion(&world.client.id, ISSUER, now, unchanged);
        let call = world.post(Endpoint::PushedAuthorization, &[]).raw_body(query.clone());
        let call = call.field("client_assertion_type", JWT_BEARER).field("client_assertion", &assertion);
        more.iter().fold(call, |call, (name, value)| call.field(name, value)).send().await
    };
    created(&pushing(&[]).await);
    assert_eq!(web.take(), ["https://app.example.com/keys.json"], "the server does fetch what it needs");
    for uri in ["http://127.0.0.1:1/", "https://client.example/request.jwt", "file:///etc/passwd", "data:,x"] {
        page(&world.refused(&world.reference(uri)).await);
        page(&world.refused(&format!("{query}&{}", encode(&[("request_uri", uri)]))).await);
        e400(&pushing(&[("request_uri", uri)]).await, "invalid_request");
    }
    assert_eq!(web.take(), Vec::<String>::new());
}
