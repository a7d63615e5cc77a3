//! Assertions and proofs, each beside the bare check of its signature, and a DPoP-bound token beside an unbound one.

use std::hint::black_box;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use grantor::client::{AuthenticationMethod, AuthenticationMethods, ClientKeys, GrantType, GrantTypes};
use grantor::config::DpopBoundTokens;
use grantor::jose::JwkSet;
use grantor::scope::{ResourceScope, ScopeCatalog};
use grantor::store::{Insertion, RecordStore, Replay, Stores};
use grantor::testing::ManualClock;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{AuthorizationServer, Client, ClientId, Config, MemoryStore, Timestamp};
use ring::signature::{RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::Value;
use support::directory::Directory;
use support::keys::{Signer, token_hash};

use crate::heap;
use crate::measure::{Lap, in_turns, timed};
use crate::options::Options;
use crate::report::{Figure, Goal, Report, Unit};
use crate::world::{SCOPES, START, ready};

const ISSUER: &str = "https://auth.example";
const CLIENT: &str = "client";
const PATH: &str = "/api/me";
const FORM: &[u8] = b"application/x-www-form-urlencoded";
/// Operations of a round. Each takes up to a tenth of a millisecond, and needs its own signed token.
const OPERATIONS: usize = 100;

pub(crate) fn measure(options: &Options, report: &mut Report) {
    for signer in [Signer::es256(), Signer::ps256(), Signer::ed25519()] {
        let world = World::new(&signer);
        assertions(&world, options, report);
        proofs(&world, signer.algorithm(), options, report);
    }
    proofs(&World::new(&Signer::largest_of_proofs()), "the largest key", options, report);
    largest_key_of_assertions(options, report);
    uses(options, report);
}

/// Revokes unknown tokens, so the cost is that of the client's assertion.
fn assertions(world: &World, options: &Options, report: &mut Report) {
    let assertions = Signed::new(options, || world.assertion());
    let forms: Vec<_> = assertions.texts.iter().map(|assertion| world.form(assertion, "token=x")).collect();
    let mut next = 0;
    let mut own = || {
        let forms = batch(&forms, &mut next);
        let ((), time) = timed(|| forms.iter().for_each(|form| revoke(world, form)));
        Lap { operations: forms.len() as u64, time }
    };
    let times = in_turns(options.short_rounds(), &mut [&mut own, &mut || assertions.bare(&world.signer)]);
    let algorithm = world.signer.algorithm();
    let figure = Figure::new(format!("signatures/assertion/{algorithm}"), times[0], Unit::Nanoseconds);
    report.add(figure.beside("ring", times[1]).goal(Goal::AtMost(1.5)));
    let rest = &forms[next..];
    let allocations = heap::allocations(rest.iter().map(|form| revoke(world, form)));
    report.add(Figure::new(format!("signatures/assertion/allocations/{algorithm}"), allocations, Unit::Allocations));
}

/// Requests to a resource with a DPoP-bound token and a proof, beside the signature of the proof and an unbound token.
fn proofs(world: &World, key: &str, options: &Options, report: &mut Report) {
    let proof = world.signer.proof("POST", &format!("{ISSUER}/oauth2/token"), START.into(), |_, _| {});
    let (bound, unbound) = (world.token(Some(&proof)), world.token(None));
    let proofs = Signed::new(options, || world.proof(&bound));
    let (bound, unbound) = (format!("DPoP {bound}"), format!("Bearer {unbound}"));
    let mut next = 0;
    let mut own = || {
        let proofs = batch(&proofs.texts, &mut next);
        let ((), time) = timed(|| proofs.iter().for_each(|proof| world.show(&bound, Some(proof))));
        Lap { operations: proofs.len() as u64, time }
    };
    let mut without = || {
        let ((), time) = timed(|| (0..OPERATIONS * 10).for_each(|_| world.show(&unbound, None)));
        Lap { operations: OPERATIONS as u64 * 10, time }
    };
    let rounds = options.short_rounds();
    let times = in_turns(rounds, &mut [&mut own, &mut || proofs.bare(&world.signer), &mut without]);
    let figure = |id: &str| Figure::new(format!("signatures/{id}/{key}"), times[0], Unit::Nanoseconds);
    report.add(figure("proof").beside("ring", times[1]).goal(Goal::AtMost(1.5)));
    report.add(figure("DPoP-bound token").beside("unbound", times[2]));
    let rest = &proofs.texts[next..];
    let allocations = heap::allocations(rest.iter().map(|proof| world.show(&bound, Some(proof))));
    report.add(Figure::new(format!("signatures/proof/allocations/{key}"), allocations, Unit::Allocations));
}

/// Checks a wrong signature of the largest key that a client may register: 8192 bits, and the largest exponent. ring
/// notices that it is wrong after the whole calculation.
fn largest_key_of_assertions(options: &Options, report: &mut Report) {
    let key = RsaPublicKeyComponents { n: vec![0xff; 1024], e: vec![0xff; 4] };
    let mut signature = [0xff; 1024];
    signature[0] = 0x7f;
    let mut check = || {
        let ((), time) = timed(|| {
            for _ in 0..OPERATIONS {
                black_box(key.verify(&RSA_PSS_2048_8192_SHA256, b"signed", &signature)).expect_err("it is wrong");
            }
        });
        Lap { operations: OPERATIONS as u64, time }
    };
    let times = in_turns(options.short_rounds(), &mut [&mut check]);
    report.add(Figure::new("signatures/assertion/ring, the largest key", times[0], Unit::Nanoseconds));
}

/// Records in memory that an identifier was used.
fn uses(options: &Options, report: &mut Report) {
    let store = MemoryStore::new();
    let mut number = 0_u64;
    let mut insert = || {
        let count = options.operations() as u64;
        let ((), time) = timed(|| {
            for _ in 0..count {
                number += 1;
                let replay = Replay::new(&[CLIENT.as_bytes(), &number.to_be_bytes()], Timestamp::from_seconds(START));
                let inserted =
                    ready(RecordStore::<Replay>::insert(&store, Arc::new(replay))).expect("memory does not fail");
                assert_eq!(inserted, Insertion::Inserted);
            }
        });
        Lap { operations: count, time }
    };
    let times = in_turns(options.short_rounds(), &mut [&mut insert]);
    report.add(Figure::new("signatures/use of a jti/memory", times[0], Unit::Nanoseconds));
}

/// The next tokens, which no round has used.
fn batch<'t>(texts: &'t [String], next: &mut usize) -> &'t [String] {
    let begin = *next;
    *next += OPERATIONS;
    &texts[begin..*next]
}

/// Tokens, and the signed part of each.
pub(crate) struct Signed {
    texts: Vec<String>,
    parts: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Signed {
    /// Tokens for all rounds.
    fn new(options: &Options, sign: impl Fn() -> String) -> Self {
        // One round warms up, and one counts allocations.
        Self::of((0..(options.short_rounds() + 2) * OPERATIONS).map(|_| sign()).collect())
    }

    pub(crate) fn of(texts: Vec<String>) -> Self {
        let parts = texts.iter().map(|text| {
            let (signed, signature) = text.rsplit_once('.').expect("a signature");
            (signed.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(signature).expect("base64url"))
        });
        Self { parts: parts.collect(), texts }
    }

    /// Only checks the signatures, of at most as many tokens as a round of this area has.
    pub(crate) fn bare(&self, signer: &Signer) -> Lap {
        let parts = &self.parts[..self.parts.len().min(OPERATIONS)];
        let ((), time) = timed(|| {
            for (signed, signature) in parts {
                assert!(signer.is_signature(signed, signature));
            }
        });
        Lap { operations: parts.len() as u64, time }
    }
}

/// A server with one client, which has one key.
struct World {
    server: AuthorizationServer,
    signer: Signer,
}

impl World {
    fn new(signer: &Signer) -> Self {
        let mut config = Config::strict(ISSUER);
        config.scopes = ScopeCatalog::platform();
        config.client_authentication.methods = AuthenticationMethods::KEY;
        config.client_credentials.on = true;
        config.dpop.tokens = DpopBoundTokens::Optional;
        let scopes = config.scopes.parse(SCOPES.as_bytes()).expect("they are in the catalog");
        let keys = JwkSet::parse(signer.key_set()).expect("it is a key set");
        let client = Client::builder(ClientId::new(CLIENT).expect("it is an id"))
            .authentication_methods(AuthenticationMethods::only(AuthenticationMethod::PrivateKeyJwt))
            .keys(ClientKeys::Set(keys))
            .grant_types(GrantTypes::NONE.with(GrantType::ClientCredentials))
            .client_scopes(scopes)
            .client_resources(ResourceScope::All)
            .build();
        let store = MemoryStore::new();
        let clients = Directory::of([client]);
        let stores = Stores::new(store).with_clients(clients);
        let builder = AuthorizationServer::builder(config, stores);
        let server = builder.clock(ManualClock::new(Timestamp::from_seconds(START))).build();
        Self { server: server.expect("the settings are sound"), signer: signer.clone() }
    }

    fn assertion(&self) -> String {
        self.signer.assertion(CLIENT, ISSUER, START.into(), |_, _| {})
    }

    fn proof(&self, token: &str) -> String {
        let ath = token_hash(token);
        self.signer.proof("GET", &format!("{ISSUER}{PATH}"), START.into(), |_, claims| claims["ath"] = ath.into())
    }

    fn form(&self, assertion: &str, rest: &str) -> String {
        let kind = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";
        format!("{rest}&client_assertion_type={kind}&client_assertion={assertion}")
    }

    fn post(&self, endpoint: Endpoint, form: &str, proof: Option<&str>) -> Response {
        let request = Request::new("POST").header("Content-Type", FORM).body(Body::Bytes(form.as_bytes()));
        let request = proof.into_iter().fold(request, |request, proof| request.header("DPoP", proof.as_bytes()));
        ready(self.server.serve(endpoint, &request))
    }

    /// An access token of the client itself.
    fn token(&self, proof: Option<&str>) -> String {
        let form = self.form(&self.assertion(), "grant_type=client_credentials");
        let response = self.post(Endpoint::Token, &form, proof);
        let body: Value = serde_json::from_slice(response.body()).expect("JSON");
        body["access_token"].as_str().unwrap_or_else(|| panic!("{body}")).to_owned()
    }

    fn show(&self, authorization: &str, proof: Option<&str>) {
        let request = Request::new("GET").path(PATH).header("Authorization", authorization.as_bytes());
        let request = proof.into_iter().fold(request, |request, proof| request.header("DPoP", proof.as_bytes()));
        black_box(ready(self.server.resource().authenticate(&request)).expect("a valid token"));
    }
}

fn revoke(world: &World, form: &str) {
    assert_eq!(world.post(Endpoint::Revocation, form, None).status(), 200);
}
