//! Replaces the data that your service keeps with a grant.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::GrantId;
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim};
use crate::context::Context;
use crate::hooks::Event;
use crate::model::Grant;
use crate::model::grant_data::GrantData;
use crate::model::terms::Terms;
use crate::store::StoreError;

/// What became of the data that was to be [set](crate::AuthorizationServer::set_grant_data).
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum DataChange {
    /// The grant has it.
    Written,
    /// Nothing was written: the grant had other data than the caller had read, which is here.
    Changed(Option<GrantData>),
    /// Nothing was written: there is no such grant, or it has expired or was revoked.
    NotLive,
}

/// Replaces the data with one compare-and-swap, if it is still what the caller read.
pub(crate) async fn set(
    context: &Context,
    id: GrantId,
    seen: Option<&GrantData>,
    data: Option<GrantData>,
) -> Result<DataChange, StoreError> {
    let bytes = data.as_ref().map_or(0, |data| data.as_bytes().len());
    let mut setting = Setting { context, id, seen, data, now: context.now(), found: None };
    let (change, is_new) = claim(context, &mut setting, Some(ATTEMPTS)).await?;
    if let Some(grant) = setting.found.filter(|_| is_new) {
        let (client, subject) = (&grant.client, grant.subject());
        context.raise(&Event::GrantDataSet { grant: id, client, subject, bytes });
    }
    Ok(change)
}

struct Setting<'a> {
    context: &'a Context,
    id: GrantId,
    seen: Option<&'a GrantData>,
    data: Option<GrantData>,
    now: Timestamp,
    found: Option<Arc<Grant>>,
}

impl Claim for Setting<'_> {
    type Row = Grant;
    /// What became of it, and whether the record was written.
    type Won = (DataChange, bool);
    type Error = StoreError;

    async fn read(&mut self) -> Result<Seen<Grant>, StoreError> {
        self.found = self.context.stores.tokens.find(&self.id).await?;
        Ok(self.found.clone().into())
    }

    /// The tokens of a client without a user have the data of the client, so their grants have none.
    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, Self::Won>, StoreError> {
        let live = seen.found().filter(|grant| grant.subject.is_some() && grant.is_live(self.now));
        let Some(grant) = live else { return Ok(Effect::Leave((DataChange::NotLive, false))) };
        let found = grant.data();
        Ok(if found == self.data.as_ref() {
            Effect::Confirm((DataChange::Written, false))
        } else if found != self.seen {
            Effect::Confirm((DataChange::Changed(found.cloned()), false))
        } else {
            let terms = Terms::clone(&grant.terms).with_data(self.data.as_ref());
            Effect::Replace(Arc::new(Grant { terms, ..Grant::clone(grant) }), (DataChange::Written, true))
        })
    }

    fn is_done(&self, found: &Grant, meant: &Grant, _: After) -> bool {
        found.revoked.is_none() && found.data() == meant.data()
    }
}
