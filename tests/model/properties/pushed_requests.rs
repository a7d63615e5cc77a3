//! A pushed request leads to one code at most, whatever browsers and users do with it [RFC 9126 section 4].

use std::cell::Cell;

use grantor::config::Profile;
use grantor::config::PushedRequests;
use grantor::{Consent, Decision, Subject};
use prop::sample::Index;
use proptest::prelude::*;

use crate::properties::cases::{block_on, check, count, holds};
use support::world::{PKCE, World, created};

const CASES: u32 = 150;

#[derive(Clone, Debug)]
enum Step {
    Push,
    /// A browser presents one of the requests, and its user sees the page.
    Open {
        request: Index,
        session: u8,
        user: usize,
    },
    /// One of the pages so far is answered.
    Decide {
        page: Index,
        agrees: bool,
    },
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => Just(Step::Push),
        4 => (any::<Index>(), 0..3_u8, 0..2_usize)
            .prop_map(|(request, session, user)| Step::Open { request, session, user }),
        4 => (any::<Index>(), prop::bool::weighted(0.8)).prop_map(|(page, agrees)| Step::Decide { page, agrees }),
        1 => prop_oneof![Just(10), Just(290), Just(301), Just(4000)].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..40)
}

/// A page that waits for its user: which request it shows, and in whose browser.
struct Open {
    request: usize,
    session: u8,
    user: usize,
    handle: String,
}

/// Plays the steps, and returns how many codes there were.
async fn play(steps: Vec<Step>) -> Result<u32, String> {
    let world = World::with(Profile::Strict, |config| {
        config.pushed_requests.mode = PushedRequests::Optional;
        // So few that records are used again.
        config.limits.pushed_requests = 2;
    })
    .await;
    let users = [world.alice.clone(), Subject::new("bob").unwrap()];
    let (mut requests, mut pages, mut answers, mut codes) = (Vec::new(), Vec::<Open>::new(), Vec::new(), 0);
    for step in steps {
        match step {
            Step::Push => {
                let answer = world.par(&world.client, &PKCE).send().await;
                if answer.status() == 201 {
                    requests.push((created(&answer), false));
                }
            }
            Step::Open { request, session, user } if !requests.is_empty() => {
                let request = request.index(requests.len());
                let (uri, is_answered) = &requests[request];
                let Ok(pending) = world.visit(&world.reference(uri), &[session], Some(&users[user])).await else {
                    continue;
                };
                holds(!is_answered, || format!("request {request} is shown after its answer"))?;
                let Ok(handle) = world.server.hold(&pending, &users[user], &[session]).await else { continue };
                pages.push(Open { request, session, user, handle: handle.expose().to_owned() });
            }
            Step::Decide { page, agrees } if !pages.is_empty() => {
                let Open { request, session, user, handle } = &pages[page.index(pages.len())];
                let decision = if agrees { Decision::Approve(Consent::to_everything()) } else { Decision::Deny };
                let Ok(answer) = world.server.decide(handle, &users[*user], &[*session], &decision).await else {
                    continue;
                };
                let Some(location) = answer.header("Location") else { continue };
                // The same answer to the same page gets the same response.
                let is_again = answers.contains(&(*request, location.to_owned()));
                let is_answered = std::mem::replace(&mut requests[*request].1, true);
                holds(!is_answered || is_again, || format!("request {request} is answered twice: {location}"))?;
                codes += u32::from(location.contains("code=") && !is_again);
                answers.push((*request, location.to_owned()));
            }
            Step::Wait(seconds) => world.advance(seconds),
            Step::Open { .. } | Step::Decide { .. } => {}
        }
    }
    Ok(codes)
}

/// 9126-4-03
#[test]
fn no_sequence_yields_two_codes_of_one_pushed_request() {
    let codes = Cell::new(0);
    check(CASES, &steps(), |steps| {
        codes.set(codes.get() + block_on(play(steps))?);
        Ok(())
    });
    assert!(codes.get() > count(CASES) / 4, "the sequences lead to codes: {}", codes.get());
}
