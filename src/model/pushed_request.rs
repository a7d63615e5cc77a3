//! An authorization request that a client pushed to the server.

use std::fmt;
use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::base::codec::kind;
use crate::base::field::fields;
use crate::base::id::{ClientId, PushedRequestId};
use crate::jose::JwkThumbprint;
use crate::model::record::{Columns, Record, Table, encoded_as, key_and_version};
use crate::model::{PushedFrom, RETENTION};
use crate::secret::Digest;

/// The maximum number of browser sessions that a record notes. They may present the `request_uri` after it has expired,
/// because they presented it before.
pub(crate) const VISITS: usize = 8;

/// A pushed authorization request: its parameters, the client that pushed it, and when it expires [RFC 9126 section 2].
///
/// The user's decision uses it up; a visit does not [RFC 9126 section 4].
#[derive(Clone, PartialEq, Eq)]
pub struct PushedRequest {
    pub(crate) id: PushedRequestId,
    pub(crate) version: u32,
    pub(crate) client: ClientId,
    /// The client's epoch when it pushed the request.
    pub(crate) epoch: u32,
    /// The digest of the secret in the `request_uri`.
    pub(crate) secret: Digest,
    pub(crate) created: Timestamp,
    /// When the `request_uri` expires. After that, only a session that presented it before may present it.
    pub(crate) end: Timestamp,
    /// The end of the request, or the end of the last hold if that is later. Visits do not change it.
    pub(crate) open_until: Timestamp,
    /// The parameters that the authorization endpoint reads, form-encoded. They contain no credentials.
    pub(crate) parameters: Box<str>,
    /// The key of the DPoP proof at the push [RFC 9449 section 10.1].
    pub(crate) key: Option<JwkThumbprint>,
    /// At most [`VISITS`].
    pub(crate) visits: Vec<Visit>,
    /// The digest of the ticket of the consent request whose decision used it. The id is not sufficient: a later held
    /// request may reuse the record of an earlier one under the same id, but has another ticket.
    pub(crate) used_by: Option<Digest>,
}

/// A browser session that presented the `request_uri` before it expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) session: Digest,
    /// Until then it may present the request again.
    pub(crate) until: Timestamp,
    /// The digest of the signed-in user whose consent request waits there.
    pub(crate) holder: Option<Digest>,
}

impl fmt::Debug for PushedRequest {
    /// Leaves out the parameters, since they include the client's `state`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushedRequest")
            .field("id", &self.id)
            .field("version", &self.version)
            .field("client", &self.client)
            .field("end", &self.end)
            .field("open_until", &self.open_until)
            .field("is_used", &self.used_by.is_some())
            .finish_non_exhaustive()
    }
}

impl PushedRequest {
    /// Returns the id, which is the key of the record.
    #[must_use]
    pub const fn id(&self) -> PushedRequestId {
        self.id
    }

    /// Returns the client that pushed it.
    #[must_use]
    pub const fn client(&self) -> &ClientId {
        &self.client
    }

    /// Returns when it was pushed.
    #[must_use]
    pub const fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when its `request_uri` expires for sessions that have not presented it before.
    #[must_use]
    pub const fn ends(&self) -> Timestamp {
        self.end
    }

    /// Returns whether a decision has used it.
    #[must_use]
    pub const fn is_used(&self) -> bool {
        self.used_by.is_some()
    }

    /// Returns the time from which it cannot be decided: the end of the request, of the last visit or of the last hold,
    /// whichever is latest. A bound by the settings would count two hold lifetimes, one for the sign-in and one for the
    /// page, and keep every abandoned request for as long.
    pub(crate) fn last_use(&self) -> Timestamp {
        self.visits.iter().map(|visit| visit.until).fold(self.open_until, Timestamp::max)
    }

    /// Returns whether it was held for a user who is signed in; meaningless once it is used.
    pub(crate) fn is_held(&self) -> bool {
        self.end < self.open_until
    }

    /// Returns whether it may still be decided. A request that was pushed in the future may not, since the clock was
    /// set back.
    pub(crate) fn is_open(&self, now: Timestamp) -> bool {
        self.created.has_come(now) && self.keeps_place(now)
    }

    /// Returns whether it may still be decided here, or at a server whose clock is ahead.
    pub(crate) fn keeps_place(&self, now: Timestamp) -> bool {
        self.used_by.is_none() && self.created.may_have_come(now) && now < self.last_use()
    }

    /// Returns whether a `request_uri` or a consent request refers to this request. The id alone is not enough, since a
    /// later request may get the same id.
    pub(crate) fn is_of(&self, from: &PushedFrom) -> bool {
        self.id == from.id && self.secret == from.secret
    }

    /// Returns the reference that a consent request keeps, to find this request again.
    pub(crate) const fn reference(&self) -> PushedFrom {
        PushedFrom { id: self.id, secret: self.secret }
    }

    /// Returns the request held until that time. In any case it stays open longer than its own end, which marks it as
    /// held.
    pub(crate) fn held(&self, until: Timestamp) -> Self {
        let marked = self.end.plus(Duration::from_secs(1));
        Self { open_until: self.open_until.max(until).max(marked), ..self.clone() }
    }

    /// Returns the request without the consent requests of that user. If no other user has one, it is as before it was
    /// held.
    pub(crate) fn released(&self, user: &Digest) -> Self {
        let release = |visit: &Visit| Visit { holder: visit.holder.filter(|holder| holder != user), ..*visit };
        let visits: Vec<_> = self.visits.iter().map(release).collect();
        let is_held = visits.iter().any(|visit| visit.holder.is_some());
        Self { open_until: if is_held { self.open_until } else { self.end }, visits, ..self.clone() }
    }

    /// Returns the request with one more visit. That of a session which came before keeps its end. Visits that have
    /// ended are removed.
    pub(crate) fn visited(&self, visit: Visit, now: Timestamp) -> Self {
        let live = self.visits.iter().copied().filter(|own| now < own.until);
        let earlier = live.clone().find(|own| own.session == visit.session);
        let visit = Visit { until: earlier.map_or(visit.until, |own| own.until), ..visit };
        let mut visits: Vec<_> = live.filter(|own| own.session != visit.session).collect();
        if visits.len() >= VISITS {
            // One who awaits a decision goes before one who only opened the link: the hold must be found when it ends.
            let opened = visits.iter().enumerate().filter(|(_, own)| own.holder.is_none());
            if let Some((first_to_end, _)) = opened.min_by_key(|(_, own)| own.until) {
                visits.remove(first_to_end);
            }
        }
        visits.push(visit);
        Self { visits, ..self.clone() }
    }

    /// Returns the request as used by the decision of the consent request with that ticket. Parameters and visits are
    /// dropped.
    pub(crate) fn used(&self, ticket: Digest) -> Self {
        let (visits, parameters) = (Vec::new(), Box::default());
        Self { open_until: self.last_use(), used_by: Some(ticket), visits, parameters, ..self.clone() }
    }

    /// The same for a decision without a page. The parameters are kept, so that this session may present the request
    /// once more, and gets the same response.
    pub(crate) fn used_without_page(&self, ticket: Digest, again: Visit) -> Self {
        Self { visits: vec![again], parameters: self.parameters.clone(), ..self.used(ticket) }
    }
}

impl Record for PushedRequest {
    const TABLE: Table = Table::PushedRequests;

    key_and_version!(PushedRequestId);

    /// One hour after it can last be decided.
    fn purge_after(&self) -> Option<Timestamp> {
        Some(self.last_use().plus(RETENTION))
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.client.clone()),
            created: Some(self.created),
            state: if self.is_used() { "used" } else { "pushed" },
            ..Columns::default()
        }
    }

    encoded_as!(kind::PUSHED_REQUEST);
}

fields! {
    PushedRequest {
        id, version, client, epoch, secret, created, end, open_until, parameters, key, visits, used_by,
    }
}
fields! { Visit { session, until, holder } }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::compared_layout;

    const fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn pushed() -> PushedRequest {
        PushedRequest {
            id: PushedRequestId::from_bytes([7; 16]),
            version: 3,
            client: ClientId::new("client").unwrap(),
            epoch: 2,
            secret: Digest::of(b"secret"),
            created: at(100),
            end: at(400),
            open_until: at(2100),
            parameters: "response_type=code&client_id=client&state=a%20b".into(),
            key: Some(JwkThumbprint::from_bytes([9; 32])),
            visits: vec![Visit {
                session: Digest::of(b"session"),
                until: at(2100),
                holder: Some(Digest::of(b"alice")),
            }],
            used_by: None,
        }
    }

    #[test]
    fn comes_back_equal() {
        let bare = PushedRequest { key: None, visits: Vec::new(), ..pushed() };
        for record in [pushed(), bare, pushed().used(Digest::of(b"ticket"))] {
            let bytes = record.encode();
            assert_eq!(PushedRequest::decode(&bytes), Ok(record));
            for cut in 0..bytes.len() {
                assert!(PushedRequest::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let used = PushedRequest { version: 4, ..pushed().used(Digest::of(b"h")) };
        for (name, record) in [("pushed_request.1", pushed()), ("pushed_request_used.1", used)] {
            let file = compared_layout(name, &record.encode());
            assert_eq!(PushedRequest::decode(&file), Ok(record));
        }
    }

    #[test]
    fn a_request_is_open_until_its_use_or_end() {
        let record = pushed();
        assert!(record.is_open(at(100)) && record.is_open(at(2099)));
        assert!(!record.is_open(at(2100)));
        assert!(!record.is_open(at(0)), "pushed in the future");
        assert!(!record.used(Digest::of(b"ticket")).is_open(at(100)));
        assert_eq!(record.held(at(2000)).open_until, at(2100), "no hold makes it shorter");
        assert_eq!(record.held(at(2200)).purge_after(), Some(at(2200 + 3600)));
    }

    /// 9126-2.3-01
    #[test]
    fn a_visit_makes_it_open_for_longer_but_not_held() {
        let new = PushedRequest { open_until: at(400), visits: Vec::new(), ..pushed() };
        let visited = new.visited(Visit { session: Digest::of(b"session"), until: at(2100), holder: None }, at(300));
        assert!(visited.is_open(at(2099)) && !visited.is_open(at(2100)) && !visited.is_held());
        assert_eq!(visited.purge_after(), Some(at(2100 + 3600)));
        assert!(visited.held(at(300)).is_held(), "a hold may be shorter than the request");
        assert_eq!(visited.used(Digest::of(b"ticket")).purge_after(), visited.purge_after());
    }

    #[test]
    fn a_place_that_was_used_again_is_another_request() {
        let record = pushed();
        assert!(record.is_of(&record.reference()));
        let next = PushedRequest { secret: Digest::of(b"next"), ..pushed() };
        assert!(!next.is_of(&record.reference()));
    }

    #[test]
    fn debug_shows_no_parameter() {
        let shown = format!("{:?}", pushed());
        assert!(!shown.contains("state") && shown.contains("is_used: false"), "{shown}");
    }
}
