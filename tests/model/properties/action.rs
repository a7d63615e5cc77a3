//! What can happen to a server, drawn so that sequences go far.

use proptest::prelude::*;

use crate::properties::model::{Answerer, Kind, Rights, Sent, Standing};

pub(crate) const CLIENTS: usize = 3;
pub(crate) const USERS: usize = 2;

/// One of the things made so far, counted from the newest; it wraps around, so that it always names one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Back(usize);

impl Back {
    /// The place of the thing among so many, if there is any.
    pub(crate) fn among(self, count: usize) -> Option<usize> {
        (count > 0).then(|| count - 1 - self.0 % count.max(1))
    }
}

/// Who calls a machine endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    ItsClient,
    ItsClientWithAWrongSecret,
    Client(usize),
}

/// How far a user gets in the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Page,
    Code,
    Tokens,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// The whole way from the request to the first pair.
    Connect {
        client: usize,
        user: usize,
    },
    Ask {
        client: usize,
        user: usize,
        rights: Option<Rights>,
        has_challenge: bool,
    },
    Approve {
        request: Back,
        chosen: Option<Rights>,
        by: Answerer,
    },
    Deny {
        request: Back,
        by: Answerer,
    },
    /// The same with two clicks, after which the client exchanges the code as often as it gets it.
    ClickTwice {
        client: usize,
        user: usize,
    },
    /// The same answer once more.
    ClickAgain {
        request: Back,
    },
    /// Of a code that is unused, unless said otherwise.
    Exchange {
        request: Back,
        again: bool,
        by: By,
        verifier: Sent,
        redirect_uri: Sent,
    },
    Refresh {
        pair: Back,
        by: By,
        rights: Option<Rights>,
    },
    /// The newest token of that pair's family, so many times.
    Burst {
        pair: Back,
        count: usize,
    },
    /// The refresh token of a pair with the end of another's, or with another character at that place.
    Forge {
        pair: Back,
        other: Back,
        place: usize,
        by: By,
    },
    Revoke {
        pair: Back,
        kind: Kind,
        by: By,
    },
    Introspect {
        pair: Back,
        by: By,
    },
    Withdraw {
        family: Back,
        user: usize,
    },
    /// What has become of a request, by the id that its grant would have.
    WithdrawRequest {
        request: Back,
        user: usize,
    },
    WithdrawApplication {
        client: usize,
        user: usize,
    },
    WithdrawUser {
        user: usize,
    },
    WithdrawClient {
        client: usize,
    },
    Suspend {
        client: usize,
    },
    Resume {
        client: usize,
    },
    RegisterAnew {
        client: usize,
        rights: Rights,
    },
    Standing {
        user: usize,
        standing: Standing,
    },
    Advance {
        seconds: u32,
    },
    /// The clock jumps forward, a user gets this far, and the clock is set back.
    ClockJump {
        seconds: u32,
        client: usize,
        user: usize,
        reached: Reached,
    },
    /// To one of the ends that lie ahead, or a second beside it.
    ToAnEnd {
        ahead: usize,
        beside: i64,
    },
    Purge,
    Restart,
}

/// Everything, or one grant and its refreshes in the course of time; seldom as many as are allowed.
pub(crate) fn sequence() -> impl Strategy<Value = Vec<Action>> {
    prop_oneof![80 => prop::collection::vec(action(), 1..40), 40 => life_of_a_grant(), 2 => crowded_grant()]
}

fn life_of_a_grant() -> impl Strategy<Value = Vec<Action>> {
    begun(prop::collection::vec(step(), 3..25))
}

fn crowded_grant() -> impl Strategy<Value = Vec<Action>> {
    let burst = (back(), 65..68_usize).prop_map(|(pair, count)| Action::Burst { pair, count });
    let steps = (prop::collection::vec(step(), 0..4), burst, prop::collection::vec(step(), 1..6));
    begun(steps.prop_map(|(before, burst, after)| before.into_iter().chain([burst]).chain(after).collect()))
}

fn begun(steps: impl Strategy<Value = Vec<Action>>) -> impl Strategy<Value = Vec<Action>> {
    let connect = client().prop_map(|client| Action::Connect { client, user: 0 });
    (connect, steps).prop_map(|(connect, steps)| [connect].into_iter().chain(steps).collect())
}

/// What happens to the newest grants.
fn step() -> impl Strategy<Value = Action> {
    prop_oneof![
        60 => back().prop_map(|pair| Action::Refresh { pair, by: By::ItsClient, rights: None }),
        20 => (back(), levels()).prop_map(
            |(pair, rights)| Action::Refresh { pair, by: By::ItsClient, rights: Some(rights) }
        ),
        6 => (back(), back(), 0..88_usize).prop_map(
            |(pair, other, place)| Action::Forge { pair, other, place, by: By::ItsClient }
        ),
        8 => (back(), kind()).prop_map(|(pair, kind)| Action::Revoke { pair, kind, by: By::ItsClient }),
        32 => (0..4_usize, -1..=1_i64).prop_map(|(ahead, beside)| Action::ToAnEnd { ahead, beside }),
        24 => (0..400_u32).prop_map(|seconds| Action::Advance { seconds }),
        8 => Just(Action::Purge),
        8 => Just(Action::Restart),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        6 => (client(), user()).prop_map(|(client, user)| Action::Connect { client, user }),
        6 => (client(), user(), some_rights(), prop::bool::weighted(0.8)).prop_map(
            |(client, user, rights, has_challenge)| Action::Ask { client, user, rights, has_challenge }
        ),
        6 => (back(), some_rights(), answerer()).prop_map(
            |(request, chosen, by)| Action::Approve { request, chosen, by }
        ),
        1 => (back(), answerer()).prop_map(|(request, by)| Action::Deny { request, by }),
        1 => (client(), user()).prop_map(|(client, user)| Action::ClickTwice { client, user }),
        4 => back().prop_map(|request| Action::ClickAgain { request }),
        7 => (back(), prop::bool::weighted(0.15), by(), sent(), sent()).prop_map(
            |(request, again, by, verifier, redirect_uri)| {
                Action::Exchange { request, again, by, verifier, redirect_uri }
            }
        ),
        30 => (back(), by(), some_rights()).prop_map(|(pair, by, rights)| Action::Refresh { pair, by, rights }),
        2 => (back(), back(), 0..88_usize, by()).prop_map(
            |(pair, other, place, by)| Action::Forge { pair, other, place, by }
        ),
        5 => (back(), kind(), by()).prop_map(|(pair, kind, by)| Action::Revoke { pair, kind, by }),
        2 => (back(), by()).prop_map(|(pair, by)| Action::Introspect { pair, by }),
        1 => (back(), user()).prop_map(|(family, user)| Action::Withdraw { family, user }),
        1 => (back(), user()).prop_map(|(request, user)| Action::WithdrawRequest { request, user }),
        1 => (client(), user()).prop_map(|(client, user)| Action::WithdrawApplication { client, user }),
        1 => user().prop_map(|user| Action::WithdrawUser { user }),
        1 => client().prop_map(|client| Action::WithdrawClient { client }),
        1 => client().prop_map(|client| Action::Suspend { client }),
        2 => client().prop_map(|client| Action::Resume { client }),
        1 => (client(), levels()).prop_map(|(client, rights)| Action::RegisterAnew { client, rights }),
        2 => (user(), standing()).prop_map(|(user, standing)| Action::Standing { user, standing }),
        4 => (0..400_u32).prop_map(|seconds| Action::Advance { seconds }),
        3 => (jump(), client(), user(), reached()).prop_map(
            |(seconds, client, user, reached)| Action::ClockJump { seconds, client, user, reached }
        ),
        14 => (ahead(), -1..=1_i64).prop_map(|(ahead, beside)| Action::ToAnEnd { ahead, beside }),
        2 => Just(Action::Purge),
        1 => Just(Action::Restart),
    ]
}

/// Mostly the newest, since that is where something happens.
fn back() -> impl Strategy<Value = Back> {
    prop_oneof![3 => 0..3_usize, 2 => 0..8_usize, 1 => 0..64_usize].prop_map(Back)
}

/// Mostly the next end.
fn ahead() -> impl Strategy<Value = usize> {
    prop_oneof![3 => 0..2_usize, 3 => 0..6_usize, 1 => 0..64_usize]
}

fn client() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => Just(1), 2 => Just(2)]
}

fn user() -> impl Strategy<Value = usize> {
    0..USERS
}

fn by() -> impl Strategy<Value = By> {
    prop_oneof![
        12 => Just(By::ItsClient),
        1 => Just(By::ItsClientWithAWrongSecret),
        1 => (0..CLIENTS).prop_map(By::Client),
    ]
}

/// About the allowed skew, an hour, or longer than any token lives.
fn jump() -> impl Strategy<Value = u32> {
    prop_oneof![2 => 58..63_u32, 4 => 0..4000_u32, 1 => 0..20_000_000_u32]
}

fn reached() -> impl Strategy<Value = Reached> {
    prop_oneof![1 => Just(Reached::Page), 1 => Just(Reached::Code), 3 => Just(Reached::Tokens)]
}

fn answerer() -> impl Strategy<Value = Answerer> {
    prop_oneof![10 => Just(Answerer::TheUser), 1 => Just(Answerer::AnotherUser), 1 => Just(Answerer::TheUserElsewhere)]
}

fn sent() -> impl Strategy<Value = Sent> {
    prop_oneof![8 => Just(Sent::Right), 1 => Just(Sent::Wrong), 2 => Just(Sent::Nothing)]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![Just(Kind::Access), Just(Kind::Refresh)]
}

fn standing() -> impl Strategy<Value = Standing> {
    prop_oneof![3 => Just(Standing::Good), 2 => Just(Standing::Locked), 1 => Just(Standing::Unknown)]
}

/// Nothing said about scopes, or some of them.
fn some_rights() -> impl Strategy<Value = Option<Rights>> {
    prop_oneof![6 => Just(None), 4 => levels().prop_map(Some), 1 => Just(Some(Rights::STRANGE))]
}

fn levels() -> impl Strategy<Value = Rights> {
    let full = prop::array::uniform3(0..3_u8).prop_map(Rights::of_levels);
    full.prop_filter("no scope at all", |rights| !rights.is_empty())
}
