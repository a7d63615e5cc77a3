//! The described service.

use crate::world::{World, code, ok, pair, text};

/// SVC-4.1-01, SVC-4.2-01
#[tokio::test]
async fn a_minimal_request_becomes_a_code_and_a_pair() {
    let world = World::platform().await;
    let redirect = code(&world.approve(&world.query(&[])).await);
    let code = text(&redirect, "code");
    let response =
        world.token(&[("grant_type", "authorization_code"), ("code", &code)]).client(&world.client).send().await;
    ok(&response);
    let first = pair(&response);
    assert!(world.opens(&first.access).await);
    let second = pair(&world.refresh(&first.refresh).await);
    assert!(world.opens(&second.access).await && world.opens(&first.access).await);
}
