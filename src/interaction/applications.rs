//! The applications that a user has authorized, one entry for each.

use std::sync::Arc;

use crate::authorization::pending::RequestedScope;
use crate::clock::Timestamp;
use crate::interaction::page::{ConnectedApplication, Reviewed};
use crate::model::client::Client;
use crate::model::id::{ClientId, GrantId};
use crate::model::subject::Subject;
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use crate::server::AuthorizationServer;
use crate::store::StoreError;

/// What one grant, or one approved request, gives an application.
pub(super) struct Access {
    id: GrantId,
    client: ClientId,
    scopes: ScopeSet,
    resources: ResourceScope,
    renewed: Option<Timestamp>,
}

/// Reads what a subject has authorized: the grants, then approved requests that are not yet grants.
///
/// # Errors
///
/// [`StoreError`] if a list cannot be read. A partial list would hide an application that has access.
pub(super) async fn read(server: &AuthorizationServer, subject: &Subject) -> Result<Vec<Access>, StoreError> {
    // Read before the grants: an approval that becomes a grant in between is found twice, but not missed.
    let approved = server.authorizations_of(subject).await?;
    let grants = server.grants_of(subject).await?;
    let mut all: Vec<_> = grants
        .iter()
        .map(|grant| Access {
            id: grant.id(),
            client: grant.client().clone(),
            scopes: grant.scopes().clone(),
            resources: grant.resource_scope().clone(),
            renewed: Some(grant.refreshed()),
        })
        .collect();
    for approved in approved {
        let id = approved.id().into();
        if all.iter().all(|access| access.id != id) {
            let (client, scopes) = (approved.client().clone(), approved.scopes().clone());
            all.push(Access { id, client, scopes, resources: approved.resource_scope().clone(), renewed: None });
        }
    }
    Ok(all)
}

/// Returns the ids of the clients, each once.
pub(super) fn clients(all: &[Access]) -> Vec<ClientId> {
    let mut ids = Vec::new();
    for access in all {
        if !ids.contains(&access.client) {
            ids.push(access.client.clone());
        }
    }
    ids
}

/// Joins all that one client may do.
pub(super) fn joined<'a>(
    all: &[Access],
    client_id: ClientId,
    client: Option<Arc<Client>>,
    reviewed: Option<Reviewed>,
    catalog: &'a ScopeCatalog,
) -> ConnectedApplication<'a> {
    let own = || all.iter().filter(|access| access.client == client_id);
    // The registration limits what tokens can do. Those of a removed client can do nothing.
    let form = client.as_deref().map(Client::form);
    let scopes: Vec<_> = own()
        .map(|access| form.map_or_else(ScopeSet::default, |form| access.scopes.intersection(&form.scopes)))
        .collect();
    let mut resources = Vec::new();
    for access in own() {
        let left = form.map_or_else(ResourceScope::none, |form| access.resources.reduced_to(&form.resource_scope));
        if !left.is_empty() && !resources.contains(&left) {
            resources.push(left);
        }
    }
    let scopes = catalog.union(&scopes.iter().collect::<Vec<_>>());
    let scopes = RequestedScope::each(catalog, &scopes).collect();
    let renewed = own().filter_map(|access| access.renewed).max();
    ConnectedApplication { client_id, client, reviewed, scopes, resources, renewed }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(id: u8, client: &str, scopes: &str, resources: ResourceScope, renewed: Option<u32>) -> Access {
        Access {
            id: GrantId::from_bytes([id; 16]),
            client: ClientId::new(client).unwrap(),
            scopes: ScopeSet::from_canonical(scopes),
            resources,
            renewed: renewed.map(Timestamp::from_seconds),
        }
    }

    /// The registration allows less than was granted once.
    #[test]
    fn grants_of_one_client_are_one_entry() {
        let catalog = ScopeCatalog::platform();
        let all = [
            access(1, "one", "repo-code:r", ResourceScope::All, Some(10)),
            access(2, "other", "repo-pr:r", ResourceScope::All, Some(40)),
            access(3, "one", "repo-code:rw account-email:r repo-delete:rw", ResourceScope::Public, Some(30)),
            access(4, "one", "account-email:r", ResourceScope::All, None),
        ];
        let ids = clients(&all);
        assert_eq!(ids.iter().map(ClientId::as_str).collect::<Vec<_>>(), ["one", "other"]);
        let client = Client::builder(ids[0].clone())
            .scopes(ScopeSet::from_canonical("repo-code:rw account-email:rw"))
            .resource_scope(ResourceScope::All)
            .build();
        let one = joined(&all, ids[0].clone(), Some(Arc::new(client)), None, &catalog);
        let tokens: Vec<_> = one.scopes.iter().map(RequestedScope::token).collect();
        assert_eq!(tokens, ["repo-code:rw", "account-email:r"]);
        assert_eq!(one.resources, [ResourceScope::All, ResourceScope::Public]);
        assert_eq!(one.renewed, Some(Timestamp::from_seconds(30)));
        let removed = joined(&all, ids[1].clone(), None, None, &catalog);
        assert_eq!((removed.scopes.len(), removed.resources.len()), (0, 0));
    }
}
