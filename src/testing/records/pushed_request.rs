//! Pushed authorization requests in every state.

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, PushedRequestId};
use crate::jose::JwkThumbprint;
use crate::model::{PushedRequest, VISITS, Visit};
use crate::testing::draw::{self, sound};
use crate::testing::records::hostile;

/// Creates a pushed request that no session has opened: version 1, to be purged from `purge_after`, one hour after its
/// end.
#[must_use]
pub fn pushed_request(purge_after: Timestamp) -> PushedRequest {
    PushedRequest {
        id: PushedRequestId::from_bytes(draw::bytes()),
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

/// Creates the next version of a pushed request, opened by another session, to be purged from `purge_after`.
#[must_use]
pub fn visited(request: &PushedRequest, purge_after: Timestamp) -> PushedRequest {
    let until = draw::end(purge_after);
    let visits = vec![Visit { session: draw::digest(), until }];
    PushedRequest { version: request.version.saturating_add(1), open_until: until, visits, ..request.held(until) }
}

/// Creates the next version of a pushed request, used by a decision.
#[must_use]
pub fn used(request: &PushedRequest) -> PushedRequest {
    PushedRequest { version: request.version.saturating_add(1), ..request.used(draw::digest()) }
}

/// Returns new, opened and used requests, with all that a field may hold.
pub(in crate::testing) fn pushed_requests_of_every_kind(purge_after: Timestamp) -> Vec<PushedRequest> {
    let plain = || pushed_request(purge_after);
    let key = Some(JwkThumbprint::from_bytes(draw::bytes()));
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

/// Returns a request with every field as large as it may be under the settings of the largest requests in use.
pub(in crate::testing) fn huge_pushed_request(purge_after: Timestamp) -> PushedRequest {
    const PARAMETERS: usize = 1 << 18;
    let until = draw::end(purge_after);
    PushedRequest {
        client: hostile::client_id(512),
        parameters: "%25".chars().cycle().take(PARAMETERS).collect::<String>().into(),
        key: Some(JwkThumbprint::from_bytes(draw::bytes())),
        visits: (0..VISITS).map(|_| Visit { session: draw::digest(), until }).collect(),
        ..pushed_request(purge_after)
    }
}
