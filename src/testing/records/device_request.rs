//! Requests of devices in every state, and user codes.

use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, DeviceRequestId};
use crate::base::subject::Subject;
use crate::model::protected_resource::Audience;
use crate::model::user_code::UserCodeKey;
use crate::model::{DeviceDecision, DeviceRequest, USER_AGENT_BYTES, UserCodeRecord};
use crate::testing::draw::{self, sound};
use crate::testing::records::hostile;

/// Creates a device request whose code nobody has typed: version 1, to be purged from `purge_after`, one hour after its end.
#[must_use]
pub fn device_request(purge_after: Timestamp) -> DeviceRequest {
    DeviceRequest {
        id: DeviceRequestId::from_bytes(draw::bytes()),
        version: 1,
        client: sound(ClientId::new(draw::unique())),
        epoch: 0,
        secret: draw::digest(),
        user_code: UserCodeKey::from_bytes(draw::bytes()),
        created: draw::now(),
        end: draw::end(purge_after),
        open_until: draw::end(purge_after),
        scopes: draw::scopes("account-email:rw"),
        audience: Audience::UNSET,
        network: None,
        user_agent: None,
        typed_by: None,
        decision: None,
    }
}

/// Creates a user code, to be purged from `purge_after` on.
#[must_use]
pub fn user_code(purge_after: Timestamp) -> UserCodeRecord {
    UserCodeRecord {
        key: UserCodeKey::from_bytes(draw::bytes()),
        request: DeviceRequestId::from_bytes(draw::bytes()),
        end: draw::end(purge_after),
    }
}

/// Returns requests in every state, with all that a field may hold.
pub(in crate::testing) fn device_requests_of_every_kind(
    subject: &Subject,
    purge_after: Timestamp,
) -> Vec<DeviceRequest> {
    let plain = || device_request(purge_after);
    let typed = || plain().typed(Some(subject));
    let approved = DeviceDecision::Approved { by: AuthorizationId::from_bytes(draw::bytes()), ticket: draw::digest() };
    vec![
        plain(),
        typed(),
        typed().decided(approved, draw::end(purge_after)),
        typed().decided(DeviceDecision::Denied, draw::end(purge_after)),
        DeviceRequest { network: Some([192, 0, 2, 1].into()), user_agent: Some("TV/1.0".into()), ..plain() },
        DeviceRequest { audience: hostile::audience(), client: hostile::client_id(120), ..plain() },
        DeviceRequest { version: u32::MAX, epoch: u32::MAX, created: Timestamp::default(), ..plain() },
    ]
}

/// Returns a request with every field as large as it may be.
pub(in crate::testing) fn huge_device_request(subject: &Subject, purge_after: Timestamp) -> DeviceRequest {
    let approved = DeviceDecision::Approved { by: AuthorizationId::from_bytes(draw::bytes()), ticket: draw::digest() };
    DeviceRequest {
        client: hostile::client_id(512),
        scopes: draw::scopes(&hostile::many_scopes()),
        audience: hostile::audience(),
        network: Some([0xffff; 8].into()),
        user_agent: Some("x".repeat(USER_AGENT_BYTES).into()),
        typed_by: Some(subject.clone()),
        decision: Some(approved),
        ..device_request(purge_after)
    }
}
