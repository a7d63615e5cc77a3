//! How each member of a request is interpreted.

use grantor::config::Profile;
use serde_json::{Value, json};

use super::{bounds, credentials, open, post, public, query, refused, register, with, world, world_with};
use support::world::{PKCE, VERIFIER, With as _, ok, page};

/// 7591-2-01
#[tokio::test]
async fn omitted_members_have_the_defaults_of_the_rfc() {
    let minimal = json!({"redirect_uris": ["https://app.example.com/cb"]});
    let answer = register(&world().await, minimal.clone()).await;
    assert_eq!(answer["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(answer["grant_types"], json!(["authorization_code"]));
    assert_eq!(answer["response_types"], json!(["code"]));
    assert!(answer["client_secret"].is_string());
}

/// 7591-2-02
#[tokio::test]
async fn members_are_honoured_or_ignored() {
    let world = world().await;
    let honoured = json!({
        "redirect_uris": ["https://app.example.com/cb"],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "client_name": "App",
        "client_uri": "https://app.example.com/",
        "logo_uri": "https://app.example.com/logo.png",
        "tos_uri": "https://app.example.com/tos",
        "policy_uri": "https://app.example.com/policy",
        "scope": "repo-code:r account-profile:r",
        "contacts": ["ops@app.example.com"],
        "software_id": "4NRB1-0XZABZI9E6-5SM3R",
        "software_version": "2.1",
        "application_type": "web",
    });
    let answer = register(&world, honoured.clone()).await;
    for (name, value) in honoured.as_object().unwrap() {
        assert_eq!(&answer[name], value, "{name}");
    }
    let ignored = json!({
        "extra": {"a": [1]},
        "client_name#fr": "Application",
        "software_statement": "eyJhbGciOiJub25lIn0.e30.",
        "client_id": "mine",
        "client_secret": "mine",
        "client_id_issued_at": 1,
        "registration_access_token": "mine",
        "id_token_signed_response_alg": "RS256",
        "subject_type": "pairwise",
        "jwks_uri": "https://app.example.com/keys",
    });
    let answer = register(&world, with(public(), ignored.clone())).await;
    for name in ignored.as_object().unwrap().keys().filter(|name| !name.starts_with("client_id")) {
        assert!(answer.get(name).is_none(), "{name}");
    }
    assert!(answer["client_id"] != "mine" && answer["client_id_issued_at"] != 1);
}

/// 7591-2-03
#[tokio::test]
async fn grant_types_and_response_types_agree() {
    let world = world().await;
    for members in [
        json!({"response_types": ["token"]}),
        json!({"response_types": []}),
        json!({"jwks": {"keys": []}, "jwks_uri": "https://app.example.com/keys"}),
    ] {
        refused(&post(&world, with(public(), members).to_string()).await, 400, "invalid_client_metadata");
    }
    let answer = register(&world, with(public(), json!({"response_types": ["code", "code id_token"]}))).await;
    assert_eq!(answer["response_types"], json!(["code"]));
}

/// 7591-2-06
#[tokio::test]
async fn unsupported_grant_types_are_dropped() {
    let world = world().await;
    let device = "urn:ietf:params:oauth:grant-type:device_code";
    let types = |names: Value| with(public(), json!({ "grant_types": names }));
    let answer = register(&world, types(json!(["authorization_code", device, "client_credentials"]))).await;
    assert_eq!(answer["grant_types"], json!(["authorization_code"]));
    for none in [json!(["password"]), json!([]), json!(["refresh_token"])] {
        refused(&post(&world, types(none).to_string()).await, 400, "invalid_client_metadata");
    }
    let client = credentials(&answer);
    let code = world.code_for(&world.query_of(&client, &PKCE)).await;
    assert!(ok(&world.exchange_as(&client, &code).await).refresh_token.is_none());
}

/// 7591-2-07
#[tokio::test]
async fn a_method_that_is_not_offered_is_refused() {
    let world = world().await;
    for method in ["client_secret_jwt", "tls_client_auth", "private_key_jwt", "NONE"] {
        let metadata = with(public(), json!({"token_endpoint_auth_method": method}));
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_client_metadata");
    }
    let mut config = open(Profile::Strict);
    config.public_clients = false;
    let confidential = world_with(config, bounds()).await;
    refused(&post(&confidential, public().to_string()).await, 400, "invalid_client_metadata");
}

/// 7591-2-04
#[tokio::test]
async fn redirect_uris_are_needed_and_bounded() {
    let world = world().await;
    let uris =
        |count: usize| -> Vec<_> { (0..count).map(|number| format!("https://app.example.com/{number}")).collect() };
    for count in [0, 11] {
        let metadata = with(public(), json!({"redirect_uris": uris(count)}));
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_redirect_uri");
    }
    let answer = register(&world, with(public(), json!({"redirect_uris": uris(10)}))).await;
    assert_eq!(answer["redirect_uris"], json!(uris(10)));
}

/// 7591-2-09, NEG-OC-07
#[tokio::test]
async fn a_sound_redirect_uri_of_another_kind_is_dropped() {
    let world = world().await;
    let web = "https://app.example.com/cb";
    for bad in [
        "https://app.example.com/cb#x",
        "https://user@app.example.com/cb",
        "https://*.example.com/cb",
        "https://app.example.com/\u{7}",
        "javascript:alert(1)",
        " jAvAsCrIpT:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "blob:https://app.example.com/x",
        "",
    ] {
        let metadata = with(public(), json!({"redirect_uris": [web, bad]}));
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_redirect_uri");
    }
    let cursor = "cursor://anysphere.cursor-retrieval/oauth/user-agent/callback";
    for dropped in [cursor, "http://app.example.com/cb", "com.example.app:/cb"] {
        let answer = register(&world, with(public(), json!({"redirect_uris": [dropped, web, web]}))).await;
        assert_eq!(answer["redirect_uris"], json!([web]));
        let alone = with(public(), json!({"redirect_uris": [dropped]}));
        refused(&post(&world, alone.to_string()).await, 400, "invalid_redirect_uri");
    }
    let answer = register(&world, with(public(), json!({"redirect_uris": [web, cursor]}))).await;
    page(&world.refused(&query(&world, &answer, cursor, &[])).await);
}

/// 7591-2-11
#[tokio::test]
async fn redirect_uris_are_compared_exactly_in_every_profile() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = world_with(open(profile), bounds()).await;
        let uris = ["https://app.example.com/cb", "http://127.0.0.1/", "http://127.0.0.1:33418/x"];
        let answer = register(&world, with(public(), json!({ "redirect_uris": uris }))).await;
        for good in ["https://app.example.com/cb", "http://127.0.0.1:60005/", "http://127.0.0.1:59656/x"] {
            assert!(world.authorize(&query(&world, &answer, good, &[])).await.is_ok(), "{good}");
            // It is compared again when the user decides.
            let code = world.code_for(&query(&world, &answer, good, &[])).await;
            let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
            let exchange = world.token(&form).field("redirect_uri", good).client(&credentials(&answer));
            ok(&exchange.send().await);
        }
        for bad in ["https://app.example.com/other", "https://app.example.com/", "http://127.0.0.1:33418/y"] {
            page(&world.refused(&query(&world, &answer, bad, &[])).await);
        }
    }
}

/// 7591-2-12
#[tokio::test]
async fn the_application_type_decides_nothing_about_redirect_uris() {
    let world = world().await;
    let (web, loopback) = ("https://app.example.com/cb", "http://localhost:8787/cb");
    for (uris, sent, expected) in [
        (json!([web, loopback]), json!("web"), "native"),
        (json!([loopback]), Value::Null, "native"),
        (json!([web]), Value::Null, "web"),
        (json!([web]), json!("desktop"), "web"),
        (json!([web]), json!("native"), "native"),
        // Dropped redirect URIs do not count.
        (json!([web, "cursor://x/cb"]), json!("web"), "web"),
    ] {
        let answer = register(&world, with(public(), json!({"redirect_uris": uris, "application_type": sent}))).await;
        assert_eq!(answer["application_type"], expected);
    }
}

/// 7591-2-05
#[tokio::test]
async fn the_fields_have_the_limits_of_the_service() {
    let world = world().await;
    register(&world, with(public(), json!({"client_name": "x".repeat(50)}))).await;
    for (members, name, kept) in [
        (json!({"client_name": "x".repeat(58)}), "client_name", json!(format!("{}\u{2026}", "x".repeat(49)))),
        (json!({"client_name": "App "}), "client_name", json!("App")),
        (json!({"client_uri": format!("https://app.example.com/{}", "x".repeat(128))}), "client_uri", Value::Null),
        (json!({"contacts": vec!["x"; 11]}), "contacts", json!(vec!["x"; 10])),
        (json!({"contacts": "a@app.example.com"}), "contacts", json!(["a@app.example.com"])),
        (json!({"software_id": "x".repeat(129)}), "software_id", json!(format!("{}\u{2026}", "x".repeat(127)))),
        (json!({"software_version": 2}), "software_version", Value::Null),
    ] {
        let answer = register(&world, with(public(), members)).await;
        assert_eq!(answer[name], kept, "{name}");
    }
    for (members, description) in [
        (json!({"redirect_uris": "https://app.example.com/"}), "redirect_uris has another JSON type"),
        (json!({"redirect_uris": vec!["https://app.example.com/"; 11]}), "redirect_uris has more than 10 values"),
        (json!({"client_name": "a\u{202e}b"}), "client_name is blank, or has characters that are not accepted"),
        (json!({"tos_uri": "javascript:x"}), "tos_uri is not a plain https address"),
    ] {
        let response = post(&world, with(public(), members).to_string()).await;
        let answer: Value = serde_json::from_slice(response.body()).unwrap();
        assert_eq!(answer["error_description"], description);
    }
    let nameless = register(&world, json!({"redirect_uris": ["https://app.example.com/cb"]})).await;
    assert!(nameless.get("client_name").is_none());
}

/// 7591-2-13, NEG-OC-04
#[tokio::test]
async fn links_are_https_and_flagged_where_they_lead_elsewhere() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let plain = json!({"client_uri": "http://localhost:3000", "tos_uri": "http://app.example.com/"});
    let answer = register(&world, with(public(), plain)).await;
    assert!(answer.get("client_uri").is_none() && answer.get("tos_uri").is_none());
    for name in ["client_uri", "logo_uri", "tos_uri", "policy_uri"] {
        let program = json!({name: "javascript:alert(1)"});
        refused(&post(&world, with(public(), program).to_string()).await, 400, "invalid_client_metadata");
        for unusable in ["ftp://app.example.com/", "data:text/html,x", "/tos", "https://user@app.example.com/"] {
            let answer = register(&world, with(public(), json!({name: unusable}))).await;
            assert!(answer.get(name).is_none(), "{name} {unusable}");
        }
    }
    // It is kept and never fetched: the crate cannot fetch it.
    let internal = register(&world, with(public(), json!({"logo_uri": "https://10.0.0.1/logo"}))).await;
    let application = registrar.application(&super::id(&internal)).await.unwrap();
    assert_eq!(application.more_metadata().unwrap().logo_uri.as_deref(), Some("https://10.0.0.1/logo"));
    for (members, is_foreign) in [
        (json!({}), false),
        (json!({"client_uri": "https://APP.example.com:8443/x#y", "tos_uri": "https://app.example.com/tos"}), false),
        (json!({"client_uri": "https://other.example/"}), true),
        (json!({"policy_uri": "https://example.com/"}), true),
        (json!({"logo_uri": "https://other.example/logo"}), false),
    ] {
        let answer = register(&world, with(public(), members.clone())).await;
        let pending = world.authorize(&query(&world, &answer, "https://app.example.com/cb", &[])).await.unwrap();
        assert_eq!(pending.client().open().unwrap().has_foreign_links, is_foreign, "{members}");
    }
}

/// 7591-5-01
/// More than the first page of look-alikes is read. If the list is too long to be read, the name is flagged.
#[tokio::test]
async fn a_flood_of_submissions_hides_no_name() {
    let world = world().await;
    let registrar = world.server.registrar().unwrap();
    let submit = async |count: usize| {
        let mut ids = Vec::new();
        for _ in 0..count {
            let form = support::world::form().with(|form| form.name = "Twin".into());
            let owner = grantor::Subject::new("developer").unwrap();
            ids.push(registrar.submit(owner, form, Some(support::world::logo())).await.unwrap());
        }
        ids
    };
    let is_flagged = async || {
        let answer = register(&world, with(public(), json!({"client_name": "Tw\u{456}n"}))).await;
        let client = world.server.client(&super::id(&answer)).await.unwrap().unwrap();
        client.open().unwrap().looks_like_another
    };
    let mut ids = submit(50).await;
    assert!(!is_flagged().await, "none of them is approved");
    ids.sort();
    support::world::Reviewer::approve_now(&registrar, &ids[49], grantor::Approval::default()).await.unwrap();
    assert!(is_flagged().await, "the approved one is on the third page");
    registrar.suspend(&ids[49]).await.unwrap();
    assert!(is_flagged().await);
    let version = registrar.application(&ids[49]).await.unwrap().version();
    registrar.delete(&ids[49], version).await.unwrap();
    assert!(!is_flagged().await);
    submit(150).await;
    assert!(!is_flagged().await, "199 are read");
    submit(1).await;
    assert!(is_flagged().await);
}

/// 7591-5-01
#[tokio::test]
async fn names_that_mislead_are_refused_or_flagged() {
    let world = world().await;
    for bad in ["  ", "a\u{202e}b", "a\u{0}b", "\u{2800}", "a\nb"] {
        let metadata = with(public(), json!({"client_name": bad}));
        refused(&post(&world, metadata.to_string()).await, 400, "invalid_client_metadata");
    }
    // The world's own client is "Example App", and reviewed. Names of clients that registered themselves do not count.
    register(&world, with(public(), json!({"client_name": "Other"}))).await;
    for (name, is_flagged) in [("Ex\u{430}mple App", true), ("Example App", true), ("Other", false)] {
        let answer = register(&world, with(public(), json!({"client_name": name}))).await;
        let client = world.server.client(&super::id(&answer)).await.unwrap().unwrap();
        assert_eq!(client.open().unwrap().looks_like_another, is_flagged, "{name}");
    }
}

/// 7591-5-01
/// A client that pretends to be the service is flagged, and one that names it in passing is not.
#[tokio::test]
async fn the_name_of_the_service_is_flagged() {
    for (service, expected) in [("", [false; 4]), ("Acme Cloud", [true, true, true, false])] {
        let mut config = open(Profile::Mcp);
        config.registration.service_name = service.into();
        let world = world_with(config, bounds()).await;
        for (name, is_flagged) in
            ["Acme Cloud", "acme-cloud", "\u{410}cme Cloud", "Notes for Acme Cloud"].into_iter().zip(expected)
        {
            let answer = register(&world, with(public(), json!({"client_name": name}))).await;
            let client = world.server.client(&super::id(&answer)).await.unwrap().unwrap();
            assert_eq!(client.open().unwrap().looks_like_another, is_flagged, "{service} {name}");
        }
    }
}
