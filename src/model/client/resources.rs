//! The lists of resources that consents refer to: the one in force, and those that it replaced.

use std::borrow::Cow;

use crate::model::client::{Client, ClientState};
use crate::scope::{ConsentedResources, MAX_BYTES, MAX_RESOURCES, Resource, ResourceList, ResourceScope};

/// The most bytes of replaced lists in the client's row: four of the longest lists.
const MAX_FORMER_BYTES: usize = 4 * (MAX_BYTES + 4 * MAX_RESOURCES);

impl Client {
    /// Puts other resources in force. A list that consents may refer to is kept; before the first approval there are
    /// none.
    pub(crate) fn put_resources(&mut self, next: ResourceScope) {
        let before = std::mem::replace(&mut self.resource_scope, next);
        match self.state {
            ClientState::Approved | ClientState::Suspended => self.keep_former(before),
            ClientState::Pending | ClientState::Rejected | ClientState::Deleted => {}
        }
    }

    /// Keeps a list that was in force, unless records contain the complete list or it is already kept.
    pub(super) fn keep_former(&mut self, before: ResourceScope) {
        if let ResourceScope::Specified(list) = before
            && !list.is_short()
            && !self.former_resources.contains(&list)
        {
            self.former_resources.push(list);
        }
        if let ResourceScope::Specified(in_force) = &self.resource_scope {
            self.former_resources.retain(|former| former != in_force);
        }
    }

    /// Ends all codes and grants, so that no consent refers to a former list.
    pub(crate) fn revoke_grants(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
        self.former_resources.clear();
    }

    /// Returns whether the lists that were replaced are too large.
    pub(crate) fn has_too_many_lists(&self) -> bool {
        self.former_resources.iter().map(ResourceList::stored_bytes).sum::<usize>() > MAX_FORMER_BYTES
    }

    /// Drops the oldest of the lists that were replaced, until the others fit. Consents that refer to a dropped list no
    /// longer cover any named resource.
    pub(crate) fn make_room_for_lists(&mut self) {
        while self.has_too_many_lists() {
            self.former_resources.remove(0);
        }
    }

    /// Keeps what a user consented to. `None` if it is a long list that was not registered.
    pub(crate) fn consented(&self, scope: ResourceScope) -> Option<ConsentedResources> {
        ConsentedResources::new(scope, self.lists())
    }

    /// Returns what a user consented to. It reaches no named resource if the client does not have its list.
    pub(crate) fn resources_of<'c>(&self, consented: &'c ConsentedResources) -> Cow<'c, ResourceScope> {
        consented.scope(self.list_of(consented))
    }

    /// Returns whether a consent covers `resource`, ignoring what is registered now.
    pub(crate) fn covers(&self, consented: &ConsentedResources, resource: Resource<'_>) -> bool {
        consented.permits(self.list_of(consented), resource)
    }

    /// Returns whether the client has the list that a consent refers to, if it refers to any.
    pub(crate) fn has_list_of(&self, consented: &ConsentedResources) -> bool {
        consented.list().is_none() || self.list_of(consented).is_some()
    }

    fn list_of(&self, consented: &ConsentedResources) -> Option<&ResourceList> {
        let digest = consented.list()?;
        self.lists().find(|list| list.digest() == digest)
    }

    /// The list in force, then the former ones, the last one first.
    fn lists(&self) -> impl Iterator<Item = &ResourceList> {
        let in_force = match &self.resource_scope {
            ResourceScope::Specified(list) => Some(list),
            ResourceScope::All | ResourceScope::Public => None,
        };
        in_force.into_iter().chain(self.former_resources.iter().rev())
    }
}
