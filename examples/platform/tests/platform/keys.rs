//! Applications that authenticate with a key.

use grantor::{Clock as _, SystemClock};
use serde_json::json;
use support::keys::{Signer, unchanged};
use support_servers::http::{Answer, Page, Request, value_after};
use support_servers::started::Started;
use url::Url;

use crate::pages::{get, register, register_and_approve};
use crate::{ADMIN, ALICE, DEVON, sign_in, start};

const KIND: [(&str, &str); 5] = [
    ("client_type", "confidential"),
    ("application_type", "web"),
    ("redirect_uris", "https://changelog.example/callback"),
    ("sample_logo", "on"),
    ("action", "submit"),
];

fn with_key<'a>(fields: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [&KIND[..], &[("authentication", "key")], fields].concat()
}

/// A token of Alice for the application, fetched with that key.
async fn token(platform: &Started, id: &str, signer: &Signer) -> Answer {
    let alice = sign_in(platform, ALICE).send().await.cookies();
    let question = platform.url(&format!("/oauth2/auth?response_type=code&client_id={id}"));
    let page = Page::open(&Url::parse(&question).unwrap(), &alice).await;
    let callback = page.decide(&[("scope", "repo-issue:r"), ("decision", "allow")]).await;
    let code = callback.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    let now = u64::from(SystemClock.now().seconds());
    let assertion = signer.assertion(id, platform.about("issuer"), now, unchanged);
    let form = [
        ("grant_type", "authorization_code"),
        ("code", &*code),
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", &assertion),
    ];
    Request::to("POST", platform.url("/oauth2/token")).fields(&form).send().await
}

/// 7591-2-20
#[tokio::test]
async fn an_application_with_a_public_key_gets_a_token_and_no_secret() {
    let platform = start("keys");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let admin = sign_in(&platform, ADMIN).send().await.cookies();
    let (old, new) = (Signer::es256(), Signer::es256().another());
    let set = old.key_set();
    let id = register_and_approve(&platform, [&devon, &admin], &with_key(&[("jwks", &set)])).await;
    let path = format!("/applications/{id}");
    let page = get(&platform, &path, &devon).await.text();
    assert!(page.contains("It has no secret.") && !page.contains("Make the client secret"), "{page}");
    assert_eq!(value_after(&page, "id=\"issuer\""), platform.about("issuer"));
    assert_eq!(token(&platform, &id, &old).await.status, 200);
    assert_eq!(token(&platform, &id, &new).await.status, 401);

    // The owner replaces the key, and sees what is wrong with an invalid one.
    let save = async |jwks: &str, jwks_uri: &str| {
        let page = get(&platform, &path, &devon).await.text();
        let form = [("version", value_after(&page, "name=\"version\"")), ("jwks", jwks), ("jwks_uri", jwks_uri)];
        Request::to("POST", platform.url(&format!("{path}/keys"))).cookies(&devon).fields(&form).send().await
    };
    let mut private = new.jwk();
    private["d"] = "AA".into();
    let private = json!({ "keys": [private] }).to_string();
    for (jwks, jwks_uri, text) in [
        ("", "", "Paste the public key, or give its address."),
        ("{}", "", "This is not a JWK Set."),
        (&private, "", "Key 1 is a private key"),
        (&set, "https://changelog.example/jwks.json", "not both"),
        ("", "http://changelog.example/jwks.json", "beginning with https://"),
    ] {
        let answer = save(jwks, jwks_uri).await;
        assert_eq!(answer.status, 422, "{text}");
        let page = answer.text();
        assert!(page.contains(text) && page.contains("aria-invalid=\"true\""), "{text}: {page}");
    }
    assert_eq!(save(&new.key_set(), "").await.status, 303);
    assert!(get(&platform, &path, &devon).await.text().contains("Saved: these keys are in use now."));
    assert_eq!(token(&platform, &id, &new).await.status, 200);
    assert_eq!(token(&platform, &id, &old).await.status, 401);
    assert_eq!(save("", "https://changelog.example/jwks.json").await.status, 303);
    assert_eq!(token(&platform, &id, &new).await.status, 503, "there is no such host");

    // The administrator sees the keys.
    let review = get(&platform, &format!("/review/{id}"), &admin).await.text();
    assert!(review.contains("https://changelog.example/jwks.json") && !review.contains("/end-secrets"), "{review}");
}

/// 7591-2-20, 7517-4-01
#[tokio::test]
async fn the_form_says_what_is_wrong_with_keys_at_their_field() {
    let platform = start("key-form");
    let devon = sign_in(&platform, DEVON).send().await.cookies();
    let set = Signer::es256().key_set();
    let mut private = Signer::es256().jwk();
    private["d"] = "AA".into();
    let private = json!({ "keys": [private] }).to_string();
    let one = Signer::es256().jwk().to_string();
    for (fields, field, text) in [
        (with_key(&[]), "jwks", "Paste the public key, or give its address."),
        (with_key(&[("jwks", &private)]), "jwks", "Key 1 is a private key"),
        (with_key(&[("jwks", "-----BEGIN PUBLIC KEY-----")]), "jwks", "This is a key in PEM form."),
        (with_key(&[("jwks", &one)]), "jwks", "This is one key. Put it into a set"),
        (with_key(&[("jwks", "{\"keys\":[]}")]), "jwks", "None of the keys can verify a signature"),
        (with_key(&[("jwks", &set), ("jwks_uri", "https://a.example/k")]), "jwks_uri", "not both"),
        (with_key(&[("jwks_uri", "http://a.example/k")]), "jwks_uri", "beginning with https://"),
        ([&KIND[..], &[("authentication", "secret"), ("jwks", &set)]].concat(), "jwks", "You chose a secret"),
    ] {
        let answer = register(&platform, &devon, &fields).await;
        assert_eq!(answer.status, 422, "{text}");
        let page = answer.text();
        assert!(page.contains(&format!("<a href=\"#{field}\">")) && page.contains(text), "{text}: {page}");
        assert!(page.contains(&format!("id=\"{field}-problem\"")), "{page}");
    }
    // What was typed is still there.
    let page = register(&platform, &devon, &with_key(&[("jwks", "not JSON")])).await.text();
    assert!(page.contains("not JSON</textarea>"), "{page}");
    assert!(page.contains("value=\"key\" checked"), "{page}");
}
