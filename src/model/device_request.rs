//! The request of a device that waits for its user.

use std::net::IpAddr;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field::{Codec, fields};
use crate::base::id::{AuthorizationId, ClientId, DeviceRequestId, Subject};
use crate::model::protected_resource::Audience;
use crate::model::record::{Columns, Record, Table, encoded_as, key_and_version};
use crate::model::user_code::UserCodeKey;
use crate::model::{DeviceFrom, RETENTION};
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// The maximum length in bytes of the product of the `User-Agent` header that is kept. It is shown to the user.
pub(crate) const USER_AGENT_BYTES: usize = 40;

/// A device authorization request [RFC 8628 section 3.1]: what the device asked for, who typed its code, and the
/// decision.
///
/// The device fetches its tokens with the device code, whose digest the record has. The user's side is an
/// [`Authorization`](crate::store::Authorization), which points here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    pub(crate) id: DeviceRequestId,
    pub(crate) version: u32,
    pub(crate) client: ClientId,
    /// The client's epoch when the device asked.
    pub(crate) epoch: u32,
    /// The digest of the secret in the device code.
    pub(crate) secret: Digest,
    /// The key of the user code's record. A record that leads here from another code is of an earlier request.
    pub(crate) user_code: UserCodeKey,
    pub(crate) created: Timestamp,
    /// When both codes expire. It never moves.
    pub(crate) end: Timestamp,
    /// When another request may take its place: at the end; after an approval, when the grace of the device code has
    /// ended too.
    pub(crate) open_until: Timestamp,
    pub(crate) scopes: ScopeSet,
    pub(crate) audience: Audience,
    /// The network that the device asked from, for its user to compare.
    pub(crate) network: Option<IpAddr>,
    /// What the device says it is.
    pub(crate) user_agent: Option<Box<str>>,
    /// The user who typed the code first.
    pub(crate) typed_by: Option<Subject>,
    pub(crate) decision: Option<DeviceDecision>,
}

/// What the user decided about a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceDecision {
    /// The authorization is approved, or about to be. Its ticket is compared too, since a later request may have its
    /// id.
    Approved {
        by: AuthorizationId,
        ticket: Digest,
    },
    Denied,
}

impl DeviceRequest {
    /// Returns the id, which is the key of the record.
    #[must_use]
    pub const fn id(&self) -> DeviceRequestId {
        self.id
    }

    /// Returns the client that asked.
    #[must_use]
    pub const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Returns when the device asked.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when both codes expire.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.end
    }

    /// Returns the user who typed the code first, if any.
    #[must_use]
    pub const fn typed_by(&self) -> Option<&Subject> {
        self.typed_by.as_ref()
    }

    /// Returns whether its user may decide, or its device may fetch something. A request from the future, left by a
    /// clock that had jumped forward, is not open.
    pub(crate) fn is_open(&self, now: Timestamp) -> bool {
        self.created.has_come(now) && self.keeps_place(now)
    }

    /// Returns whether it is open here, or at a server whose clock is ahead.
    pub(crate) fn keeps_place(&self, now: Timestamp) -> bool {
        self.created.may_have_come(now) && now < self.open_until
    }

    /// Returns whether no other user has typed its code.
    pub(crate) fn is_for(&self, subject: &Subject) -> bool {
        self.typed_by.as_ref().is_none_or(|own| own == subject)
    }

    /// Returns whether a pointer leads to this request, and not to another one in its place.
    pub(crate) fn is_of(&self, from: &DeviceFrom) -> bool {
        self.id == from.id && self.secret == from.secret
    }

    /// Returns the pointer to this request.
    pub(crate) const fn reference(&self, in_link: bool) -> DeviceFrom {
        DeviceFrom { id: self.id, secret: self.secret, end: self.end, in_link }
    }

    /// Returns the request as typed by that user, or by nobody.
    pub(crate) fn typed(&self, by: Option<&Subject>) -> Self {
        Self { typed_by: by.cloned(), ..self.clone() }
    }

    /// Returns the request with the decision. The record of an approved one is kept until `open_until`.
    pub(crate) fn decided(&self, decision: DeviceDecision, open_until: Timestamp) -> Self {
        Self { decision: Some(decision), open_until: self.open_until.max(open_until), ..self.clone() }
    }

    const fn state(&self) -> &'static str {
        match (&self.decision, &self.typed_by) {
            (Some(DeviceDecision::Approved { .. }), _) => "approved",
            (Some(DeviceDecision::Denied), _) => "denied",
            (None, Some(_)) => "typed",
            (None, None) => "shown",
        }
    }
}

impl Record for DeviceRequest {
    const TABLE: Table = Table::DeviceRequests;

    key_and_version!(DeviceRequestId);

    /// One hour after its place is free.
    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.open_until.plus(RETENTION))
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            created: Some(self.created),
            state: self.state(),
            ..Columns::default()
        }
    }

    encoded_as!(kind::DEVICE_REQUEST);
}

fields! {
    DeviceRequest {
        id, version, client, epoch, secret, user_code, created, end, open_until, scopes, audience, network, user_agent,
        typed_by, decision,
    }
}

/// One byte for all three states.
impl Codec for Option<DeviceDecision> {
    fn write(&self, writer: &mut Writer) {
        match self {
            None => writer.byte(0),
            Some(DeviceDecision::Approved { by, ticket }) => {
                writer.byte(1);
                by.write(writer);
                ticket.write(writer);
            }
            Some(DeviceDecision::Denied) => writer.byte(2),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.byte()? {
            0 => Ok(None),
            1 => Ok(Some(DeviceDecision::Approved { by: Codec::read(reader)?, ticket: Codec::read(reader)? })),
            2 => Ok(Some(DeviceDecision::Denied)),
            _ => Err(DecodeError::UnknownLayout),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    const fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn request() -> DeviceRequest {
        DeviceRequest {
            id: DeviceRequestId::from_bytes([3; 16]),
            version: 7,
            client: ClientId::new("tv").unwrap(),
            epoch: 2,
            secret: Digest::of(b"secret"),
            user_code: UserCodeKey::from_bytes([9; 32]),
            created: at(100),
            end: at(700),
            open_until: at(700),
            scopes: ScopeSet::from_canonical("account-email:rw"),
            audience: Audience::new(["https://api.example"]),
            network: Some([192, 0, 2, 1].into()),
            user_agent: Some("TV/1.0".into()),
            typed_by: Some(Subject::new("\0hostile\u{202e}").unwrap()),
            decision: None,
        }
    }

    #[test]
    fn comes_back_equal_in_every_state() {
        let approved = DeviceDecision::Approved { by: AuthorizationId::from_bytes([5; 16]), ticket: Digest::of(b"t") };
        let bare =
            DeviceRequest { network: None, user_agent: None, audience: Audience::UNSET, ..request().typed(None) };
        for record in [
            request(),
            bare,
            request().decided(approved, at(1000)),
            request().decided(DeviceDecision::Denied, at(700)),
            DeviceRequest { network: Some("2001:db8:1:2::".parse().unwrap()), ..request() },
        ] {
            let bytes = record.encode();
            assert_eq!(DeviceRequest::decode(&bytes), Ok(record));
            for cut in 0..bytes.len() {
                assert!(DeviceRequest::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let file = compared_layout("device_request.1", &request().encode());
        assert_eq!(DeviceRequest::decode(&file), Ok(request()));
    }

    #[test]
    fn an_approved_request_is_open_for_longer() {
        let approved = DeviceDecision::Approved { by: AuthorizationId::from_bytes([5; 16]), ticket: Digest::of(b"t") };
        assert!(request().is_open(at(699)) && !request().is_open(at(700)) && !request().is_open(at(39)));
        assert!(request().decided(approved, at(1000)).is_open(at(999)));
    }
}
