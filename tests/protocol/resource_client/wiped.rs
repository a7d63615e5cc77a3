//! Where tokens and secrets are left behind: nowhere.

use std::fmt::Write as _;

use grantor::fetch::{FetchErrorKind, FetchResponse};
use serde_json::json;

use super::{Api, SECRET, TOKEN, answer, described, inactive, settings};
use support::world::START;

/// RSC-17
#[tokio::test]
async fn no_text_shows_the_token_or_the_secret() {
    let api = Api::with(|own| {
        own.time_to_live = std::time::Duration::from_secs(10);
        own.stale_if_error = std::time::Duration::from_secs(60);
    });
    let mut shown = String::new();
    // An answer that repeats the token, in every way that it may fail.
    for response in [
        Ok(described(json!({}))),
        Ok(inactive()),
        Ok(answer(json!({"active": TOKEN}).to_string())),
        Ok(answer(json!({"active": true, "client_id": "app", "exp": TOKEN}).to_string())),
        Ok(answer(TOKEN)),
        Ok(FetchResponse::new(401, TOKEN)),
        Err(FetchErrorKind::Connection),
    ] {
        api.at(0);
        api.script.always(Ok(described(json!({}))));
        api.check(TOKEN).await.unwrap();
        api.at(11);
        api.script.always(response);
        match api.check(TOKEN).await {
            Ok(token) => write!(shown, "{token:?}").unwrap(),
            Err(error) => write!(shown, "{error} {error:?} {:?}", error.reason()).unwrap(),
        }
    }
    write!(shown, "{:?} {:?} {:?}", api.client, api.resource, settings()).unwrap();
    let events = api.events.take();
    for kind in ["AccessTokenRefused", "IntrospectionFailed", "StaleAnswerUsed"] {
        assert!(events.iter().any(|event| event.starts_with(kind)), "{kind}: {events:?}");
    }
    shown.extend(events);
    let basic = "YXBpOnRoZSUyMHNlY3JldCUyMG9mJTIwdGhlJTIwQVBJ";
    for secret in [TOKEN, SECRET, basic, &format!("{:?}", TOKEN.as_bytes())] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert!(shown.contains("https://auth.example/oauth2/introspect"), "{shown}");
}

/// RSC-17
#[tokio::test]
async fn each_refusal_is_one_event() {
    let api = Api::new();
    for (response, event) in [
        (Ok(inactive()), "AccessTokenRefused { client: None, refusal: Inactive }"),
        (Ok(described(json!({"exp": START}))), "AccessTokenRefused { client: Some(app), refusal: Expired }"),
        (Ok(described(json!({"aud": "x"}))), "AccessTokenRefused { client: None, refusal: AnotherAudience }"),
        (
            Ok(FetchResponse::new(500, "")),
            "IntrospectionFailed { error: the introspection endpoint answered with status 500 }",
        ),
    ] {
        api.script.always(response);
        assert!(api.check(TOKEN).await.is_err());
        assert_eq!(api.events.take(), [event]);
    }
    assert_eq!(api.status(&"x".repeat(4097)).await, 401);
    assert_eq!(api.events.take(), ["AccessTokenRefused { client: None, refusal: TooLong }"]);
    api.script.always(Ok(described(json!({}))));
    assert_eq!((api.status(TOKEN).await, api.events.take().len()), (200, 0));
}

/// The memory of this process.
#[cfg(target_os = "linux")]
mod memory {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt as _;
    use std::time::Duration;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use grantor::fetch::{FetchError, FetchResponse, Transport, TransportRequest};
    use grantor::resource::{IntrospectionSettings, ResourceClient};
    use grantor::testing::ManualClock;
    use grantor::wire::Request;
    use grantor::{ClientSecret, Timestamp};
    use serde_json::json;
    use zeroize::Zeroizing;

    use crate::resource_client::{ENDPOINT, described, resource, settings};
    use support::world::{ISSUER, START};

    /// Answers without keeping anything of the request.
    #[derive(Debug)]
    struct Forgetful;

    #[async_trait::async_trait]
    impl Transport for Forgetful {
        async fn send(&self, request: &TransportRequest<'_>) -> Result<FetchResponse, FetchError> {
            assert!(request.body.starts_with(b"token="));
            Ok(described(json!({})))
        }
    }

    /// A text that is in memory only while it is shown.
    struct Hidden(Vec<u8>);

    const MASK: u8 = 0x5a;

    impl Hidden {
        /// 96 letters that depend on the number.
        fn new(number: u64) -> Self {
            let mut state = number;
            let letters = (0..96).map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (b'a' + u8::try_from((state >> 33) % 26).unwrap()) ^ MASK
            });
            Self(letters.collect())
        }

        /// The base64 of a text.
        fn base64(text: &str) -> Self {
            let mut encoded = Zeroizing::new(String::with_capacity(text.len() * 2));
            STANDARD.encode_string(text, &mut encoded);
            Self(encoded.bytes().map(|byte| byte ^ MASK).collect())
        }

        /// The text after another one. It is wiped when dropped.
        fn shown(&self, before: &str) -> Zeroizing<String> {
            let mut text = Zeroizing::new(String::with_capacity(before.len() + self.0.len()));
            text.push_str(before);
            text.extend(self.0.iter().map(|byte| char::from(byte ^ MASK)));
            text
        }

        /// How often the first or the second half of the text is in writable memory.
        fn copies(&self) -> usize {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            let memory = File::open("/proc/self/mem").unwrap();
            let (first, second) = self.0.split_at(self.0.len() / 2);
            let (mut chunk, mut copies, mut all) = (vec![0; 1 << 20], 0, 0);
            let writable = maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|own| own.starts_with("rw")));
            for line in writable {
                let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
                let [mut start, end] = [start, end].map(|text| u64::from_str_radix(text, 16).unwrap());
                while start < end {
                    let Ok(read @ 1..) = memory.read_at(&mut chunk, start) else { break };
                    let read = read.min(usize::try_from(end - start).unwrap());
                    copies += count(&chunk[..read], first) + count(&chunk[..read], second);
                    all += read;
                    // A text may lie across the ends of two chunks.
                    let step = if read == chunk.len() { read - self.0.len() } else { read };
                    start += u64::try_from(step).unwrap();
                }
                chunk.fill(0);
            }
            assert!(all > 1 << 20, "only {all} bytes were read");
            copies
        }
    }

    /// How often a masked text is in these bytes.
    fn count(bytes: &[u8], masked: &[u8]) -> usize {
        let is_there = |place: &usize| {
            let found = bytes.get(*place..*place + masked.len());
            found.is_some_and(|found| found.iter().zip(masked).all(|(byte, masked)| byte ^ MASK == *masked))
        };
        memchr::memchr_iter(masked[0] ^ MASK, bytes).filter(is_there).count()
    }

    /// RSC-11, RSC-17
    #[tokio::test]
    async fn no_token_and_no_secret_stays_in_memory() {
        let (token, secret) = (Hidden::new(1), Hidden::new(2));
        let basic = Hidden::base64(&secret.shown("api:"));
        let own = ClientSecret::new(std::mem::take(&mut *secret.shown("")));
        let mut settings = IntrospectionSettings::new(ENDPOINT, "api", own, ISSUER, settings().audience);
        settings.time_to_live = Duration::from_secs(300);
        let client = ResourceClient::new(settings, Forgetful).unwrap();
        let client = client.with_clock(ManualClock::new(Timestamp::from_seconds(START)));
        let resource = resource(&client);
        let header = token.shown("Bearer ");
        for _ in 0..2 {
            let request = Request::new("GET").header("Authorization", header.as_bytes());
            assert_eq!(resource.authenticate(&request).await.unwrap().client_id().as_str(), "app");
        }
        // What is in memory is found.
        assert!(token.copies() > 0 && basic.copies() > 0);
        drop(header);
        assert_eq!((token.copies(), secret.copies()), (0, 0));
        drop((resource, client));
        assert_eq!(basic.copies(), 0);
    }
}
