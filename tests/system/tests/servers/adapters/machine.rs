//! The token, revocation and introspection endpoints.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::adapters::trio::Trio;
use support::world::{FORM, PKCE, VERIFIER, encode};
use support_servers::http::Request;

/// The fields that complete a request at all three endpoints, except for its client.
const FIELDS: &[(&str, &str)] = &[("grant_type", "refresh_token"), ("refresh_token", "unknown"), ("token", "unknown")];
const ENDPOINTS: [&str; 3] = ["/oauth2/token", "/oauth2/revoke", "/oauth2/introspect"];

/// What the three endpoints answer to an authenticated client: an unknown refresh token is an error, an unknown token
/// is not.
const AUTHENTICATED: [u16; 3] = [400, 200, 200];

/// HTTP-02
#[tokio::test]
async fn every_authorization_header_is_read_as_it_came() {
    let trio = Trio::start().await;
    let basic = |credentials: &str| format!("Basic {}", STANDARD.encode(credentials));
    let (id, secret) = (&trio.client().id, &trio.client().secret);
    let good = STANDARD.encode(format!("{id}:{secret}"));
    let refused = [
        b"".to_vec(),
        b"Basic".to_vec(),
        b"Basic !!!".to_vec(),
        b"Basic \xff\xfe".to_vec(),
        b"Basic \xc3\xa4".to_vec(),
        b"Bearer YTpi".to_vec(),
        b"Digest username=\"a\", realm=\"b\"".to_vec(),
        b"YTpi".to_vec(),
        good.clone().into_bytes(),
        basic("a").into(),
        basic(":").into(),
        basic(&format!("{id}:")).into(),
        basic(&format!("{id}:wrong")).into(),
        basic(&format!("%zz:{secret}")).into(),
        basic(&"a:".repeat(5_000)).into(),
        format!("Basic {good},").into(),
        format!("Basic {good} {good}").into(),
        format!("Basic {good}====").into(),
    ];
    for header in refused {
        everywhere(&trio, [401; 3], |request| request.header("Authorization", &header)).await;
    }
    everywhere(&trio, [401; 3], |request| request).await;
    for header in [format!("Basic {good}"), format!("bAsIc {good}"), format!("Basic   {good}")] {
        everywhere(&trio, AUTHENTICATED, |request| request.header("Authorization", &header)).await;
        everywhere(&trio, AUTHENTICATED, |request| request.header("aUTHORIZATION", &header)).await;
        for other in [&header, "", "Bearer x"] {
            let both = |request: Request| request.header("Authorization", &header).header("authorization", other);
            everywhere(&trio, [400; 3], both).await;
        }
    }
}

/// HTTP-02
#[tokio::test]
async fn credentials_in_the_form_have_one_answer() {
    let trio = Trio::start().await;
    let (id, secret) = (trio.client().id.as_str(), trio.client().secret.as_str());
    let alone = [
        (vec![("client_id", id), ("client_secret", secret)], AUTHENTICATED),
        (vec![("client_id", id), ("client_secret", "wrong")], [401; 3]),
        (vec![("client_id", id), ("client_secret", "")], [401; 3]),
        (vec![("client_id", id)], [401; 3]),
        (vec![("client_id", "unknown"), ("client_secret", secret)], [401; 3]),
        (vec![("client_id", ""), ("client_secret", secret)], [401; 3]),
        (vec![("client_secret", secret)], [401; 3]),
        (vec![("client_id", id), ("client_id", id), ("client_secret", secret)], [400; 3]),
        (vec![("client_id", id), ("client_secret", secret), ("client_secret", secret)], [400; 3]),
    ];
    for (fields, statuses) in alone {
        everywhere(&trio, statuses, |request| request.body(encode(&[FIELDS, &fields].concat()))).await;
    }
    let beside_basic = [
        (vec![("client_id", id)], AUTHENTICATED),
        (vec![("client_id", "other")], [400; 3]),
        (vec![("client_id", id), ("client_secret", secret)], [400; 3]),
        (vec![("client_secret", secret)], [400; 3]),
    ];
    for (fields, statuses) in beside_basic {
        let request = |request: Request| request.basic(id, secret).body(encode(&[FIELDS, &fields].concat()));
        everywhere(&trio, statuses, request).await;
    }
}

/// HTTP-02
#[tokio::test]
async fn every_body_is_read_as_it_came() {
    let trio = Trio::start().await;
    let (id, secret) = (&trio.client().id, &trio.client().secret);
    let limit = trio.body_limit();
    let fields = encode(FIELDS);
    let padded = |bytes: usize| {
        let mut body = format!("{fields}&x=").into_bytes();
        body.resize(bytes, b'a');
        body
    };
    let repeated = "grant_type=refresh_token&grant_type=refresh_token&token=x&token=x";
    let bodies: [(&[u8], [u16; 3]); 18] = [
        (b"", [400; 3]),
        (b"&&&", [400; 3]),
        (b"=", [400; 3]),
        (b"\0", [400; 3]),
        (b"x", [400; 3]),
        (b"grant_type=%ff&token=%ff", [400, 400, 400]),
        (b"grant_type=\xff&token=\xff", [400, 400, 400]),
        (b"grant_type=%zz&token=%zz", [400; 3]),
        (b"grant_type=%&token=%", [400; 3]),
        (b"grant_type=%4&token=%4", [400; 3]),
        (b"x=%zz&grant_type=refresh_token&token=x", [400; 3]),
        (b"grant_type=&token=", [400; 3]),
        (b"grant_type=password&token=%00", [400, 200, 200]),
        (b"grant_type=refresh_token&token=a+b%0d%0aX:%20y", [400, 200, 200]),
        (b"gr%61nt_type=password&t%6fken=x", [400, 200, 200]),
        (repeated.as_bytes(), [400; 3]),
        (&padded(limit), [400, 200, 200]),
        (&padded(limit + 1), [413; 3]),
    ];
    for (body, statuses) in bodies {
        everywhere(&trio, statuses, |request| request.basic(id, secret).body(body)).await;
        everywhere(&trio, statuses, |request| request.basic(id, secret).body(body).chunked(4_000)).await;
    }
    everywhere(&trio, AUTHENTICATED, |request| request.basic(id, secret).chunked(1)).await;
    let huge = padded(limit * 64);
    everywhere(&trio, [413; 3], |request| request.basic(id, secret).body(&huge)).await;
    everywhere(&trio, [413; 3], |request| request.basic(id, secret).body(&huge).chunked(limit)).await;
    let many = format!("{}{fields}", "x=y&".repeat(101));
    everywhere(&trio, [400; 3], |request| request.basic(id, secret).body(&many)).await;
    let many = |request: Request| (0..80).fold(request.basic(id, secret), |request, _| request.header("X-Many", "x"));
    everywhere(&trio, AUTHENTICATED, many).await;
}

/// HTTP-02, HTTP-01
#[tokio::test]
async fn a_body_over_the_limit_is_answered_before_the_rest_of_it_comes() {
    let trio = Trio::start().await;
    let (id, secret) = (&trio.client().id, &trio.client().secret);
    let begun = vec![b'a'; trio.body_limit() + 1];
    everywhere(&trio, [413; 3], |request| request.basic(id, secret).body(&begun).missing(1 << 30)).await;
}

/// HTTP-02
#[tokio::test]
async fn every_media_type_is_seen_as_it_was_sent() {
    let trio = Trio::start().await;
    let (id, secret) = (&trio.client().id, &trio.client().secret);
    let lines: &[(&[&[u8]], [u16; 3])] = &[
        (&[], [400; 3]),
        (&[b""], [400; 3]),
        (&[b"application/json"], [400; 3]),
        (&[b"text/plain"], [400; 3]),
        (&[b"multipart/form-data; boundary=x"], [400; 3]),
        (&[b"application/x-www-form-urlencodedd"], [400; 3]),
        (&[b"application/x-www-form-urlencoded, application/json"], [400; 3]),
        (&[b"\xff"], [400; 3]),
        (&[FORM.as_bytes()], AUTHENTICATED),
        (&[b"application/x-www-form-urlencoded;charset=UTF-8"], AUTHENTICATED),
        (&[b"application/x-www-form-urlencoded; charset=iso-8859-1"], AUTHENTICATED),
        (&[b"APPLICATION/X-WWW-FORM-URLENCODED ; charset=\"utf-8\"; x"], AUTHENTICATED),
        (&[b"application/x-www-form-urlencoded;"], AUTHENTICATED),
        (&[FORM.as_bytes(), FORM.as_bytes()], [400; 3]),
        (&[FORM.as_bytes(), b"application/json"], [400; 3]),
    ];
    for (lines, statuses) in lines {
        let typed = |mut request: Request| {
            request.headers.clear();
            let request = request.basic(id, secret);
            lines.iter().fold(request, |request, line| request.header("Content-Type", line))
        };
        everywhere(&trio, *statuses, typed).await;
    }
}

/// HTTP-02
#[tokio::test]
async fn a_grant_lives_the_same_life() {
    let trio = Trio::start().await;
    let client = trio.client().clone();
    let call = |path: &str, form: &[(&str, &str)]| Request::post(path, form).basic(&client.id, &client.secret);
    let token = |form: &[(&str, &str)]| call("/oauth2/token", form);
    let refresh = |token: &str| call("/oauth2/token", &[("grant_type", "refresh_token"), ("refresh_token", token)]);
    let of = |path: &str, token: &str| call(path, &[("token", token)]);

    let code = trio.code(&trio.query(&PKCE), &["account-profile:r", "repo-code:r"]).await;
    let exchange = [("grant_type", "authorization_code"), ("code", code.as_str())];
    let with = |name, value| token(&[&exchange[..], &[(name, value)]].concat());
    let other_verifier = VERIFIER.replace('d', "e");
    trio.answer_all(&[
        (400, token(&exchange)),
        (400, with("code_verifier", "short")),
        (400, with("code_verifier", &other_verifier)),
        (400, with("redirect_uri", "https://other.example/")),
        (400, with("code", &code)),
        (400, token(&[("grant_type", "authorization_code"), ("code", "unknown")])),
        (400, token(&[("grant_type", "authorization_code")])),
        (400, token(&[("grant_type", "urn:ietf:params:oauth:grant-type:device_code")])),
        (400, token(&[]).query(encode(&exchange))),
    ])
    .await;
    let first = tokens(&trio, &with("code_verifier", VERIFIER)).await;
    let second = tokens(&trio, &refresh(&first[1])).await;
    let sibling = tokens(&trio, &refresh(&first[1])).await;
    let reduced =
        token(&[("grant_type", "refresh_token"), ("refresh_token", &second[1]), ("scope", "account-profile:r")]);
    trio.answer_all(&[
        (200, reduced),
        (400, token(&[("grant_type", "refresh_token"), ("refresh_token", &second[1]), ("scope", "repo-code:rw")])),
        (400, token(&[("grant_type", "refresh_token"), ("refresh_token", &second[1]), ("scope", "\"")])),
        (400, refresh(&first[0])),
        (400, refresh("unknown")),
        (200, of("/oauth2/introspect", &first[0])),
        (200, of("/oauth2/introspect", &second[1])),
        (200, of("/oauth2/introspect", "unknown")),
        (200, of("/oauth2/revoke", "unknown")),
        (200, of("/oauth2/revoke", &sibling[0])),
        (200, of("/oauth2/introspect", &sibling[0])),
        (200, call("/oauth2/revoke", &[("token", &second[1]), ("token_type_hint", "access_token")])),
        (200, of("/oauth2/revoke", &second[1])),
        (200, of("/oauth2/introspect", &first[0])),
        (400, refresh(&second[1])),
        (400, with("code_verifier", VERIFIER)),
    ])
    .await;
}

/// Sends the same to the token, revocation and introspection endpoint.
async fn everywhere(trio: &Trio, statuses: [u16; 3], change: impl Fn(Request) -> Request) {
    for (path, status) in ENDPOINTS.into_iter().zip(statuses) {
        trio.answers(status, &change(Request::post(path, FIELDS))).await;
    }
}

/// Access token and refresh token of the answer.
async fn tokens(trio: &Trio, request: &Request) -> [String; 2] {
    let answer = trio.answers(200, request).await;
    let answer: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    ["access_token", "refresh_token"].map(|name| answer[name].as_str().unwrap().to_owned())
}
