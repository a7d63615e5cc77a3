//! The clients, by id.

use std::collections::HashMap;
use std::sync::RwLock;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::world::Credentials;

pub(super) struct Clients(RwLock<Rows>);

struct Rows {
    places: HashMap<Box<[u8]>, usize>,
    rows: Vec<Client>,
}

struct Client {
    secret: [u8; 32],
    approved: bool,
    /// What a redirect URI begins with.
    origin: Box<[u8]>,
}

impl Clients {
    pub(super) fn new(client: &Credentials) -> Self {
        let secret = Sha256::digest(&client.secret).into();
        let row = Client { secret, approved: true, origin: (*b"https://app.example.com/").into() };
        Self(RwLock::new(Rows { places: HashMap::from([(client.id.as_bytes().into(), 0)]), rows: vec![row] }))
    }

    /// The approved client of that id.
    pub(super) fn named(&self, id: &[u8]) -> Option<usize> {
        let rows = self.0.read().expect("no thread panics");
        let place = *rows.places.get(id)?;
        rows.rows[place].approved.then_some(place)
    }

    /// The approved client of that id, if the secret is its own.
    pub(super) fn proven(&self, id: &[u8], secret: &[u8]) -> Option<usize> {
        let presented: [u8; 32] = Sha256::digest(secret).into();
        let rows = self.0.read().expect("no thread panics");
        let place = *rows.places.get(id)?;
        let client = &rows.rows[place];
        (same(&client.secret, &presented) && client.approved).then_some(place)
    }

    pub(super) fn is_approved(&self, place: usize) -> bool {
        self.0.read().expect("no thread panics").rows[place].approved
    }

    pub(super) fn leads_to(&self, place: usize, redirect_uri: &[u8]) -> bool {
        redirect_uri.starts_with(&self.0.read().expect("no thread panics").rows[place].origin)
    }
}

pub(super) fn same(one: &[u8], other: &[u8]) -> bool {
    one.ct_eq(other).into()
}
