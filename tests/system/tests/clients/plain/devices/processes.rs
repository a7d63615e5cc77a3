//! What the clients in other languages must see.

use serde_json::{Value, json};
use system::Thin;

use super::process::{Course, Library};
use super::{Kind, Service, table};

const PENDING: &str = "authorization_pending";
const SLOW_DOWN: &str = "slow_down";

/// The device polls each second, and slows down when it is told to. Then the user allows it.
const HASTY: Course = Course { kind: Kind::Public, interval: Some(1), after: Some(SLOW_DOWN), button: "allow" };
/// The device polls as often as it may. The user denies after the first poll.
const DENIED: Course = Course { kind: Kind::Public, interval: None, after: Some(PENDING), button: "deny" };
/// The user is faster than the device.
const AT_ONCE: Course = Course { kind: Kind::Confidential, interval: None, after: None, button: "allow" };

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs npm"]
async fn openid_client_gets_tokens_on_a_device() {
    goes_the_whole_way(Library::OpenidClient, &[HASTY, DENIED, AT_ONCE]).await;
}

/// It has no device flow for clients: its session asks for the codes, and `fetch_token` takes the grant type.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PyPI"]
async fn authlib_gets_tokens_on_a_device() {
    goes_the_whole_way(Library::Authlib, &[HASTY, DENIED, AT_ONCE]).await;
}

/// It does not authenticate where it asks for the codes, so the device adds the secret itself.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go modules"]
async fn golang_gets_tokens_on_a_device() {
    goes_the_whole_way(Library::Golang, &[HASTY, DENIED, AT_ONCE]).await;
}

/// By default, it sends each refused request once more, authenticated in another way. So a poll while the user has
/// not decided is answered with both errors, and its pause grows.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go modules"]
async fn golang_by_default_polls_twice_and_slows_down() {
    let library = Library::GolangByDefault;
    let service = Service::start(Thin::Axum, &[]).await;
    let seen = library.run(&service, Course { interval: None, ..HASTY }).await;
    assert_eq!(seen.errors, [PENDING, SLOW_DOWN], "{seen:?}");
    assert_eq!(seen.result, tokens(library), "{seen:?}");
    let version = format!("{}, by default", library.version());
    table::add(&version, Thin::Axum, "Public", "polled twice; slowed down; allowed; refreshed");
}

/// It has no refresh, and sends no secret where it asks for the codes.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Go modules"]
async fn the_library_of_githubs_command_line_gets_tokens_on_a_device() {
    goes_the_whole_way(Library::GithubCli, &[HASTY, DENIED]).await;
}

async fn goes_the_whole_way(library: Library, courses: &[Course]) {
    let mut running = Vec::new();
    for thin in Thin::BOTH {
        for course in courses.iter().copied() {
            running.push(tokio::spawn(run(library, thin, course)));
        }
    }
    for course in running {
        course.await.unwrap();
    }
}

async fn run(library: Library, thin: Thin, course: Course) {
    let service = Service::start(thin, &[]).await;
    let seen = library.run(&service, course).await;
    let what = || format!("{library:?}, {thin:?}, {course:?}: {seen:?}");
    let refreshed = if library == Library::GithubCli { "" } else { "; refreshed" };
    let words = match (course.after, course.button) {
        (_, "deny") => {
            assert_eq!(seen.errors, [PENDING, "access_denied"], "{}", what());
            assert_eq!(seen.result, json!({"error": "access_denied"}), "{}", what());
            "polled; denied: access_denied".to_owned()
        }
        (Some(_), _) => {
            assert_eq!(seen.errors, [PENDING, SLOW_DOWN], "{}", what());
            assert_eq!(seen.result, tokens(library), "{}", what());
            format!("polled; slowed down; allowed{refreshed}")
        }
        (None, _) => {
            assert!(seen.errors.is_empty(), "{}", what());
            assert_eq!(seen.result, tokens(library), "{}", what());
            format!("allowed before the first poll{refreshed}")
        }
    };
    table::add(&library.version(), thin, &format!("{:?}", course.kind), &words);
}

fn tokens(library: Library) -> Value {
    match library {
        Library::GithubCli => json!({"token_type": "bearer", "user": ["alice"]}),
        _ => json!({"token_type": "bearer", "user": ["alice", "alice"], "is_new": true}),
    }
}
