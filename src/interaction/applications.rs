//! The page with the applications that a user has authorized, one entry for each.

use std::sync::Arc;

use crate::authorization::pending::RequestedScope;
use crate::authorization::signed_in::SignedIn;
use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, GrantId, Subject};
use crate::interaction::flow::{Flow, Step, Visitor, body};
use crate::interaction::page::{ApplicationsPage, ConnectedApplication, Reviewed};
use crate::interaction::return_to::{ReturnTo, Route};
use crate::model::client::{Client, ClientState};
use crate::scope::{ResourceScope, ScopeCatalog, ScopeSet};
use crate::server::AuthorizationServer;
use crate::store::StoreError;
use crate::wire::page::ErrorKind;
use crate::wire::params::Fields;
use crate::wire::{RedirectStatus, Request, Response};

impl Flow {
    /// Lists the authorized applications, or revokes one.
    pub(super) async fn applications(&self, request: &Request<'_>, visitor: &Visitor<'_>) -> Step {
        let path = self.path(Route::Applications);
        let Some(user) = visitor.user else { return Step::SignIn(ReturnTo::of(&path, b"")) };
        let answer = match body(request).filter(|_| request.method == "POST") {
            Some(form) => self.revoke(form, user, visitor, &path).await,
            None if request.method == "POST" => Ok(self.error(400, ErrorKind::MalformedForm, visitor)),
            None => self.list(request, user, visitor, &path).await,
        };
        Step::Respond(answer.unwrap_or_else(|_| self.error(503, ErrorKind::Unavailable, visitor)))
    }

    async fn list(
        &self,
        request: &Request<'_>,
        user: &SignedIn,
        visitor: &Visitor<'_>,
        path: &str,
    ) -> Result<Response, StoreError> {
        let mut shown = Vec::new();
        for (id, own) in read(&self.server, user.subject()).await? {
            let application = self.application(&id).await?;
            let client = match &application {
                // It has the client, as it is now.
                Some(application) => Some(Arc::clone(application.client())),
                None => self.server.client(&id).await?,
            };
            let client = client.filter(|client| client.state != ClientState::Deleted);
            let reviewed = match &client {
                Some(client) if !client.is_unreviewed() => Some(self.described(client, application).await),
                Some(_) | None => None,
            };
            shown.push(joined(&own, id, client, reviewed, &self.server.config().scopes));
        }
        let html = self.pages.applications(&ApplicationsPage {
            languages: visitor.languages,
            user,
            applications: &shown,
            action: path,
            form_token: &visitor.browser.form_token(user.subject()),
            is_revoked: request.query == revoked(visitor, user).as_bytes(),
            now: self.server.context.now(),
        });
        Ok(self.page(200, html, ""))
    }

    async fn revoke(
        &self,
        form: &[u8],
        user: &SignedIn,
        visitor: &Visitor<'_>,
        path: &str,
    ) -> Result<Response, StoreError> {
        let fields = Fields::read(form);
        let client = ClientId::new(fields.first("client_id")).ok();
        let client = client.filter(|_| visitor.browser.accepts(fields.first("token"), user.subject()));
        let Some(client) = client else { return Ok(self.error(400, ErrorKind::MalformedForm, visitor)) };
        self.server.revoke_application(user.subject(), &client).await?;
        Ok(Response::redirect(RedirectStatus::SeeOther, format!("{path}?{}", revoked(visitor, user))))
    }
}

/// Returns the query after an application was revoked. No other site knows it, so none can make the page say so.
fn revoked(visitor: &Visitor<'_>, user: &SignedIn) -> String {
    format!("revoked={}", visitor.browser.token("after a revocation", user.subject()))
}

/// What one grant, or one approved request, gives an application.
pub(super) struct Access {
    id: GrantId,
    client: ClientId,
    scopes: ScopeSet,
    resources: ResourceScope,
    renewed: Option<Timestamp>,
}

/// Reads what a subject has authorized, by client: the grants, then approved requests that are not yet grants.
///
/// # Errors
///
/// [`StoreError`] if a list cannot be read. A partial list would hide an application that has access.
pub(super) async fn read(
    server: &AuthorizationServer,
    subject: &Subject,
) -> Result<Vec<(ClientId, Vec<Access>)>, StoreError> {
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
    Ok(by_client(all))
}

/// Groups by client, in the order in which the clients first appear.
fn by_client(all: Vec<Access>) -> Vec<(ClientId, Vec<Access>)> {
    let mut groups: Vec<(ClientId, Vec<Access>)> = Vec::new();
    for access in all {
        match groups.iter_mut().find(|(id, _)| *id == access.client) {
            Some((_, own)) => own.push(access),
            None => groups.push((access.client.clone(), vec![access])),
        }
    }
    groups
}

/// Joins all that one client may do.
pub(super) fn joined<'a>(
    own: &[Access],
    client_id: ClientId,
    client: Option<Arc<Client>>,
    reviewed: Option<Reviewed>,
    catalog: &'a ScopeCatalog,
) -> ConnectedApplication<'a> {
    // The registration limits what tokens can do. Those of a removed client can do nothing.
    let form = client.as_deref().map(Client::form);
    let scopes: Vec<_> = own
        .iter()
        .map(|access| form.map_or_else(ScopeSet::default, |form| access.scopes.intersection(&form.scopes)))
        .collect();
    let mut resources = Vec::new();
    for access in own {
        let left = form.map_or_else(ResourceScope::none, |form| access.resources.reduced_to(&form.resource_scope));
        if !left.is_empty() && !resources.contains(&left) {
            resources.push(left);
        }
    }
    let scopes = catalog.union(&scopes.iter().collect::<Vec<_>>());
    let scopes = RequestedScope::each(catalog, &scopes).collect();
    let renewed = own.iter().filter_map(|access| access.renewed).max();
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
        let groups = by_client(all.into());
        assert_eq!(groups.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["one", "other"]);
        let [(one_id, one), (other_id, other)] = &groups[..] else { panic!("two clients") };
        let client = Client::builder(one_id.clone())
            .scopes(ScopeSet::from_canonical("repo-code:rw account-email:rw"))
            .resource_scope(ResourceScope::All)
            .build();
        let one = joined(one, one_id.clone(), Some(Arc::new(client)), None, &catalog);
        let tokens: Vec<_> = one.scopes.iter().map(RequestedScope::token).collect();
        assert_eq!(tokens, ["repo-code:rw", "account-email:r"]);
        assert_eq!(one.resources, [ResourceScope::All, ResourceScope::Public]);
        assert_eq!(one.renewed, Some(Timestamp::from_seconds(30)));
        let removed = joined(other, other_id.clone(), None, None, &catalog);
        assert_eq!((removed.scopes.len(), removed.resources.len()), (0, 0));
    }
}
