//! An answer that is sent twice: a second click, or Stop and the same button. The browser shows the response to the
//! last submit, so the same decision gets the same response for a minute.

use grantor::config::Profile;
use grantor::wire::{Endpoint, Response};
use grantor::{Consent, Decision, Subject};

use support::world::{PKCE, SESSION, World, code, e400, page, pair, text};

fn allow() -> Decision {
    Decision::Approve(Consent::to_everything())
}

/// The ticket of a new page.
async fn ticket(world: &World) -> String {
    let query = world.query(&[PKCE[0], PKCE[1], ("state", "the client's own")]);
    let pending = world.authorize(&query).await.unwrap();
    world.server.hold(&pending, &world.alice, SESSION).await.unwrap().expose().to_owned()
}

async fn answer(world: &World, ticket: &str, decision: &Decision) -> Response {
    match world.server.decide(ticket, &world.alice, SESSION, decision).await {
        Ok(response) => response,
        Err(error) => error.response(Some(&world.alice)),
    }
}

async fn code_of(world: &World, ticket: &str) -> String {
    text(&code(&answer(world, ticket, &allow()).await), "code")
}

/// How many of these events were raised since the last look.
fn count(events: &[String], name: &str) -> usize {
    events.iter().filter(|event| event.split([' ', '{']).next() == Some(name)).count()
}

#[track_caller]
fn answered(response: &Response) {
    assert_eq!((response.status(), response.header("Location")), (400, None));
    assert!(String::from_utf8_lossy(response.body()).contains("already been answered"), "{response:?}");
}

#[tokio::test]
async fn a_second_click_gets_the_same_response() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        for decision in [allow(), Decision::Approve(Consent::to_everything().scopes(["repo-code:rw"])), Decision::Deny]
        {
            let ticket = ticket(&world).await;
            let first = answer(&world, &ticket, &decision).await;
            world.events.take();
            for seconds in [0, 1, 58] {
                world.advance(seconds);
                let again = answer(&world, &ticket, &decision).await;
                assert_eq!((again.status(), again.header("Location")), (first.status(), first.header("Location")));
            }
            assert!(first.header("Location").unwrap().contains("state=the%20client%27s%20own"), "{first:?}");
            assert_eq!(world.events.take(), Vec::<String>::new(), "it is no second decision");
            world.advance(1);
            answered(&answer(&world, &ticket, &decision).await);
        }
    }
}

/// 6749-4.1.2-02: the code is exchanged once, and its end does not move.
#[tokio::test]
async fn a_code_that_was_sent_twice_is_one_code() {
    let world = World::with(Profile::Strict, |config| config.authorization.code_lifetime = secs(30)).await;
    let own = ticket(&world).await;
    let first = code_of(&world, &own).await;
    world.advance(29);
    let second = code_of(&world, &own).await;
    assert_eq!(first, second);
    let tokens = pair(&world.exchange(&second).await);
    assert!(world.opens(&tokens.access).await);
    let late = ticket(&world).await;
    let expired = code_of(&world, &late).await;
    world.advance(29);
    assert_eq!(code_of(&world, &late).await, expired);
    world.advance(1);
    answered(&answer(&world, &late, &allow()).await);
    e400(&world.exchange(&expired).await, "invalid_grant");
}

const fn secs(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}

#[tokio::test]
async fn another_answer_leads_nowhere() {
    let world = World::platform().await;
    let part = || Decision::Approve(Consent::to_everything().scopes(["repo-code:rw"]));
    let unseen = || Decision::Approve(Consent::to_everything().device_shows_code());
    for (first, others) in [
        (allow(), [Decision::Deny, part(), unseen()]),
        (part(), [Decision::Deny, allow(), Decision::Approve(Consent::to_everything().resources(["repo-code:rw"]))]),
        (Decision::Deny, [allow(), part(), unseen()]),
    ] {
        let ticket = ticket(&world).await;
        answer(&world, &ticket, &first).await;
        for other in others {
            answered(&answer(&world, &ticket, &other).await);
        }
        assert!(answer(&world, &ticket, &first).await.header("Location").is_some());
    }
}

/// The page names a reviewed application, says what was decided, and leads there without a code.
#[tokio::test]
async fn a_late_or_another_answer_shows_what_was_decided() {
    let world = World::platform().await;
    for (first, said) in [(allow(), "You allowed access."), (Decision::Deny, "Access was not granted.")] {
        let ticket = ticket(&world).await;
        answer(&world, &ticket, &first).await;
        world.advance(60);
        for decision in [allow(), Decision::Deny] {
            let response = answer(&world, &ticket, &decision).await;
            answered(&response);
            let html = String::from_utf8_lossy(response.body()).into_owned();
            let link = "<a href=\"https://app.example.com/\" rel=\"noreferrer\">Go to Example App</a>";
            assert!(html.contains(said) && html.contains(link), "{html}");
        }
    }
}

/// 6749-10.12-01: who has the page alone, or another session, gets no code.
#[tokio::test]
async fn a_repeat_needs_ticket_user_and_session() {
    let world = World::platform().await;
    let mallory = Subject::new("mallory").unwrap();
    let own = ticket(&world).await;
    code_of(&world, &own).await;
    for (subject, session) in [(&world.alice, &b"another session"[..]), (&mallory, SESSION), (&world.alice, b"")] {
        let refused = world.server.decide(&own, subject, session, &allow()).await.unwrap_err();
        assert_eq!(refused.reason().to_string(), "the ticket of the decision is unknown");
        assert_eq!(refused.response(Some(subject)).header("Location"), None);
    }
    let pages = [ticket(&world).await, ticket(&world).await];
    let codes = [code_of(&world, &pages[0]).await, code_of(&world, &pages[1]).await];
    assert_ne!(codes[0], codes[1]);
}

/// 6749-4.1.2-02: refused, and nothing is revoked, while the code may be on its way twice.
#[tokio::test]
async fn a_second_exchange_of_a_code_that_was_sent_twice_revokes_nothing() {
    let world = World::platform().await;
    let own = ticket(&world).await;
    let sent = code_of(&world, &own).await;
    world.advance(59);
    assert_eq!(code_of(&world, &own).await, sent);
    let tokens = pair(&world.exchange(&sent).await);
    world.events.take();
    for _ in 0..3 {
        e400(&world.exchange(&sent).await, "invalid_grant");
        world.advance(19);
    }
    let events = world.events.take();
    assert_eq!((count(&events, "CodeSentTwice"), count(&events, "CodeReplayed")), (3, 0), "{events:?}");
    assert!(world.opens(&tokens.access).await);
    let tokens = pair(&world.refresh(&tokens.refresh).await);
    // The minute is counted from the repeat.
    world.advance(3);
    e400(&world.exchange(&sent).await, "invalid_grant");
    assert!(!world.opens(&tokens.access).await);
    assert!(world.events.saw("CodeReplayed"));
}

/// The code that came late in its life is still protected after its end.
#[tokio::test]
async fn a_second_exchange_after_the_end_of_the_code_revokes_nothing_either() {
    let world = World::with(Profile::Strict, |config| config.authorization.code_lifetime = secs(30)).await;
    let own = ticket(&world).await;
    let sent = code_of(&world, &own).await;
    world.advance(20);
    code_of(&world, &own).await;
    let tokens = pair(&world.exchange(&sent).await);
    world.advance(59);
    e400(&world.exchange(&sent).await, "invalid_grant");
    assert!(world.opens(&tokens.access).await);
    world.advance(1);
    e400(&world.exchange(&sent).await, "invalid_grant");
    assert!(!world.opens(&tokens.access).await);
}

/// 6749-4.1.2-02: a code that was sent once is as it was.
#[tokio::test]
async fn a_second_exchange_of_another_code_revokes_its_grant() {
    let world = World::platform().await;
    let [own, denied] = [ticket(&world).await, ticket(&world).await];
    let sent = code_of(&world, &own).await;
    let tokens = pair(&world.exchange(&sent).await);
    // It was exchanged before the second click, so the repeat does not mark it.
    answered(&answer(&world, &own, &allow()).await);
    answer(&world, &denied, &Decision::Deny).await;
    answer(&world, &denied, &Decision::Deny).await;
    e400(&world.exchange(&sent).await, "invalid_grant");
    assert!(!world.opens(&tokens.access).await);
    assert!(world.events.saw("CodeReplayed"));
}

/// Whatever a user withdrew stays withdrawn.
#[tokio::test]
async fn a_withdrawal_between_two_clicks_ends_it() {
    for way in 0..5 {
        let world = World::platform().await;
        let own = ticket(&world).await;
        let sent = code_of(&world, &own).await;
        let registrar = world.server.registrar().unwrap();
        let client = world.client.client_id();
        match way {
            0 => drop(world.server.revoke_subject(&world.alice).await.unwrap()),
            1 => drop(world.server.revoke_application(&world.alice, &client).await.unwrap()),
            2 => registrar.revoke_grants(&client).await.unwrap(),
            3 => {
                let grant = world.server.authorizations_of(&world.alice).await.unwrap()[0].id();
                assert!(world.server.revoke_grant(grant.into(), &world.alice).await.unwrap());
            }
            _ => {
                let tokens = pair(&world.exchange(&sent).await);
                ok_revoked(&world, &tokens.refresh).await;
            }
        }
        let again = answer(&world, &own, &allow()).await;
        answered(&again);
        e400(&world.exchange(&sent).await, "invalid_grant");
        assert!(world.server.grants_of(&world.alice).await.unwrap().is_empty(), "way {way}");
    }
}

async fn ok_revoked(world: &World, token: &str) {
    let response = world.post(Endpoint::Revocation, &[("token", token)]).client(&world.client).send().await;
    assert_eq!(response.status(), 200);
}

/// The client and its redirect URI are judged again.
#[tokio::test]
async fn a_client_that_was_suspended_between_two_clicks_gets_nothing() {
    let world = World::platform().await;
    let [own, denied] = [ticket(&world).await, ticket(&world).await];
    code_of(&world, &own).await;
    answer(&world, &denied, &Decision::Deny).await;
    world.server.registrar().unwrap().suspend(&world.client.client_id()).await.unwrap();
    page(&answer(&world, &own, &allow()).await);
    page(&answer(&world, &denied, &Decision::Deny).await);
}

/// The row of the answer is no place for another request while it may be repeated, and it is one after that.
#[tokio::test]
async fn a_denied_request_keeps_its_row_for_the_minute() {
    let world = World::platform().await;
    let own = ticket(&world).await;
    let first = answer(&world, &own, &Decision::Deny).await;
    let other = ticket(&world).await;
    assert_ne!(other[..25], own[..25]);
    let again = answer(&world, &own, &Decision::Deny).await;
    assert_eq!(again.header("Location"), first.header("Location"));
    world.advance(60);
    assert_eq!(ticket(&world).await[..25], own[..25], "the same place");
    code(&answer(&world, &other, &allow()).await);
}

/// Many answers at one moment are one decision.
#[tokio::test]
async fn many_clicks_at_once_have_one_code() {
    let world = World::platform().await;
    for decision in [allow(), Decision::Deny] {
        let own = ticket(&world).await;
        world.events.take();
        let slow = support::intercepted::over_with(&world, support::intercepted::scripts::Yielding, |builder| builder);
        let clicks = (0..16).map(|_| slow.server.decide(&own, &world.alice, SESSION, &decision));
        let answers = futures::future::join_all(clicks).await;
        let mut places: Vec<_> =
            answers.into_iter().map(|answer| answer.unwrap().header("Location").unwrap().to_owned()).collect();
        places.dedup();
        assert_eq!(places.len(), 1, "{places:?}");
        let events = world.events.take();
        assert_eq!(count(&events, "CodeIssued") + count(&events, "Denied"), 1, "{events:?}");
    }
}
