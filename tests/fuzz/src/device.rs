//! The endpoint where devices ask, and what users type for a device's code.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::authorization::TypedUserCode;
use grantor::config::Profile;
use grantor::protected_resource::ProtectedResource;
use grantor::wire::message::DeviceAuthorizationResponse;
use grantor::wire::{Endpoint, Response};
use grantor::{MemoryStore, Subject};

use super::answer;
use super::request::Written;
use super::stage::{Stage, at_once};
use support::attempts::Attempts;
use support::devices;
use support::world::{AnyStore, SCOPES, SESSION, World, form, public_form};

/// What a user may type at most, and the letters that a code has.
const TYPED_BYTES: usize = 64;
const LETTERS: &str = "BCDFGHJKLMNPQRSTVWXZ";

thread_local! {
    static STAGE: OnceCell<Stage> = const { OnceCell::new() };
}

/// A server for devices, a client of each kind, and a device whose code is `user_code`.
async fn put_up() -> Stage {
    let store = AnyStore::over(MemoryStore::new());
    let mut config = devices::config(Profile::Platform);
    config.resources = vec![ProtectedResource::new("https://api.example", "API")];
    let mut world = World::on(store, config, |builder| builder.throttle(Attempts::default())).await;
    let stranger = world.client.clone();
    world.client = world.register(devices::on_devices(public_form())).await;
    let with_secret = world.register(devices::on_devices(form())).await;
    let device = devices::asked(&world).await;
    let basic = STANDARD.encode(format!("{}:{}", with_secret.id, with_secret.secret));
    let props = vec![
        ("public", world.client.id.clone()),
        ("client", with_secret.id),
        ("secret", with_secret.secret),
        ("basic", basic),
        ("stranger", stranger.id),
        ("stranger_secret", stranger.secret),
        ("user_code", device.user_code),
        ("device_code", device.device_code),
    ];
    world.events.take();
    Stage { world, props }
}

fn on_stage<T>(scene: impl FnOnce(&Stage) -> T) -> T {
    STAGE.with(|stage| scene(stage.get_or_init(|| at_once(put_up()))))
}

pub(super) fn asked(input: &[u8]) -> String {
    on_stage(|stage| {
        let written = Written::read(input, stage);
        let request = written.request();
        let response = at_once(stage.world.server.serve(Endpoint::DeviceAuthorization, &request));
        answer::check(&response, &[200, 204, 400, 401, 405, 413]);
        let events = stage.world.events.take();
        let is_asked = events.iter().any(|event| event.starts_with("DeviceRequested"));
        assert_eq!(is_asked, response.status() == 200, "{events:?}");
        assert_eq!(response.header("Access-Control-Allow-Credentials"), None);
        match response.status() {
            200 => accepted(stage, &written, &response),
            204 => {
                assert!(request.is_preflight());
                "204".to_owned()
            }
            status => {
                answer::is_not_stored(&response);
                format!("{status}, {}", answer::error(&response))
            }
        }
    })
}

/// Asserts that both codes are new and of their shapes, and that a client of devices asked.
fn accepted(stage: &Stage, written: &Written, response: &Response) -> String {
    answer::is_not_stored(response);
    assert_eq!(written.method(), "POST");
    let names: BTreeSet<_> = answer::json(response).as_object().unwrap().keys().cloned().collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    assert_eq!(names, ["device_code", "expires_in", "interval", "user_code", "verification_uri"]);
    let device: DeviceAuthorizationResponse = serde_json::from_slice(response.body()).unwrap();
    let (first, second) = device.user_code.split_once('-').unwrap();
    assert!([first, second].into_iter().all(|half| half.len() == 4 && half.chars().all(|own| LETTERS.contains(own))));
    assert!(device.device_code.starts_with("dc_") && !stage.props.iter().any(|(_, text)| *text == device.device_code));
    assert_eq!((device.expires_in, device.interval), (600, 5));
    let proven = written.proves_the_client(stage);
    assert!(proven || written.names_the_public_client(stage));
    let scopes = written.in_body("scope");
    let words = scopes.iter().flat_map(|scope| scope.split(|byte| *byte == b' ')).filter(|word| !word.is_empty());
    let is_registered = |word: &[u8]| {
        let word = std::str::from_utf8(word).unwrap();
        SCOPES.contains(word.trim_end_matches(":r").trim_end_matches(":rw"))
    };
    assert!(words.into_iter().all(is_registered), "{scopes:?}");
    if proven { "200, with a secret".to_owned() } else { "200".to_owned() }
}

/// What somebody types: it is read as the code that a second reader finds in it, and as no other.
pub(super) fn typed(input: &[u8]) -> String {
    on_stage(|stage| {
        let expanded = stage.expand(input);
        let text = String::from_utf8_lossy(&expanded);
        let letters = text.to_ascii_uppercase();
        let found: String = letters.chars().filter(|letter| LETTERS.contains(*letter)).collect();
        let is_code = text.len() <= TYPED_BYTES && found.len() == 8;
        let own = stage.prop("user_code").replace('-', "");
        let typed = TypedUserCode::new(&text).peer([192, 0, 2, 1].into());
        let entered = at_once(stage.world.server.enter_user_code(&typed, &stage.world.alice, SESSION));
        let has_missed = stage.world.events.take().iter().any(|event| event.starts_with("UserCodeMissed"));
        let Ok(consent) = entered else {
            let error = entered.unwrap_err();
            assert_eq!(error.reason().to_string(), "the user code is unknown");
            answer::check(&error.response(Some(&stage.world.alice)), &[400]);
            assert!(!is_code || found != own, "{text}");
            assert_eq!(has_missed, is_code, "{text}");
            return if is_code { "unknown".to_owned() } else { "no code".to_owned() };
        };
        assert!(is_code && found == own && !has_missed, "{text}");
        assert_eq!(consent.device().user_code(), stage.prop("user_code"));
        // It is this user's now.
        let other = Subject::new("bob").unwrap();
        at_once(stage.world.server.enter_user_code(&typed, &other, SESSION)).unwrap_err();
        stage.world.events.take();
        "found".to_owned()
    })
}
