//! Clients whose stored digest differs in one byte from that of the secret that is sent. It is infeasible to find
//! secrets with such digests.

use grantor::store::Stores;
use grantor::{AuthorizationServer, Client, ClientId, ClientSecret, Config, MemoryStore};
use sha2::{Digest as _, Sha256};
use support::directory::Directory;

/// The number of clients for each byte.
const CLIENTS: usize = 244;
const SECRET: &str = "yrAyiBTvGQ2rxwhYCONygGsyNH6ye5UOiza5GUOudCq";

/// A server, and the forms of clients whose digest is wrong at either place.
pub(crate) fn wrong_at(places: [usize; 2]) -> (AuthorizationServer, [Vec<Vec<u8>>; 2]) {
    let directory = Directory::default();
    let forms = places.map(|place| {
        let number = |number| {
            let id = ClientId::new(format!("client-{place:02}-{number:03}")).unwrap();
            let form = format!("grant_type=refresh_token&refresh_token=x&client_id={id}&client_secret={SECRET}");
            let client = Client::builder(id).secret(&ClientSecret::new(SECRET)).unwrap().build();
            directory.put(with_digest_wrong_at(&client, place));
            form.into_bytes()
        };
        (0..CLIENTS).map(number).collect()
    });
    let stores = Stores::new(MemoryStore::new()).with_clients(directory);
    let server = AuthorizationServer::new(Config::platform("https://auth.example"), stores).unwrap();
    (server, forms)
}

fn with_digest_wrong_at(client: &Client, place: usize) -> Client {
    let digest = Sha256::digest(SECRET);
    let mut bytes = client.encode();
    let start = bytes.windows(32).position(|window| window == &digest[..]).expect("the record holds the digest");
    bytes[start + place] ^= 1;
    Client::decode(&bytes).unwrap()
}
