//! The smallest store that passes the kit, and a flow on it: `cargo run --example custom_store`.
//!
//! One lock is held from the comparison to the write. A database uses a transaction for that. Its tests:
//! `cargo test --features testing --example custom_store`.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard};

use grantor::Timestamp;
use grantor::store::{Engine, Insertion, List, Purge, Replacement, Row, Store, StoreError, Table, Write};

#[derive(Clone, Debug, Default)]
struct CustomStore(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    rows: BTreeMap<(Table, Vec<u8>), Write>,
}

impl CustomStore {
    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap()
    }

    /// Writes the row if the stored row is the expected one, and returns whether it did.
    fn put_if(&self, write: Write, is_expected: impl Fn(Option<&Write>) -> bool) -> bool {
        let rows = &mut self.contents().rows;
        let key = (write.table, write.key.clone());
        let puts = is_expected(rows.get(&key));
        if puts {
            rows.insert(key, write);
        }
        puts
    }
}

impl Store for CustomStore {
    fn reads_settled(&self) -> bool {
        true
    }
}

impl Engine for CustomStore {
    async fn find(&self, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.contents().rows.get(&(table, key.to_vec())).map(|row| row.record.clone()))
    }

    async fn insert(&self, write: Write) -> Result<Insertion, StoreError> {
        Ok(if self.put_if(write, |row| row.is_none()) { Insertion::Inserted } else { Insertion::Exists })
    }

    async fn replace(&self, version: u32, write: Write) -> Result<Replacement, StoreError> {
        let has_version = |row: Option<&Write>| row.is_some_and(|row| row.version == version);
        Ok(if self.put_if(write, has_version) { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn confirm(&self, write: Write) -> Result<Replacement, StoreError> {
        let same = write.clone();
        let is_same = |row: &Write| row.version == same.version && row.record == same.record;
        let is_same = self.put_if(write, |row| row.is_some_and(is_same));
        Ok(if is_same { Replacement::Replaced } else { Replacement::Lost })
    }

    async fn list(&self, list: &List, after: Option<&[u8]>, limit: usize) -> Result<Vec<Row>, StoreError> {
        // A database has an index on the name of the list and the key.
        let rows = &self.contents().rows;
        let start = (list.table, after.unwrap_or_default().to_vec());
        let behind = rows.range((Bound::Excluded(start), Bound::Unbounded)).map(|(_, row)| row);
        let listed = behind.filter(|row| row.table == list.table && row.lists.contains(&list.name)).take(limit);
        Ok(listed.map(|row| Row::new(row.key.clone(), row.record.clone())).collect())
    }

    async fn purge(&self, table: Table, now: Timestamp, limit: usize) -> Result<Purge, StoreError> {
        // A database has an index on `due`.
        let rows = &mut self.contents().rows;
        let due = rows.iter().filter(|(key, row)| key.0 == table && row.due.is_some_and(|due| due <= now));
        let keys: Vec<_> = due.take(limit).map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| drop(rows.remove(key)));
        let purge = Purge::new(keys.len());
        Ok(if keys.len() < limit { purge.finished() } else { purge })
    }
}

#[cfg(all(test, feature = "testing"))]
grantor::store_tests!(#[tokio::test] => store: CustomStore::default(), another: store.clone());

// The flow.

use std::error::Error;

use grantor::application::Logo;
use grantor::scope::ResourceScope;
use grantor::store::{Authorization, Grant, Page, RecordStore};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{ApplicationForm, Approval, AuthorizationServer, ClientId, Config, Consent, Decision, Subject};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = CustomStore::default();
    let server = AuthorizationServer::new(Config::strict("https://auth.example"), store.clone())?;
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
    println!(
        "consented      {} authorization",
        RecordStore::<Authorization>::list(&store, user.as_str(), Page::first(10)).await?.len()
    );

    let form = format!("grant_type=authorization_code&code={code}&client_id={id}&client_secret={secret}");
    let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
    let response = server.serve(Endpoint::Token, &request.body(Body::Bytes(form.as_bytes()))).await;
    println!("exchanged      status {}", response.status());

    for grant in server.grants_of(&user).await? {
        server.revoke_grant(grant.id(), &user).await?;
    }
    let revoked = RecordStore::<Grant>::list(&store, user.as_str(), Page::first(10))
        .await?
        .iter()
        .filter(|grant| grant.revoked().is_some())
        .count();
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
    let developer = Subject::new("developer")?;
    let id = registrar.submit(developer.clone(), form, Some(logo)).await?;
    registrar.approve(&id, registrar.application(&id).await?.version(), Approval::default()).await?;
    let secret = registrar.claim_secret(&id, &developer, registrar.application(&id).await?.version()).await?;
    Ok((id, secret.expose().to_owned()))
}
