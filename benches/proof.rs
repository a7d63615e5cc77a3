//! Proves that the floor makes all checks, since a missing one would make it faster.

use crate::floor::{ACCESS_LIFETIME, CODE_LIFETIME, Floor, GRACE};
use crate::world::{self, Credentials, Layout, START};

/// # Panics
///
/// If the floor accepts an invalid request, or refuses a valid one.
pub(crate) fn prove(client: &Credentials) {
    let floor = Floor::new(client);
    let code = |client: &Credentials| {
        let location = floor.authorize(world::query(client).as_bytes(), "user", START).expect("a valid request");
        world::exchange_form(client, world::code_of(&location))
    };
    let exchange = |form: &str, now| floor.exchange(form.as_bytes(), now);
    let form = code(client);
    assert!(exchange(&form.replace(world::VERIFIER, &world::VERIFIER.to_lowercase()), START).is_none());
    assert!(exchange(&form.replace(&client.secret, "guessed"), START).is_none());
    assert!(exchange(&form.replace("code=ac_", "code=ac_A"), START).is_none());
    assert!(exchange(&format!("{form}&code=twice"), START).is_none());
    assert!(exchange(&form, START + CODE_LIFETIME).is_none());
    let first = exchange(&form, START).expect("a valid code");
    assert!(exchange(&form, START).is_none(), "a code works once");

    let layout = Layout::of(&first);
    let header = [b"Bearer ", layout.access(&first)].concat();
    assert!(floor.authenticate(&header, START).is_some());
    assert!(floor.authenticate(&header, START + ACCESS_LIFETIME).is_none());
    let refresh = |answer: &[u8], now| {
        let token = str::from_utf8(layout.refresh(answer)).expect("ASCII");
        floor.refresh(world::refresh_form(client, token).as_bytes(), now)
    };
    let second = refresh(&first, START).expect("a valid refresh token");
    assert!(floor.authenticate(&header, START + GRACE - 1).is_some(), "the old access token is in grace");
    assert!(floor.authenticate(&header, START + GRACE).is_none());
    assert!(refresh(&first, START + GRACE).is_none());
    assert!(refresh(&second, START + GRACE).is_none(), "the reuse revoked the grant");
}
