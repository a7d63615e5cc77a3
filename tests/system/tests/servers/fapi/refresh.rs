//! Refresh tokens, which are not rotated.

use support::keys::Signer;

use crate::fapi::answers::{Tokens, e400, edp, eic, ok, served, wd};
use crate::fapi::call::Call;
use crate::fapi::fixture::{Fixture, ONE, TWO, all, one};
use crate::fapi::flow::{Flow, Grant};
use crate::fapi::success::second;

async fn granted(flow: &Flow<'_>) -> Tokens {
    flow.tokens(Grant::Code).await
}

/// FAPI-SUITE-34, FAPI-5.3.2.1-04, FAPI-KEEP-01
/// `refresh-token`
#[tokio::test]
async fn a_refresh_brings_a_new_access_token_for_a_new_key() {
    all(async |fixture| {
        for flow in [Flow::new(fixture, ONE), second(fixture)] {
            let first = granted(&flow).await;
            let key = Signer::fresh();
            let next = ok(&flow.refresh(&first.refresh, &key).send().await);
            assert_eq!(next.refresh, first.refresh);
            assert_ne!(next.access, first.access);
            served(fixture, &Call::resource(fixture, &next.access, &key).send().await);
            fixture.advance(30);
            // Each access token keeps its own key.
            served(fixture, &flow.resource(&first.access).send().await);
            wd(&flow.resource(&next.access).send().await, "invalid_token");

            let call = flow.refresh(&first.refresh, &key).field("client_id", flow.party.id);
            eic(&call.without("client_assertion").without("client_assertion_type").send().await);
            edp(&flow.refresh(&first.refresh, &key).without_proof().send().await);
            ok(&flow.refresh(&first.refresh, &flow.key).send().await);
        }
        let (mine, other) = (Flow::new(fixture, ONE), Flow::new(fixture, TWO));
        let others = granted(&other).await;
        e400(&mine.refresh(&others.refresh, &mine.key).send().await, "invalid_grant");
        ok(&other.refresh(&others.refresh, &other.key).send().await);
    })
    .await;
}

/// FAPI-KEEP-01, FAPI-KEEP-02
#[tokio::test]
async fn the_refresh_token_lives_to_its_own_end() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let first = granted(&flow).await;
        fixture.advance(3600);
        for _ in 0..2 {
            assert_eq!(ok(&flow.refresh(&first.refresh, &flow.key).send().await).refresh, first.refresh);
        }
        fixture.advance(15_552_000 - 3600 - 1);
        ok(&flow.refresh(&first.refresh, &flow.key).send().await);
        fixture.advance(1);
        e400(&flow.refresh(&first.refresh, &flow.key).send().await, "invalid_grant");
    })
    .await;
}

/// FAPI-KEEP-02
#[tokio::test]
async fn twenty_workers_refresh_at_once() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let first = granted(&flow).await;
        let calls: Vec<_> = (0..20).map(|_| flow.refresh(&first.refresh, &flow.key)).collect();
        for answer in futures::future::join_all(calls.iter().map(Call::send)).await {
            let next = ok(&answer);
            assert_eq!(next.refresh, first.refresh);
            served(fixture, &flow.resource(&next.access).send().await);
        }
    })
    .await;
}

/// FAPI-KEEP-03
#[tokio::test]
async fn the_65th_access_token_ends_the_first() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let first = granted(&flow).await;
        let mut newest = first.clone();
        for _ in 1..64 {
            newest = ok(&flow.refresh(&first.refresh, &flow.key).send().await);
        }
        served(fixture, &flow.resource(&first.access).send().await);
        let next = ok(&flow.refresh(&first.refresh, &flow.key).send().await);
        wd(&flow.resource(&first.access).send().await, "invalid_token");
        for live in [newest, next] {
            served(fixture, &flow.resource(&live.access).send().await);
        }
    })
    .await;
}

/// FAPI-KEEP-03
#[tokio::test]
async fn of_65_refreshes_at_once_64_tokens_stay() {
    one(async |fixture| {
        let flow = Flow::new(fixture, ONE);
        let first = granted(&flow).await;
        fixture.advance(1);
        let calls: Vec<_> = (0..65).map(|_| flow.refresh(&first.refresh, &flow.key)).collect();
        let answers = futures::future::join_all(calls.iter().map(Call::send)).await;
        wd(&flow.resource(&first.access).send().await, "invalid_token");
        let mut live = 0;
        for answer in &answers {
            live += usize::from(flow.resource(&ok(answer).access).send().await.status == 200);
        }
        assert_eq!(live, 64);
    })
    .await;
}

/// FAPI-KEEP-04
#[tokio::test]
async fn a_revocation_stops_everything_at_once() {
    one(async |fixture: &Fixture| {
        let flow = Flow::new(fixture, ONE);
        let first = granted(&flow).await;
        let second = ok(&flow.refresh(&first.refresh, &flow.key).send().await);
        let revocation = Call::post(fixture, "/oauth2/revoke").field("token", &first.refresh).signed(&flow.party);
        assert_eq!(revocation.send().await.status, 200);
        e400(&flow.refresh(&first.refresh, &flow.key).send().await, "invalid_grant");
        for ended in [first, second] {
            wd(&flow.resource(&ended.access).send().await, "invalid_token");
        }
    })
    .await;
}
