//! Keys that are elsewhere, and signers that fail [RFC 7517 section 5].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use base64::engine::general_purpose::STANDARD;
use grantor::hooks::SignerError;

use super::*;
use support::world::e400;

/// Signs with a key of the tests, unless it is told to fail.
#[derive(Clone)]
pub(super) struct Elsewhere {
    signer: Signer,
    /// What the next calls do.
    fault: Arc<AtomicU32>,
    calls: Arc<AtomicU32>,
    waits: Arc<AtomicBool>,
}

const NONE: u32 = 0;
const FAILS: u32 = 1;
const SIGNS_WITH_ANOTHER_KEY: u32 = 2;
const ANSWERS_DER: u32 = 3;

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl Elsewhere {
    pub(super) fn new() -> Self {
        Self { signer: Signer::es256(), fault: Arc::default(), calls: Arc::default(), waits: Arc::default() }
    }

    pub(super) fn key(&self) -> SigningKey {
        SigningKey::with_signer(&self.signer.jwk_with_algorithm().to_string(), self.clone()).unwrap()
    }

    /// How many calls have begun.
    pub(super) fn has_begun(&self) -> u32 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Makes the calls wait until [`go_on`](Self::go_on).
    pub(super) fn wait(&self) {
        self.waits.store(true, Ordering::Relaxed);
    }

    pub(super) fn go_on(&self) {
        self.waits.store(false, Ordering::Relaxed);
    }

    fn set(&self, fault: u32) {
        self.fault.store(fault, Ordering::Relaxed);
    }

    pub(super) fn calls(&self) -> u32 {
        self.calls.swap(0, Ordering::Relaxed)
    }
}

#[async_trait::async_trait]
impl grantor::hooks::Signer for Elsewhere {
    async fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SignerError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
        while self.waits.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        match self.fault.load(Ordering::Relaxed) {
            NONE => Ok(self.signer.signature(message)),
            FAILS => Err(SignerError::new("the key service is away")),
            SIGNS_WITH_ANOTHER_KEY => Ok(self.signer.another().signature(message)),
            _ => {
                let signature = self.signer.signature(message);
                Ok([&[0x30, 0x44, 0x02, 0x20], &signature[..32], &[0x02, 0x20], &signature[32..]].concat())
            }
        }
    }
}

/// 7517-5-03
#[tokio::test]
async fn a_failed_signer_changes_nothing() {
    for fault in [FAILS, SIGNS_WITH_ANOTHER_KEY, ANSWERS_DER] {
        let elsewhere = Elsewhere::new();
        let key = elsewhere.key();
        key.check().await.unwrap();
        let world = built(config(), |builder| builder.signing_keys([key.clone()])).await;
        let code = world.code().await;
        elsewhere.set(fault);
        let error = key.check().await.unwrap_err().to_string();
        assert!(error.contains(if fault == FAILS { "the key service is away" } else { key.key_id() }), "{error}");
        let response = world.exchange(&code).await;
        assert_eq!(response.status(), 503);
        assert!(response.header("Retry-After").is_some());
        assert!(String::from_utf8_lossy(response.body()).contains("temporarily_unavailable"));
        let events = world.events.take();
        assert!(events.iter().any(|event| event.starts_with("SigningFailed")), "{events:?}");
        // The code is not spent.
        elsewhere.set(NONE);
        let first = pair(&world.exchange(&code).await);
        assert!(opens(&world, A, &first.access).await && is_signed_by(&first.access, &Signer::es256()));
        // Nor is a refresh token.
        elsewhere.set(fault);
        assert_eq!(world.refresh(&first.refresh).await.status(), 503);
        world.advance(3600);
        elsewhere.set(NONE);
        let second = pair(&world.refresh(&first.refresh).await);
        assert!(!world.events.saw("RefreshedInGrace"), "the outage has made the client late");
        // A use in grace is signed too, and fails alone.
        elsewhere.set(fault);
        assert_eq!(world.refresh(&first.refresh).await.status(), 503);
        elsewhere.set(NONE);
        assert_eq!(parts(&pair(&world.refresh(&first.refresh).await).access), parts(&second.access));
        // A token of the client itself takes no place.
        let machine = machine(&world).await;
        elsewhere.set(fault);
        assert_eq!(own_token(&world, &machine, &[]).await.status(), 503);
        assert!(world.server.client_credentials_tokens_of(&machine.client_id()).await.unwrap().is_empty());
    }
}

/// 7517-5-03
#[tokio::test]
async fn a_refused_request_is_not_signed() {
    let elsewhere = Elsewhere::new();
    let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
    let code = world.code().await;
    let first = pair(&world.exchange(&code).await);
    assert_eq!(elsewhere.calls(), 1);
    // A replayed code is found even while nothing can be signed.
    elsewhere.set(FAILS);
    e400(&world.exchange(&code).await, "invalid_grant");
    assert!(world.events.saw("CodeReplayed"));
    elsewhere.set(NONE);
    e400(&world.refresh(&first.refresh).await, "invalid_grant");
    e400(&world.refresh("rt_made_up").await, "invalid_grant");
    assert!(!opens(&world, A, &first.access).await);
    assert_eq!(introspected(&world, &world.client, &first.access).await, inactive());
    assert_eq!(elsewhere.calls(), 0);
    // Nor is an opaque token.
    let opaque = code_for(&world, &[C]).await;
    assert!(!is_jwt(&pair(&world.exchange(&opaque).await).access));
    assert_eq!(elsewhere.calls(), 0);
}

/// 7517-5-03
#[tokio::test]
async fn a_private_key_is_shown_nowhere() {
    let keys: [(SigningAlgorithm, &[u8]); 3] = [
        (SigningAlgorithm::Es256, P256),
        (SigningAlgorithm::Rs256, include_bytes!("../../data/keys/rsa-1.pk8")),
        (SigningAlgorithm::EdDsa, include_bytes!("../../data/keys/ed25519-1.pk8")),
    ];
    for (algorithm, pkcs8) in keys {
        let key = SigningKey::from_pkcs8(algorithm, pkcs8).unwrap();
        let key_id = key.key_id().to_owned();
        let builder = grantor::AuthorizationServer::builder(config(), grantor::MemoryStore::new());
        let builder = builder.signing_keys([key.clone()]);
        let shown = format!("{key:?} {builder:?}");
        let world = built(config(), |builder| builder.signing_keys([key])).await;
        let token = token(&world).await;
        // A signer that fails shows as much.
        assert!(world.server.drop_key(&key_id));
        let refused = world.exchange(&world.code().await).await;
        assert_eq!(refused.status(), 503);
        let body = String::from_utf8_lossy(refused.body()).into_owned();
        let error = format!("{:?}", SigningKey::from_pkcs8(algorithm, &pkcs8[1..]).unwrap_err());
        let shown = format!("{shown} {:?} {:?} {body} {error}", world.server, world.events.take());
        assert!(shown.contains(&key_id), "the name of the key may be shown");
        // 12 bytes of the private part, in every form in which bytes are printed.
        let middle = pkcs8.len() / 3;
        let secret = &pkcs8[middle..middle + 12];
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let text = secret.escape_ascii().to_string();
        for form in [format!("{secret:?}").trim_matches(['[', ']']).to_owned(), hex.to_uppercase(), hex, text] {
            assert!(!shown.contains(&form), "{form} in {shown}");
        }
        for offset in 0..3 {
            for encoded in
                [URL_SAFE_NO_PAD.encode(&secret[offset..offset + 9]), STANDARD.encode(&secret[offset..offset + 9])]
            {
                assert!(!shown.contains(&encoded), "{encoded} in {shown}");
            }
        }
        assert!(!shown.contains(&token), "a token in an event");
        let document = String::from_utf8(key_set(&world).await.body().to_vec()).unwrap();
        for member in ["\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\""] {
            assert!(!document.contains(member), "{document}");
        }
    }
}

/// 9068-2.2-01
#[tokio::test]
async fn parallel_refreshes_are_each_signed_for_what_is_there() {
    let elsewhere = Elsewhere::new();
    let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
    let first = pair(&world.exchange(&world.code().await).await);
    let (one, two, three) =
        tokio::join!(world.refresh(&first.refresh), world.refresh(&first.refresh), world.refresh(&first.refresh));
    let tokens = [one, two, three].map(|response| pair(&response));
    for token in &tokens {
        assert_eq!(parts(&token.access), parts(&tokens[0].access));
        assert_eq!(token.refresh, tokens[0].refresh);
        assert!(opens(&world, A, &token.access).await);
    }
}

/// 9068-2.2-01
#[tokio::test]
async fn parallel_tokens_of_a_client_itself_name_their_places() {
    let elsewhere = Elsewhere::new();
    let world = built(config(), |builder| builder.signing_keys([elsewhere.key()])).await;
    let machine = machine(&world).await;
    let requests = || own_token(&world, &machine, &[]);
    let (a, b, c, d) = tokio::join!(requests(), requests(), requests(), requests());
    for response in [a, b, c, d] {
        assert!(opens(&world, A, &pair(&response).access).await);
    }
}

/// 9068-2.2-01
#[tokio::test]
async fn one_token_is_signed_once_however_often_its_claim_is_lost() {
    let elsewhere = Elsewhere::new();
    let mut config = config();
    config.refresh.rotation = grantor::client::RefreshRotation::Keep;
    let world = built(config, |builder| builder.signing_keys([elsewhere.key()])).await;
    let first = pair(&world.exchange(&world.code().await).await);
    elsewhere.calls();
    let responses = futures::future::join_all((0..16).map(|_| world.refresh(&first.refresh))).await;
    for response in responses {
        assert!(opens(&world, A, &pair(&response).access).await);
    }
    assert_eq!(elsewhere.calls(), 16);
}
