//! Bytes from a store are a record or an error, and a server works with any record.

use grantor::application::Logo;
use grantor::config::Profile;
use grantor::store::{Authorization, DeviceRequest, Grant, Insertion, Record, RecordStore, Stores, UserCodeRecord};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{Application, AuthorizationServer, Client, Config, MemoryStore, Timestamp};

use super::answer;
use super::stage::{Stage, at_once, play};
use support::world::{FORM, ISSUER, PNG, Recorder, SCOPES};

/// The records of a stage, as its store has them. Their codes and tokens are in the stage, and in no file.
pub(super) fn of_a_stage() -> Vec<(String, Vec<u8>)> {
    play(Profile::Platform, |stage| {
        let world = &stage.world;
        let id = world.client.client_id();
        let client = at_once(world.server.client(&id)).unwrap().unwrap();
        let application = at_once(world.server.registrar().unwrap().application(&id)).unwrap();
        let grants = stage.grants().into_iter().zip(0..).map(|(grant, number)| (format!("grant_{number}"), grant));
        let authorization = stage.contents().authorizations.pop().unwrap();
        let others = [
            ("grant_to_a_list", with_a_list(&stage.grants()[0])),
            ("authorization_to_a_list", with_a_list(&authorization)),
            ("authorization", authorization),
            ("client", client.encode()),
            ("application", application.encode()),
            ("logo", PNG.to_vec()),
        ];
        grants.chain(others.map(|(name, bytes)| (name.to_owned(), bytes))).collect()
    })
}

/// The same record for two resources, instead of all resources.
fn with_a_list(record: &[u8]) -> Vec<u8> {
    let scopes = record.windows(SCOPES.len()).position(|window| window == SCOPES.as_bytes()).unwrap() + SCOPES.len();
    assert_eq!(record[scopes], 0, "all resources");
    let list = [2, 0, 0, 0, 2, 0, 0, 0, 1, b'a', 0, 0, 0, 1, b'b'];
    [&record[..scopes], &list, &record[scopes + 1..]].concat()
}

pub(super) fn check(input: &[u8]) -> String {
    if let Ok(record) = Authorization::decode(input) {
        let again = Authorization::decode(&record.encode()).unwrap();
        assert!(again == record && again.encode() == record.encode());
        let _ = (record.purge_after(), format!("{record:?}"));
        return "authorization".to_owned();
    }
    if let Ok(record) = Client::decode(input) {
        let again = Client::decode(&record.encode()).unwrap();
        assert!(again == record && again.encode() == record.encode());
        let _ = (record.counts_as_public(), format!("{record:?}"));
        return "client".to_owned();
    }
    if let Ok(record) = Application::decode(input) {
        let again = Application::decode(&record.encode()).unwrap();
        assert!(again == record && again.encode() == record.encode());
        let _ = (record.filters().count(), format!("{record:?}"));
        return "application".to_owned();
    }
    if let Ok(record) = DeviceRequest::decode(input) {
        let again = DeviceRequest::decode(&record.encode()).unwrap();
        assert!(again == record && again.encode() == record.encode());
        let _ = (record.purge_after(), format!("{record:?}"));
        return "device request".to_owned();
    }
    if let Ok(record) = UserCodeRecord::decode(input) {
        assert_eq!(record.encode(), input);
        let _ = (record.purge_after(), format!("{record:?}"));
        return "user code".to_owned();
    }
    if let Ok(logo) = Logo::decode(input) {
        assert_eq!(Logo::decode(logo.bytes()), Ok(logo.clone()));
        assert_eq!(logo.bytes(), input);
        return "logo".to_owned();
    }
    match Grant::decode(input) {
        Ok(grant) => with_grant(grant),
        Err(_) => "nothing".to_owned(),
    }
}

/// Whatever a grant holds, every operation that reads or changes it answers.
fn with_grant(grant: Grant) -> String {
    let again = Grant::decode(&grant.encode()).unwrap();
    assert!(again == grant && again.encode() == grant.encode());
    let _ = (grant.ends(), grant.refreshed(), grant.is_live(Timestamp::from_seconds(u32::MAX)), format!("{grant:?}"));
    play(Profile::Platform, |stage| {
        let tokens = MemoryStore::new();
        let (id, subject) = (grant.id(), grant.subject().cloned());
        assert_eq!(at_once(RecordStore::<Grant>::insert(&tokens, grant.into())).unwrap(), Insertion::Inserted);
        let world = &stage.world;
        let stores = Stores::new(world.store.clone()).with_tokens(tokens.clone());
        let events = Recorder::default();
        let server = AuthorizationServer::builder(Config::platform(ISSUER), stores)
            .clock(world.clock.clone())
            .events(events.clone())
            .build()
            .unwrap();
        let opens = at_once(server.resource().authenticate(&bearer(stage).as_request())).is_ok();
        for (endpoint, body) in [
            (Endpoint::Introspection, format!("token={}", stage.prop("access"))),
            (Endpoint::Token, format!("grant_type=refresh_token&refresh_token={}", stage.prop("refresh"))),
            (Endpoint::Token, format!("grant_type=refresh_token&refresh_token={}", stage.prop("old"))),
            (Endpoint::Revocation, format!("token={}", stage.prop("access"))),
            (Endpoint::Revocation, format!("token={}", stage.prop("refresh"))),
        ] {
            let basic = format!("Basic {}", stage.prop("basic"));
            let request = Request::new("POST").header("Content-Type", FORM.as_bytes());
            let request = request.header("Authorization", basic.as_bytes()).body(Body::Bytes(body.as_bytes()));
            events.take();
            let response = at_once(server.serve(endpoint, &request));
            // A link may name a derivation key that this server lacks, and a grant may name a later epoch of its
            // client.
            let absent = ["DerivationKeyMissing", "source: StaleClient"];
            let lacks = events.take().iter().any(|event| absent.iter().any(|own| event.contains(own)));
            answer::check(&response, if lacks { &[503] } else { &[200, 400, 401, 429] });
        }
        // A grant without a user cannot be withdrawn by one.
        if let Some(subject) = &subject {
            at_once(server.grants_of(subject)).unwrap();
            at_once(server.revoke_grant(id, subject)).unwrap();
            at_once(server.revoke_subject(subject)).unwrap();
            let found = at_once(RecordStore::<Grant>::find(&tokens, &id)).unwrap().unwrap();
            assert!(found.revoked().is_some(), "what was withdrawn is dead");
            assert!(at_once(server.resource().authenticate(&bearer(stage).as_request())).is_err());
        }
        at_once(server.confirm_clock()).unwrap();
        let _ = at_once(server.purge_expired(10)).unwrap();
        if opens { "grant of the stage".to_owned() } else { "grant".to_owned() }
    })
}

/// The header that presents the stage's own access token.
struct Bearer(String);

impl Bearer {
    fn as_request(&self) -> Request<'_> {
        Request::new("GET").header("Authorization", self.0.as_bytes())
    }
}

fn bearer(stage: &Stage) -> Bearer {
    Bearer(format!("Bearer {}", stage.prop("access")))
}
