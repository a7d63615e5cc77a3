//! Secrets where they do not belong: exchanged halves of credentials, tokens in URLs, malformed headers.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::scope::ResourceScope;
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{ClientId, RegistrarError};

use crate::secrets::flow::{Flow, at_hand};
use support::world::{Call, FORM, Pair, World, encode, form, logo};

pub(crate) async fn everywhere(flow: &mut Flow, code: &str, pairs: &[Pair; 2]) {
    let client = flow.world.client.clone();
    for secret in at_hand(&client, code, pairs) {
        for endpoint in [Endpoint::Token, Endpoint::Revocation, Endpoint::Introspection] {
            let mut answers = Vec::new();
            for call in calls(&flow.world, endpoint, secret) {
                answers.push(call.send().await);
            }
            answers.iter().for_each(|answer| keep(flow, "a request with a misplaced secret", answer));
        }
        at_authorization(flow, secret).await;
        at_a_resource(flow, secret).await;
        at_registration(flow, secret).await;
    }
}

fn keep(flow: &mut Flow, what: &str, response: &Response) {
    assert!(response.status() < 500, "{}", response.status());
    flow.answer(what, response);
}

/// Each of them is refused, or does nothing.
fn calls<'w>(world: &'w World, endpoint: Endpoint, secret: &str) -> Vec<Call<'w>> {
    let id = &world.client.id;
    let call = || world.post(endpoint, &[("grant_type", "refresh_token"), ("refresh_token", "x"), ("token", "x")]);
    let encoded = |text: &str| STANDARD.encode(text);
    let mut calls = vec![
        call().basic(secret, id),
        call().basic(&format!("{id}{secret}"), ""),
        call().basic(id, &format!("{secret}:{secret}")),
        call().field("client_id", secret),
        call().field("client_id", secret).field("client_secret", id),
        call().field("client_id", id).field("client_secret", &format!(" {secret}")),
        call().field("client_id", id).field("client_id", secret),
        call().basic(id, "x").field("client_id", secret),
        call().basic(id, "x").field("client_secret", secret),
        call().client(&world.client).query(&encode(&[("access_token", secret), ("client_secret", secret)])),
        call().client(&world.client).raw_body(secret),
        call().client(&world.client).raw_body(format!("token=%zz{secret}")),
        call().client(&world.client).header("Content-Type", secret.as_bytes()),
    ];
    for header in [
        format!("Basic {secret}"),
        format!("Basic {}", encoded(secret)),
        format!("Basic {}!", encoded(&format!("{id}:{secret}"))),
        format!("Basic {}", encoded(&format!("{id}:{secret}\n"))),
        format!("Bearer {secret}"),
        secret.to_owned(),
    ] {
        calls.push(call().header("Authorization", header.as_bytes()));
        calls.push(call().client(&world.client).header("Authorization", header.as_bytes()));
    }
    for name in ["grant_type", "scope", "redirect_uri", "code_verifier", "token_type_hint", "code", secret] {
        let fields: Vec<_> = [("grant_type", "refresh_token"), ("token", "x"), ("refresh_token", "x"), ("code", "x")]
            .into_iter()
            .filter(|(own, _)| *own != name)
            .collect();
        calls.push(world.post(endpoint, &fields).field(name, secret).client(&world.client));
    }
    calls
}

async fn at_authorization(flow: &mut Flow, secret: &str) {
    let names =
        ["client_id", "response_type", "redirect_uri", "scope", "code_challenge", "code_challenge_method", "x", secret];
    for name in names {
        let Flow { world, exposure, .. } = flow;
        let mut fields = vec![("client_id", world.client.id.as_str()), ("response_type", "code")];
        fields.retain(|(own, _)| *own != name);
        fields.push((name, secret));
        match world.authorize(&encode(&fields)).await {
            Ok(pending) => exposure.debug("PendingAuthorization", &pending),
            Err(error) => {
                exposure.error("AuthorizationError", &error);
                let response = error.response(Some(&world.alice));
                keep(flow, "an authorization request with a misplaced secret", &response);
            }
        }
    }
}

async fn at_a_resource(flow: &mut Flow, secret: &str) {
    let form = encode(&[("access_token", secret)]);
    let base = || Request::new("POST").header("Content-Type", FORM.as_bytes());
    let basic = format!("Basic {}", STANDARD.encode(secret));
    let two = format!("Bearer {secret} {secret}");
    for request in [
        base().query(form.as_bytes()),
        base().body(Body::Bytes(form.as_bytes())),
        base().header("Authorization", secret.as_bytes()),
        base().header("Authorization", basic.as_bytes()),
        base().header("Authorization", two.as_bytes()),
        base().header("Authorization", two.as_bytes()).header("Authorization", basic.as_bytes()),
        base().header(secret, secret.as_bytes()),
    ] {
        flow.exposure.debug("Request", &request);
        let refused = flow.world.server.resource().authenticate(&request).await.unwrap_err();
        flow.exposure.error("ResourceError", &refused);
        keep(flow, "a challenge", &refused.into_response());
    }
}

async fn at_registration(flow: &mut Flow, secret: &str) {
    let Flow { world, exposure, .. } = flow;
    let registrar = world.server.registrar().unwrap();
    let id = ClientId::new(secret).unwrap();
    exposure.error("RegistrarError", &registrar.application(&id).await.unwrap_err());
    exposure.error("RegistrarError", &registrar.suspend(&id).await.unwrap_err());
    let mut form = form();
    form.redirect_uris = vec![secret.to_owned(), format!("https://user:{secret}@app.example.com/")];
    form.scopes = secret.to_owned();
    form.website = secret.to_owned();
    form.resource_scope = Some(ResourceScope::All);
    let refused = registrar.submit(world.alice.clone(), form, Some(logo())).await.unwrap_err();
    assert!(matches!(refused, RegistrarError::Invalid(_)), "{refused:?}");
    exposure.error("RegistrarError", &refused);
}
