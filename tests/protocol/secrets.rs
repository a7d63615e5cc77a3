//! Secrets never show in events, errors, `Debug` output, stored records or answers to others.

use std::error::Error;
use std::fmt::Debug;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use grantor::message::{AuthorizationCodeExchange, RevocationRequest, TokenRefresh, TokenRequest, TokenResponse};
use grantor::store::{ClientRegistry, ClientStore, CodeStore, Page, TokenStore};
use grantor::wire::{Body, Endpoint, Request};
use grantor::{
    AccessToken, AuthorizationCode, ClientSecret, CodeVerifier, Consent, Decision, Profile, RefreshToken, Subject,
};

use crate::world::{
    FORM, PKCE, Pair, Reviewer as _, SESSION, VERIFIER, World, code, encode, form, pair, public_form, text,
};

/// Everything that somebody else might come to see, and what must not be in it.
#[derive(Default)]
struct Exposure {
    shown: Vec<(String, Vec<u8>)>,
    secrets: Vec<(&'static str, Vec<u8>)>,
}

impl Exposure {
    fn debug(&mut self, what: &str, value: &impl Debug) {
        self.shown.push((what.into(), format!("{value:?} {value:#?}").into_bytes()));
    }

    /// An error with its whole chain.
    fn error(&mut self, what: &str, error: &(dyn Error + 'static)) {
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.shown.push((what.into(), format!("{error} {error:?} {error:#?}").into_bytes()));
            cause = error.source();
        }
    }

    fn octets(&mut self, what: &str, octets: &[u8]) {
        self.shown.push((what.into(), octets.to_vec()));
    }

    fn secret(&mut self, what: &'static str, text: &str) {
        self.secrets.push((what, text.as_bytes().to_vec()));
    }

    /// A handle, code or token: all of it behind the id, which is no secret, as text and as octets.
    fn token(&mut self, what: &'static str, text: &str) {
        let secret = &text["xx_".len() + 22..];
        self.secret(what, secret);
        let octets = URL_SAFE_NO_PAD.decode(secret).unwrap();
        if octets.len() == 60 {
            // The end and the number of a refresh token are no secret.
            self.secrets.push(("lineage", octets[..16].to_vec()));
            self.secrets.push(("fresh part", octets[24..56].to_vec()));
        } else {
            self.secrets.push((what, octets));
        }
    }

    fn pair(&mut self, pair: &Pair) {
        self.token("access token", &pair.access);
        self.token("refresh token", &pair.refresh);
    }

    fn check(&self) {
        let holds = |shown: &[u8], part: &[u8]| match std::str::from_utf8(part) {
            Ok(part) => String::from_utf8_lossy(shown).contains(part),
            Err(_) => shown.windows(part.len()).any(|window| window == part),
        };
        for (what, secret) in &self.secrets {
            let list = format!("{secret:?}");
            let hex: String = secret.iter().map(|octet| format!("{octet:02x}")).collect();
            let forms = [
                secret.clone(),
                list.as_bytes()[1..list.len() - 1].to_vec(),
                hex.to_uppercase().into_bytes(),
                hex.into_bytes(),
                STANDARD.encode(secret).trim_end_matches('=').as_bytes().to_vec(),
                URL_SAFE_NO_PAD.encode(secret).into_bytes(),
            ];
            for (place, shown) in &self.shown {
                for form in &forms {
                    assert!(!holds(shown, form), "the {what} is in {place}: {}", shown.escape_ascii());
                }
            }
        }
    }
}

/// Everything that is stored, in both forms.
async fn dump(world: &World, exposure: &mut Exposure) -> usize {
    let mut count = 0;
    for authorization in world.store.authorizations_of(&world.alice, Page::first(1_000)).await.unwrap() {
        exposure.octets("a stored authorization", &authorization.encode());
        exposure.debug("Authorization", &authorization);
        count += 1;
    }
    for grant in world.store.grants_of(&world.alice, Page::first(1_000)).await.unwrap() {
        exposure.octets("a stored grant", &grant.encode());
        exposure.debug("Grant", &grant);
        count += 1;
    }
    for application in world.store.list(&grantor::ApplicationFilter::All, Page::first(1_000)).await.unwrap() {
        let client = world.store.current(application.id()).await.unwrap().unwrap();
        exposure.octets("a stored application", &application.encode());
        exposure.octets("a stored client", &client.encode());
        exposure.debug("Application", &application);
        exposure.debug("Client", &client);
        count += 2;
    }
    exposure.debug("the store", &world.store);
    count
}

/// HTTP-04
#[tokio::test]
async fn no_secret_shows_anywhere() {
    for profile in [Profile::Platform, Profile::Strict, Profile::Mcp] {
        let world = World::with(profile, |_| {}).await;
        let mut exposure = Exposure::default();
        exposure.secret("client secret", &world.client.secret);
        exposure.secret("session", std::str::from_utf8(SESSION).unwrap());
        exposure.secret("code verifier", VERIFIER);

        // Registration and a further secret.
        let registrar = world.server.registrar().unwrap();
        let id = registrar.submit(world.alice.clone(), form(), Some(crate::world::logo())).await.unwrap();
        let approved = registrar.approve_now(&id, grantor::Approval::default()).await.unwrap();
        exposure.secret("second client's secret", approved.client_secret().unwrap().expose());
        exposure.debug("Approved", &approved);
        let rotated = registrar.rotate_now(&world.client.client_id()).await.unwrap();
        exposure.secret("rotated secret", rotated.expose());
        exposure.debug("ClientSecret", &rotated);
        exposure.debug("Registrar", &registrar);
        let public = world.register(public_form()).await;

        // Request and decision.
        let query = world.query(&[("state", "a state"), PKCE[0], PKCE[1]]);
        let request = Request::new("GET").query(query.as_bytes());
        let pending = world.server.authorize(&request).await.unwrap();
        exposure.debug("PendingAuthorization", &pending);
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        exposure.token("handle", handle.expose());
        exposure.debug("AuthorizationHandle", &handle);
        assert!(dump(&world, &mut exposure).await >= 7);
        let mallory = Subject::new("mallory").unwrap();
        let approve = Decision::Approve(Consent::to_everything());
        let refused = world.server.decide(handle.expose(), &mallory, SESSION, &approve).await.unwrap_err();
        exposure.error("AuthorizationError", &refused);
        exposure.octets("the page", refused.response(Some(&mallory)).body());
        let redirect = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
        exposure.debug("Response with a code", &redirect);
        let code = text(&code(&redirect), "code");
        exposure.token("code", &code);
        let again = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap_err();
        exposure.error("AuthorizationError", &again);
        exposure.octets("the page", again.response(Some(&world.alice)).body());
        dump(&world, &mut exposure).await;

        // Exchange, with what goes wrong before.
        let form = encode(&[("grant_type", "authorization_code"), ("code", &*code), ("code_verifier", VERIFIER)]);
        let basic = format!("Basic {}", STANDARD.encode(format!("{}:{}", world.client.id, world.client.secret)));
        let sent = Request::new("POST").header("Content-Type", FORM.as_bytes()).body(Body::Octets(form.as_bytes()));
        exposure.debug("Request", &sent.header("Authorization", basic.as_bytes()).query(form.as_bytes()));
        let wrong = "a-wrong-secret-that-somebody-typed-in";
        exposure.secret("wrong secret", wrong);
        for call in [
            world.token(&[]).raw_body(form.clone()).basic(&world.client.id, wrong),
            world.token(&[]).raw_body(form.clone()).field("client_id", &public.id),
            world.token(&[]).raw_body(form.clone()).header("Authorization", format!("{basic}!").as_bytes()),
            world.token(&[]).raw_body(form.clone() + "&code=x").client(&world.client),
            world.token(&[]).raw_body(form.clone() + "&redirect_uri=x").client(&world.client),
            world.post(Endpoint::Revocation, &[("token", &code)]).basic(&world.client.id, wrong),
            world.post(Endpoint::Introspection, &[("token", &code)]).basic(&world.client.id, wrong),
        ] {
            let response = call.send().await;
            assert!((400..500).contains(&response.status()));
            exposure.octets("an error", response.body());
            exposure.debug("Response", &response);
        }
        let issued = world.exchange(&code).await;
        exposure.debug("Response with tokens", &issued);
        let first = pair(&issued);
        exposure.pair(&first);
        let message: TokenResponse = serde_json::from_slice(issued.body()).unwrap();
        exposure.debug("TokenResponse", &message);

        // Refresh, in grace, use, introspection, and all that is refused.
        let second = pair(&world.refresh(&first.refresh).await);
        exposure.pair(&second);
        exposure.pair(&pair(&world.refresh(&first.refresh).await));
        for token in [&first.access, &second.access] {
            exposure.debug("Authenticated", &world.access(token).await.unwrap());
            let described = world.introspect_as(&world.client, token).await;
            exposure.octets("introspection", described.to_string().as_bytes());
        }
        for token in [&first.refresh, &code, &format!("{}x", second.access)] {
            let refused = world.access(token).await.unwrap_err();
            exposure.error("ResourceError", &refused);
            let response = refused.into_response();
            exposure.octets("a challenge", response.header("WWW-Authenticate").unwrap().as_bytes());
            let refused = world.refresh_as(&public, token).await;
            exposure.octets("an error", refused.body());
        }
        dump(&world, &mut exposure).await;
        world.revoke(&second.access).await;
        let replay = world.exchange(&code).await;
        exposure.octets("an error", replay.body());
        world.revoke(&second.refresh).await;
        dump(&world, &mut exposure).await;

        // A refusal of the user, and grants that end in other ways.
        world.decide(&query, Decision::Deny).await;
        for by_reuse in [true, false] {
            let old = world.pair().await;
            let new = pair(&world.refresh(&old.refresh).await);
            exposure.pair(&old);
            exposure.pair(&new);
            world.advance(1_000);
            world.revoke(&old.refresh).await;
            if by_reuse {
                exposure.octets("an error", world.refresh(&old.refresh).await.body());
            } else {
                world.revoke(&new.refresh).await;
            }
            assert!(!world.opens(&new.access).await);
        }
        dump(&world, &mut exposure).await;

        // The server, its events, and the types of secrets.
        exposure.debug("AuthorizationServer", &world.server);
        for (what, value) in [
            ("AccessToken", format!("{:?}", AccessToken::new(&*second.access))),
            ("RefreshToken", format!("{:?}", RefreshToken::new(&*second.refresh))),
            ("AuthorizationCode", format!("{:?}", AuthorizationCode::new(&*code))),
            ("ClientSecret", format!("{:?}", ClientSecret::new(&*world.client.secret))),
            ("CodeVerifier", format!("{:?}", CodeVerifier::new(VERIFIER).unwrap())),
        ] {
            exposure.octets(what, value.as_bytes());
        }
        let exchange = AuthorizationCodeExchange::new(AuthorizationCode::new(&*code))
            .code_verifier(CodeVerifier::new(VERIFIER).unwrap())
            .client_secret(ClientSecret::new(&*world.client.secret));
        exposure.debug("TokenRequest", &TokenRequest::from(exchange));
        let refresh = TokenRefresh::new(RefreshToken::new(&*second.refresh));
        exposure.debug("TokenRequest", &TokenRequest::from(refresh));
        exposure.debug("RevocationRequest", &RevocationRequest::new(&*second.access));
        let events = world.events.take();
        for name in [
            "Application",
            "CodeIssued",
            "Denied",
            "Exchanged",
            "CodeReplayed",
            "Refreshed ",
            "RefreshedInGrace",
            "RefreshTokenReused",
            "AccessTokenRevoked",
            "SupersededTokenAtRevocation",
            "GrantRevoked",
            "AuthenticationFailed",
            "Refused",
        ] {
            assert!(events.iter().any(|event| event.starts_with(name)), "{name}");
        }
        for event in events {
            exposure.octets("an event", event.as_bytes());
        }
        exposure.check();
    }
}

/// HTTP-04
///
/// The search itself finds what it looks for.
#[test]
fn a_secret_in_the_open_would_be_found() {
    let secret = "0123456789abcdefghij";
    for shown in [
        format!("{:?}", secret),
        format!("{:?}", secret.as_bytes()),
        STANDARD.encode(secret),
        secret.bytes().map(|octet| format!("{octet:02x}")).collect(),
    ] {
        let mut exposure = Exposure::default();
        exposure.secret("secret", secret);
        exposure.octets("a log", format!("before {shown} after").as_bytes());
        assert!(std::panic::catch_unwind(|| exposure.check()).is_err(), "{shown}");
    }
}
