//! The smallest store that passes the kit, and a flow on it: `cargo run --example custom_store`.
//!
//! One lock, held from comparison to write, is what a database does with a transaction. Its tests: `cargo test --features testing --example custom_store`.

use std::collections::BTreeSet;
use std::collections::btree_map::{BTreeMap, Entry};
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use grantor::scope::ResourceScope;
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Grant, Insertion, LogoWrite, Page, Purge, Registration,
    Replacement, StoreError, TokenStore,
};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{
    Application, ApplicationFilter, ApplicationForm, Approval, AuthorizationId, AuthorizationServer, Client, ClientId,
    Consent, Decision, GrantId, Logo, LogoSlot, Subject, Timestamp,
};

#[derive(Clone, Debug, Default)]
struct CustomStore(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    clients: BTreeMap<ClientId, Registration>,
    codes: BTreeMap<AuthorizationId, Arc<Authorization>>,
    tokens: BTreeMap<GrantId, Arc<Grant>>,
    /// Never later than the row's own `purge_after`; moved when the purge meets the row.
    codes_due: BTreeSet<(Timestamp, AuthorizationId)>,
    tokens_due: BTreeSet<(Timestamp, GrantId)>,
}

impl CustomStore {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap()
    }
}

/// Both stores of records are the same but for the names.
macro_rules! store_of_records {
    ($trait:ident, $id:ident, $record:ident, $rows:ident, $due:ident, $list:ident) => {
        #[async_trait]
        impl $trait for CustomStore {
            async fn find(&self, id: &$id) -> Result<Option<Arc<$record>>, StoreError> {
                Ok(self.contents().$rows.get(id).cloned())
            }
            async fn insert(&self, record: Arc<$record>) -> Result<Insertion, StoreError> {
                let contents = &mut *self.contents();
                let place = contents.$rows.entry(record.id());
                let Entry::Vacant(place) = place else { return Ok(Insertion::Exists) };
                contents.$due.insert((record.purge_after(), record.id()));
                place.insert(record);
                Ok(Insertion::Inserted)
            }
            async fn replace(&self, version: u32, record: Arc<$record>) -> Result<Replacement, StoreError> {
                match self.contents().$rows.get_mut(&record.id()) {
                    Some(row) if row.version() == version => *row = record,
                    _ => return Ok(Replacement::Lost),
                }
                Ok(Replacement::Replaced)
            }
            async fn $list(&self, subject: &Subject, page: Page<$id>) -> Result<Vec<Arc<$record>>, StoreError> {
                // A database has an index on subject and id.
                let contents = self.contents();
                let own = contents.$rows.values().filter(|row| row.subject() == subject && page.admits(&row.id()));
                Ok(own.take(page.limit()).cloned().collect())
            }
            async fn purge_expired(&self, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
                let contents = &mut *self.contents();
                let mut removed = 0;
                for _ in 0..limit {
                    let Some(&(due, id)) = contents.$due.first().filter(|(due, _)| *due <= now) else {
                        return Ok(Purge::new(removed).finished());
                    };
                    contents.$due.remove(&(due, id));
                    let end = contents.$rows[&id].purge_after();
                    if now < end {
                        contents.$due.insert((end, id));
                    } else {
                        contents.$rows.remove(&id);
                        removed += 1;
                    }
                }
                Ok(Purge::new(removed))
            }
        }
    };
}

store_of_records!(CodeStore, AuthorizationId, Authorization, codes, codes_due, authorizations_of);
store_of_records!(TokenStore, GrantId, Grant, tokens, tokens_due, grants_of);

#[async_trait]
impl ClientStore for CustomStore {
    async fn find(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        self.current(id).await
    }
    async fn current(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(self.contents().clients.get(id).map(|row| Arc::new(row.client.clone())))
    }
}

#[async_trait]
impl ClientRegistry for CustomStore {
    async fn insert(&self, registration: Registration) -> Result<Insertion, StoreError> {
        let mut contents = self.contents();
        let place = contents.clients.entry(registration.client.id().clone());
        let Entry::Vacant(place) = place else { return Ok(Insertion::Exists) };
        place.insert(registration);
        Ok(Insertion::Inserted)
    }
    async fn replace(&self, version: u32, mut next: Registration) -> Result<Replacement, StoreError> {
        let mut contents = self.contents();
        let row = contents.clients.get_mut(next.client.id()).filter(|row| row.client.version() == version);
        let Some(row) = row else { return Ok(Replacement::Lost) };
        for (logo, before) in [(&mut next.logo, &row.logo), (&mut next.proposed_logo, &row.proposed_logo)] {
            if matches!(logo, LogoWrite::Keep) {
                *logo = before.clone();
            }
        }
        *row = next;
        Ok(Replacement::Replaced)
    }
    async fn application(&self, id: &ClientId) -> Result<Option<Arc<Application>>, StoreError> {
        Ok(self.contents().clients.get(id).map(|row| Arc::new(row.application.clone())))
    }
    async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Result<Option<Arc<Logo>>, StoreError> {
        let contents = self.contents();
        Ok(contents.clients.get(id).and_then(|row| match (slot, &row.logo, &row.proposed_logo) {
            (LogoSlot::InForce, LogoWrite::Put(logo), _) | (LogoSlot::Proposed, _, LogoWrite::Put(logo)) => {
                Some(logo.clone())
            }
            _ => None,
        }))
    }
    async fn list(
        &self,
        filter: &ApplicationFilter,
        page: Page<ClientId>,
    ) -> Result<Vec<Arc<Application>>, StoreError> {
        let contents = self.contents();
        let all = contents.clients.values().map(|row| &row.application).filter(|own| page.admits(own.id()));
        let listed = all.filter(|own| own.filters().any(|own| own == *filter));
        Ok(listed.take(page.limit()).map(|own| Arc::new(own.clone())).collect())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = CustomStore::default();
    let server = AuthorizationServer::builder(store.clone()).issuer("https://auth.example").build()?;
    let (id, secret) = register(&server).await?;
    println!("registered     {id}");

    let (user, session) = (Subject::new("alice")?, b"value of the session cookie");
    let query = format!("response_type=code&client_id={id}");
    let pending = server.authorize(&Request::new("GET").query(query.as_bytes())).await?;
    let handle = server.hold(&pending, &user, session).await?;
    let consent = Decision::Approve(Consent::to_everything());
    let redirect = server.decide(handle.expose(), &user, session, &consent).await?;
    let location = redirect.header("Location").unwrap_or_default();
    let code = location.split(['=', '&']).nth(1).unwrap_or_default();
    println!("consented      {} authorization", store.authorizations_of(&user, Page::first(10)).await?.len());

    let form = format!("grant_type=authorization_code&code={code}&client_id={id}&client_secret={secret}");
    let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
    let response = server.serve(Endpoint::Token, &request.body(Body::Octets(form.as_bytes()))).await;
    println!("exchanged      status {}", response.status());

    for grant in server.grants_of(&user).await? {
        server.revoke_grant(grant.id(), &user).await?;
    }
    let revoked =
        store.grants_of(&user, Page::first(10)).await?.iter().filter(|grant| grant.revoked().is_some()).count();
    println!("withdrawn      {revoked} grant");
    Ok(())
}

async fn register(server: &AuthorizationServer) -> Result<(ClientId, String), Box<dyn Error>> {
    let registrar = server.registrar().ok_or("the store takes no registrations")?;
    let mut form = ApplicationForm::new("Example", "https://app.example");
    form.redirect_uris = vec!["https://app.example/callback".to_owned()];
    form.scopes = "account-profile:r".to_owned();
    form.resource_scope = Some(ResourceScope::All);
    let logo = Logo::new(*b"GIF89a\x01\0\x01\0\0\0\0", registrar.limits())?;
    let id = registrar.submit(Subject::new("developer")?, form, Some(logo)).await?;
    let approved = registrar.approve(&id, 1, Approval::default()).await?;
    let secret = approved.client_secret().ok_or("a confidential client has a secret")?;
    Ok((id, secret.expose().to_owned()))
}

#[cfg(all(test, feature = "testing"))]
grantor::store_tests!(#[tokio::test] => store: CustomStore::default(), another: store.clone());
