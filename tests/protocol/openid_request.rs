//! Requests that ask who has signed in [OpenID Connect Core section 3.1.2].

use grantor::interaction::{SignIn, SignedIn};
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};
use grantor::{Clock as _, Consent, Decision, Timestamp};

use crate::openid;
use support::world::{Credentials, PKCE, SESSION, World, code, ok, red, text};

const NONCE: (&str, &str) = ("nonce", "n-0S6_WzA2Mj");

/// A world whose clients may ask who has signed in, and one such client.
pub(crate) async fn world() -> (World, Credentials) {
    let world = openid::built(openid::config(), |builder| builder).await;
    let client = world.client.clone();
    (world, client)
}

/// The query of an OpenID request.
pub(crate) fn query(world: &World, client: &Credentials, more: &[(&str, &str)]) -> String {
    world.query_of(client, &[&PKCE[..], &[("scope", "openid repo-code:r")], more].concat())
}

pub(crate) fn signed_in(world: &World, sign_in: SignIn) -> SignedIn {
    SignedIn::new(world.alice.clone()).sign_in(sign_in)
}

fn loa1(world: &World) -> SignIn {
    SignIn::at(world.clock.now()).with_acr("loa1").unwrap().with_amr(["pwd", "otp"]).unwrap()
}

fn everything() -> Decision {
    Decision::Approve(Consent::to_everything())
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Whether an authorization and a grant of the world's user have that text.
async fn is_stored(world: &World, text: &str) -> [bool; 2] {
    let store = &world.store;
    let codes = RecordStore::<Authorization>::list(store, "alice", Page::first(100)).await.unwrap();
    let grants = RecordStore::<Grant>::list(store, "alice", Page::first(100)).await.unwrap();
    [codes.iter().any(|row| has(&row.encode(), text)), grants.iter().any(|row| has(&row.encode(), text))]
}

/// SIGNIN-02, SIGNIN-06, SIGNIN-07
#[tokio::test]
async fn the_sign_in_of_the_page_goes_to_the_grant() {
    let (world, client) = world().await;
    let pending = world.authorize(&query(&world, &client, &[NONCE, ("acr_values", "loa3")])).await.unwrap();
    let user = signed_in(&world, loa1(&world));
    let ticket = world.server.hold(&pending, &user, SESSION).await.unwrap();
    for stored in ["loa1", "otp", NONCE.1] {
        assert_eq!(is_stored(&world, stored).await, [true, false], "{stored}");
    }
    // A sign-in after the page changes nothing.
    let later = signed_in(&world, SignIn::at(world.clock.now()).with_acr("loa9").unwrap());
    for session in [b"another".as_slice(), SESSION] {
        let answer = world.server.decide(ticket.expose(), &later, session, &everything()).await;
        assert_eq!(answer.is_ok(), session == SESSION, "a page belongs to the session that it was shown in");
        let Ok(answer) = answer else { continue };
        ok(&world.exchange_as(&client, &text(&code(&answer), "code")).await);
    }
    for (stored, expected) in [("loa1", true), ("otp", true), (NONCE.1, false), ("loa3", false), ("loa9", false)] {
        assert_eq!(is_stored(&world, stored).await[1], expected, "{stored}");
    }
    let grants = world.server.grants_of(&world.alice).await.unwrap();
    assert_eq!(grants[0].sign_in(), Some(&loa1(&world)));
}

/// SIGNIN-01, SIGNIN-06
#[tokio::test]
async fn a_request_of_oauth_and_a_bare_subject_keep_no_sign_in() {
    let (world, client) = world().await;
    let plain = world.query_of(&client, &[&PKCE[..], &[NONCE, ("scope", "repo-code:r")]].concat());
    let user = signed_in(&world, loa1(&world));
    let pending = world.authorize(&plain).await.unwrap();
    world.server.hold(&pending, &user, SESSION).await.unwrap();
    let pending = world.authorize(&query(&world, &client, &[])).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    for stored in ["loa1", NONCE.1] {
        assert_eq!(is_stored(&world, stored).await, [false; 2], "{stored}");
    }
}

/// SIGNIN-01
#[tokio::test]
async fn a_sign_in_in_the_future_is_refused_and_reported() {
    let (world, client) = world().await;
    let pending = world.authorize(&query(&world, &client, &[])).await.unwrap();
    for (ahead, expected) in [(60, true), (61, false)] {
        world.events.take();
        let at = Timestamp::from_seconds(world.clock.now().seconds() + ahead);
        let held = world.server.hold(&pending, &signed_in(&world, SignIn::at(at)), SESSION).await;
        assert_eq!(held.is_ok(), expected, "{ahead}");
        if let Err(error) = held {
            assert!(error.to_string().contains("the sign-in is more than 60 s"), "{error}");
            let events = world.events.take();
            assert!(events.iter().any(|event| event.contains("SignInInTheFuture")), "{events:?}");
        }
    }
}

/// OIDC-3-03
#[tokio::test]
async fn a_nonce_is_a_text_of_at_most_512_bytes() {
    let (world, client) = world().await;
    let hostile = "\"\\\u{e9}<'";
    let longest = "\u{e9}".repeat(256);
    for nonce in [hostile, &longest] {
        let pending = world.authorize(&query(&world, &client, &[("nonce", nonce)])).await.unwrap();
        world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        assert!(is_stored(&world, nonce).await[0], "{nonce}");
    }
    for nonce in ["x".repeat(513), "a\u{7f}".into(), "a\nb".into(), "\u{85}".into()] {
        let refused = world.refused(&query(&world, &client, &[("nonce", &nonce)])).await;
        red(&refused, "invalid_request");
    }
    let refused = world.refused(&(query(&world, &client, &[]) + "&nonce=%ff")).await;
    red(&refused, "invalid_request");
    let twice = world.refused(&query(&world, &client, &[NONCE, NONCE])).await;
    red(&twice, "invalid_request");
    let long = "x".repeat(513);
    let plain = [&PKCE[..], &[("nonce", &*long), ("scope", "repo-code:r")]].concat();
    assert!(world.authorize(&world.query_of(&client, &plain)).await.is_ok(), "without openid it is ignored");
}
