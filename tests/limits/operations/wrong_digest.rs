//! Requests with a secret whose digest is wrong in one byte alone: which byte that is must not change their cost. It is
//! infeasible to find such secrets, so the digest in the record is altered.

use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;
use grantor::store::{ClientStore, StoreError, Stores};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, MemoryStore};
use sha2::{Digest as _, Sha256};

use crate::service::{FORM, ready};

const SECRET: &str = "yrAyiBTvGQ2rxwhYCONygGsyNH6ye5UOiza5GUOudCq";
const BODY: &str = "grant_type=refresh_token&refresh_token=x&client_id=client&client_secret=";

/// A directory with one client.
#[derive(Debug)]
struct One(Arc<Client>);

#[async_trait]
impl ClientStore for One {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok((id == self.0.id()).then(|| Arc::clone(&self.0)))
    }
}

/// A server with a client whose stored digest is wrong in one byte.
pub(crate) struct WrongDigest(AuthorizationServer);

impl WrongDigest {
    pub(crate) fn at(place: usize) -> Self {
        let id = ClientId::new("client").expect("an id");
        let client = Client::builder(id).secret(&ClientSecret::new(SECRET)).expect("a secret").build();
        let digest = Sha256::digest(SECRET);
        let mut record = client.encode();
        let start = record.windows(32).position(|window| window == &digest[..]).expect("the record holds the digest");
        record[start + place] ^= 1;
        let stores = Stores::new(MemoryStore::new()).with_clients(One(Arc::new(Client::decode(&record).expect("it"))));
        Self(AuthorizationServer::new(Config::platform("https://auth.example"), stores).expect("the settings agree"))
    }

    #[inline(never)]
    pub(crate) fn in_first_byte(&self) {
        self.refuses("in_first_byte");
    }

    #[inline(never)]
    pub(crate) fn in_last_byte(&self) {
        self.refuses("in_last_byte");
    }

    /// The name keeps the compiler from merging functions that look the same.
    #[inline(always)]
    fn refuses(&self, name: &str) {
        black_box(name);
        let body = format!("{BODY}{SECRET}");
        let request = Request::new("POST").header("Content-Type", FORM).body(Body::Bytes(body.as_bytes()));
        assert_eq!(ready(self.0.serve(Endpoint::Token, &request)).status(), 401);
    }
}

/// As a control, comparisons that end at the first wrong byte.
#[inline(never)]
pub(crate) fn early_in_first_byte(right: &[u8; 32]) {
    ends_early("early_in_first_byte", right, 0);
}

#[inline(never)]
pub(crate) fn early_in_last_byte(right: &[u8; 32]) {
    ends_early("early_in_last_byte", right, 31);
}

#[inline(always)]
fn ends_early(name: &str, right: &[u8; 32], place: usize) {
    black_box(name);
    let mut sent = *right;
    sent[black_box(place)] ^= 1;
    assert!(sent.iter().zip(right).take_while(|(sent, right)| black_box(sent) == right).count() < 32);
}
