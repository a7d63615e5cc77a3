//! Pushed authorization requests in every state.

use crate::clock::Timestamp;
use crate::id::{ClientId, PushedRequestId};
use crate::jose::JwkThumbprint;
use crate::record::{PushedRequest, VISITS, Visit};
use crate::testing::draw::{self, sound};
use crate::testing::records::hostile;

/// Makes a pushed request that nobody has opened: version 1, to be purged from `purge_after`, which is one hour after its
/// end.
#[must_use]
pub fn pushed_request(purge_after: Timestamp) -> PushedRequest {
    PushedRequest {
        id: PushedRequestId::from_octets(draw::octets()),
        version: 1,
        client: sound(ClientId::new(draw::unique())),
        epoch: 0,
        secret: draw::digest(),
        created: draw::now(),
        end: draw::end(purge_after),
        open_until: draw::end(purge_after),
        parameters: format!("response_type=code&client_id=client&state={}", draw::unique()).into(),
        key: None,
        visits: Vec::new(),
        used_by: None,
    }
}

/// Makes the next version of a pushed request, which another session has opened, to be purged from `purge_after`.
#[must_use]
pub fn visited(request: &PushedRequest, purge_after: Timestamp) -> PushedRequest {
    let until = draw::end(purge_after);
    let visits = vec![Visit { session: draw::digest(), until }];
    PushedRequest { open_until: until, visits, ..request.held(until) }
}

/// Makes the next version of a pushed request, which a decision has used.
#[must_use]
pub fn used(request: &PushedRequest) -> PushedRequest {
    request.used(draw::digest())
}

/// New, opened, used, and whatever a field may hold.
pub(in crate::testing) fn pushed_requests_of_every_kind(purge_after: Timestamp) -> Vec<PushedRequest> {
    let plain = || pushed_request(purge_after);
    let key = Some(JwkThumbprint::from_bytes(draw::octets()));
    vec![
        plain(),
        visited(&plain(), purge_after),
        used(&plain()),
        used(&visited(&plain(), purge_after)),
        PushedRequest { key, ..plain() },
        PushedRequest { parameters: Box::default(), ..plain() },
        PushedRequest { version: u32::MAX, epoch: u32::MAX, created: Timestamp::default(), ..plain() },
        PushedRequest { version: 1 << 31, created: Timestamp::from_seconds(u32::MAX), ..plain() },
        PushedRequest { open_until: Timestamp::from_seconds(u32::MAX), ..plain() },
        PushedRequest { client: hostile::client_id(120), ..plain() },
    ]
}

/// Every field as large as it may be under the settings of the largest requests in use.
pub(in crate::testing) fn huge_pushed_request(purge_after: Timestamp) -> PushedRequest {
    const PARAMETERS: usize = 1 << 18;
    let until = draw::end(purge_after);
    PushedRequest {
        client: hostile::client_id(512),
        parameters: "%25".chars().cycle().take(PARAMETERS).collect::<String>().into(),
        key: Some(JwkThumbprint::from_bytes(draw::octets())),
        visits: (0..VISITS).map(|_| Visit { session: draw::digest(), until }).collect(),
        ..pushed_request(purge_after)
    }
}
