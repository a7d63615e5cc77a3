//! RFC 6749 section 4.1.3: the exchange of a code.

use grantor::config::{ExchangeRedirectUri, Profile};
use grantor::wire::Response;

use crate::interleaved::{CALLERS, side_by_side};
use support::world::{CHALLENGE, PKCE, Pair, REDIRECT_URI, VERIFIER, World, e400, e401, form, ok, pair, public_form};

/// A redirect URI with a query.
const NAMED: &str = "https://app.example.com/cb/in?one=1&two=%7e";

pub(crate) fn exchange_form(code: &str) -> [(&str, &str); 3] {
    [("grant_type", "authorization_code"), ("code", code), ("code_verifier", VERIFIER)]
}

/// A valid form, but the wrong value.
const WRONG_VERIFIER: &str = "wrong-wrong-wrong-wrong-wrong-wrong-wrong-w";

pub(crate) async fn exchange_with(world: &World, form: &[(&str, &str)]) -> Response {
    world.token(form).client(&world.client).send().await
}

/// 6749-4.1.3-02, SVC-2.2-04, 9700-4.8.2-01, D-06
#[tokio::test]
async fn a_redirect_uri_that_is_sent_is_equal_byte_for_byte() {
    let named = [
        "https://app.example.com/cb/in?one=1&two=%7E",
        "https://app.example.com/cb/in?one=1&two=~",
        "https://app.example.com/cb/in?two=%7e&one=1",
        "https://app.example.com/cb/in/?one=1&two=%7e",
        "https://app.example.com/cb/in?one=1&two=%7e&",
        "https://app.example.com:443/cb/in?one=1&two=%7e",
        "https://APP.example.com/cb/in?one=1&two=%7e",
        "HTTPS://app.example.com/cb/in?one=1&two=%7e",
        "https://app.example.com/cb/In?one=1&two=%7e",
        "https://app.example.com/cb/%69n?one=1&two=%7e",
        "https://app.example.com/cb/in?one=1&two=%7e#",
        " https://app.example.com/cb/in?one=1&two=%7e",
        "https://app.example.com/cb/in",
        REDIRECT_URI,
        "https://other.example/cb/in?one=1&two=%7e",
    ];
    let registered = ["https://app.example.com/cb/", "https://app.example.com/", "https://app.example.com/CB", NAMED];
    let world = World::platform().await;
    for (request, bound, others) in [
        (Some(NAMED), NAMED, &named[..]),
        (Some(REDIRECT_URI), REDIRECT_URI, &registered[..]),
        (None, REDIRECT_URI, &registered[..]),
    ] {
        let sent = request.map(|uri| ("redirect_uri", uri));
        let code = world.code_for(&world.query(&sent.into_iter().chain(PKCE).collect::<Vec<_>>())).await;
        for other in others {
            let form = [&exchange_form(&code)[..], &[("redirect_uri", *other)]].concat();
            e400(&exchange_with(&world, &form).await, "invalid_grant");
        }
        let form = [&exchange_form(&code)[..], &[("redirect_uri", bound)]].concat();
        ok(&exchange_with(&world, &form).await);
    }
}

/// 6749-4.1.3-02, SVC-4.2-03, 21-10.2-01, D-06
#[tokio::test]
async fn a_redirect_uri_may_be_left_out_where_the_profile_or_pkce_allows_it() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let is_optional = world.server.config().authorization.exchange_redirect_uri == ExchangeRedirectUri::Optional;
        assert_eq!(is_optional, profile == Profile::Platform);
        for named in [None, Some(("redirect_uri", REDIRECT_URI))] {
            let query = world.query(&named.into_iter().chain(PKCE).collect::<Vec<_>>());
            let wrong = ("redirect_uri", "https://app.example.com/cb/");
            for more in [&[][..], &[("redirect_uri", "")], &[("redirect_uri", REDIRECT_URI)]] {
                let code = world.code_for(&query).await;
                let form = exchange_form(&code);
                e400(&exchange_with(&world, &[&form[..], &[wrong]].concat()).await, "invalid_grant");
                ok(&exchange_with(&world, &[&form[..], more].concat()).await);
            }
        }
    }
    // Section 4.1.3 applied literally: without PKCE, a named redirect URI must be named again.
    for (required, named) in [(false, false), (false, true), (true, false), (true, true)] {
        let world = World::with(Profile::Platform, |config| {
            if required {
                config.authorization.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
            }
        })
        .await;
        let query = if named { world.query(&[("redirect_uri", REDIRECT_URI)]) } else { world.query(&[]) };
        let code = world.code_for(&query).await;
        let without = [("grant_type", "authorization_code"), ("code", &code)];
        let other = [&without[..], &[("redirect_uri", "https://app.example.com/cb/")]].concat();
        e400(&exchange_with(&world, &other).await, "invalid_grant");
        if required && named {
            e400(&exchange_with(&world, &without).await, "invalid_grant");
            e400(&exchange_with(&world, &[&without[..], &[("redirect_uri", "")]].concat()).await, "invalid_grant");
            ok(&exchange_with(&world, &[&without[..], &[("redirect_uri", REDIRECT_URI)]].concat()).await);
        } else {
            ok(&exchange_with(&world, &without).await);
        }
    }
}

/// 6749-4.1.3-04, SVC-2.2-03, CVE-2026-55672, CVE-2026-16089
#[tokio::test]
async fn a_code_belongs_to_the_client_it_was_issued_to() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let others = [world.register(form()).await, world.register(public_form()).await];
        for owner in [world.client.clone(), world.register(public_form()).await] {
            let code = world.code_for(&world.query_of(&owner, &PKCE)).await;
            for other in &others {
                e400(&world.exchange_as(other, &code).await, "invalid_grant");
            }
            let first = pair(&world.exchange_as(&owner, &code).await);
            for other in &others {
                e400(&world.exchange_as(other, &code).await, "invalid_grant");
                e400(&world.refresh_as(other, &first.refresh).await, "invalid_grant");
            }
            assert!(world.opens(&first.access).await, "another client's replay revokes nothing");
            let second = pair(&world.refresh_as(&owner, &first.refresh).await);
            assert!(world.opens(&second.access).await);
        }
    }
}

/// 6749-4.1.3-05, 6749-4.1.2-02, SVC-2.2-02, D-07, CVE-2026-53518, CVE-2026-47386, CVE-2026-73311, CVE-2026-68079
#[tokio::test]
async fn one_of_fifty_parallel_exchanges_wins_and_the_replays_take_back_what_it_got() {
    let mut world = World::platform().await;
    let code = world.code().await;
    world.events.take();
    let responses = side_by_side(&mut world, async |world| world.exchange(&code).await).await;
    let (winners, losers): (Vec<_>, Vec<_>) = responses.iter().partition(|response| response.status() == 200);
    assert_eq!((winners.len(), losers.len()), (1, CALLERS - 1));
    for loser in losers {
        e400(loser, "invalid_grant");
    }
    let events = world.events.take();
    for (name, count) in [("Exchanged", 1), ("CodeReplayed", 1), ("GrantRevoked", 1)] {
        assert_eq!(events.iter().filter(|event| event.starts_with(name)).count(), count, "{name} in {events:?}");
    }
    let tokens = pair(winners[0]);
    assert!(!world.opens(&tokens.access).await);
    e400(&world.refresh(&tokens.refresh).await, "invalid_grant");
    assert_eq!(world.store.grant_count().await, 1);
}

/// 6749-4.1.2-02, 21-4.1.3-02, D-07, CVE-2026-53518
#[tokio::test]
async fn only_an_otherwise_valid_replay_revokes_the_tokens() {
    for profile in [Profile::Platform, Profile::Strict] {
        let world = World::with(profile, |_| {}).await;
        let other = world.register(form()).await;
        let code = world.code().await;
        let tokens = pair(&world.exchange(&code).await);
        world.events.take();
        let grant = [("grant_type", "authorization_code"), ("code", &*code)];
        let wrong_verifier = [&grant[..], &[("code_verifier", WRONG_VERIFIER)]].concat();
        let wrong_uri = [&exchange_form(&code)[..], &[("redirect_uri", "https://app.example.com/other")]].concat();
        e400(&exchange_with(&world, &wrong_verifier).await, "invalid_grant");
        e400(&exchange_with(&world, &grant).await, "invalid_grant");
        let challenge = [&grant[..], &[("code_verifier", CHALLENGE)]].concat();
        e400(&exchange_with(&world, &challenge).await, "invalid_grant");
        e400(&exchange_with(&world, &wrong_uri).await, "invalid_grant");
        e400(&world.exchange_as(&other, &code).await, "invalid_grant");
        e401(&world.token(&exchange_form(&code)).basic(&world.client.id, "wrong").send().await, "invalid_client");
        let unproven = world.token(&exchange_form(&code)).field("client_id", &world.client.id);
        e401(&unproven.send().await, "invalid_client");
        assert!(!world.events.saw("GrantRevoked"));
        assert!(world.opens(&tokens.access).await);
        let tokens = [tokens.clone(), pair(&world.refresh(&tokens.refresh).await)];
        world.events.take();

        e400(&world.exchange(&code).await, "invalid_grant");
        assert!(world.events.saw("CodeReplayed"));
        for pair in &tokens {
            assert!(!world.opens(&pair.access).await);
            e400(&world.refresh(&pair.refresh).await, "invalid_grant");
        }
        world.events.take();
        e400(&world.exchange(&code).await, "invalid_grant");
        assert!(!world.events.saw("CodeReplayed"), "what is revoked is not revoked again");
        ok(&world.exchange(&world.code().await).await);
    }
}

/// 6749-4.1.2-02, SVC-2.2-01, D-07
#[tokio::test]
async fn a_replay_is_noticed_until_an_hour_after_the_end_of_the_code() {
    // The memory store removes it an hour after the end of the hold that it began with.
    for (age, noticed) in [(599, true), (600, true), (4199, true), (5400, false)] {
        let world = World::platform().await;
        let code = world.code().await;
        let tokens = pair(&world.exchange(&code).await);
        world.advance(age);
        let purge = world.purge(usize::MAX).await;
        assert!(purge.is_finished());
        e400(&world.exchange(&code).await, "invalid_grant");
        assert_eq!(world.events.saw("CodeReplayed"), noticed, "after {age} s");
        assert_eq!(world.opens(&tokens.access).await, !noticed, "after {age} s");
    }
    for (age, good) in [(599, true), (600, false), (601, false)] {
        let world = World::platform().await;
        let code = world.code().await;
        world.advance(age);
        world.events.take();
        let response = world.exchange(&code).await;
        assert_eq!(response.status(), if good { 200 } else { 400 }, "after {age} s");
        assert_eq!(world.store.grant_count().await, usize::from(good), "after {age} s");
        assert!(!world.events.saw("CodeReplayed"), "after {age} s");
    }
}

/// CVE-2026-114619
/// The rights of one consent are not added to those of the next.
#[tokio::test]
async fn grants_of_one_user_do_not_add_up() {
    let world = World::platform().await;
    let [code, issue] = [grant(&world, "repo-code:rw").await, grant(&world, "repo-issue:r").await];
    assert_eq!((code.scope.as_str(), issue.scope.as_str()), ("repo-code:rw", "repo-issue:r"));
    assert_eq!(pair(&world.refresh(&issue.refresh).await).scope, "repo-issue:r");
    assert_eq!(world.access(&issue.access).await.unwrap().scopes().as_str(), "repo-issue:r");
}

async fn grant(world: &World, scope: &str) -> Pair {
    let code = world.code_for(&world.query(&[("scope", scope), PKCE[0], PKCE[1]])).await;
    pair(&world.exchange(&code).await)
}
