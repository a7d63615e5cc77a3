//! What an access token grants, for the response to introspection [RFC 7662 section 2.2] and for the claims of a JWT [RFC 9068
//! section 2.2].

use crate::context::Context;
use crate::model::client::Client;
use crate::model::protected_resource::Target;
use crate::model::{AccessRecord, Grant};
use crate::scope::{ResourceScope, ScopeSet};

/// What a live token grants at some of its resources.
pub(crate) struct DescribedToken {
    /// None if those resources serve none of its scopes. They answer that they need more.
    pub(crate) scopes: ScopeSet,
    /// The user's resources that the client may still have.
    pub(crate) resources: ResourceScope,
}

impl DescribedToken {
    /// Describes a token as the resources in `seen` may see it. `None` if the catalog and the registration no longer have any
    /// of its scopes.
    pub(crate) fn of(
        context: &Context,
        grant: &Grant,
        client: &Client,
        access: &AccessRecord,
        seen: &Target<'_>,
    ) -> Option<Self> {
        let scopes = grant.scopes_left(access, client);
        if !context.config.scopes.knows_any(&scopes) {
            return None;
        }
        let [granted, bound] = grant.resources_left(client);
        Some(Self { scopes: seen.served_of(scopes), resources: granted.reduced_to(bound) })
    }

    /// Returns the scopes as text; `None` if there are none.
    pub(crate) fn scope(&self, context: &Context) -> Option<String> {
        Some(context.config.scopes.to_wire(&self.scopes).into_owned()).filter(|scope| !scope.is_empty())
    }

    /// Returns the names of the resources, if they are named.
    pub(crate) fn resource_names(&self) -> Option<Vec<String>> {
        match &self.resources {
            ResourceScope::Specified(list) => Some(list.iter().map(str::to_owned).collect()),
            ResourceScope::All | ResourceScope::Public => None,
        }
    }
}
