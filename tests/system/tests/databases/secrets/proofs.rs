//! DPoP proofs and pushed requests: no part of what proves or authenticates is anywhere, though keys are remembered.

use grantor::client::AuthenticationMethods;
use grantor::id::PushedRequestId;
use grantor::store::{PushedRequest, Record, RecordStore};
use grantor::wire::{Body, Endpoint, Request, Response};
use grantor::{Clock, Consent, Decision};
use support::keys::{Signer, new_id, unchanged};
use support::world::{Credentials, PKCE, SESSION, VERIFIER, code, created, encode, form, pair, text};

use crate::secrets::flow::{Flow, JWT_BEARER};

impl Flow {
    /// Binds a grant to a key, and is refused with copies and forgeries.
    pub(crate) async fn proofs(&mut self) {
        let signer = Signer::es256();
        let url = format!("{}/oauth2/token", self.world.server.issuer());
        let identifier = new_id();
        self.exposure.secret("jti of a proof", &identifier, None);
        let now = self.world.clock.now().seconds().into();
        let proof = signer.proof("POST", &url, now, |_, claims| claims["jti"] = identifier.into());
        let code = self.world.code().await;
        let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", VERIFIER)];
        let answer = self.proven(&form, &proof).await;
        assert!(String::from_utf8_lossy(answer.body()).contains("DPoP"));
        let carrier = self.answer("the tokens of a bound grant", &answer);
        let first = pair(&answer);
        self.exposure.pair(&first, carrier);

        let form = [("grant_type", "refresh_token"), ("refresh_token", first.refresh.as_str())];
        let (signed, _) = proof.rsplit_once('.').unwrap();
        for faulty in [proof.clone(), format!("{signed}.AA"), format!("{proof}, {proof}"), proof.replace('.', "")] {
            let refused = self.proven(&form, &faulty).await;
            assert_eq!(refused.status(), 400);
            self.answer("a refused proof", &refused);
        }
        let grants = self.world.server.grants_of(&self.world.alice).await.unwrap();
        self.exposure.debug("Grant", &grants);
        self.look_at_store().await;
    }

    /// Pushes with an assertion and with a secret, both with a proof, and the user agrees.
    pub(crate) async fn pushes(&mut self) {
        let signer = Signer::es256();
        let mut form = form();
        form.authentication_methods = AuthenticationMethods::KEY;
        form.jwks = Some(signer.key_set());
        let (keyed, own) = (self.world.register(form).await, self.world.client.clone());
        let now = self.world.clock.now().seconds().into();
        let issuer = self.world.server.issuer().to_owned();
        for client in [keyed, own] {
            let proof = signer.another().proof("POST", &format!("{issuer}/oauth2/par"), now, unchanged);
            let call = self.world.post(Endpoint::PushedAuthorization, &[]);
            let call = call.raw_body(self.world.query_of(&client, &PKCE)).header("DPoP", proof.as_bytes());
            let assertion = signer.assertion(&client.id, &issuer, now, unchanged);
            let answer = if client.secret.is_empty() {
                let call = call.field("client_assertion_type", JWT_BEARER);
                call.field("client_assertion", &assertion).send().await
            } else {
                call.field("client_secret", &client.secret).send().await
            };
            for part in assertion.split('.').chain(proof.split('.')).filter(|part| part.len() > 40) {
                self.exposure.secret("part of what authenticated a push", part, None);
            }
            let carrier = self.answer("the answer to a push", &answer);
            let uri = created(&answer);
            let (id, secret) = uri.rsplit_once(':').unwrap().1.split_at(22);
            self.exposure.secret("request_uri", secret, Some(carrier));
            self.agrees(&client, &uri).await;
            let id: grantor::id::AuthorizationId = id.parse().unwrap();
            let id = PushedRequestId::from_bytes(*id.as_bytes());
            let record = RecordStore::<PushedRequest>::find(&self.world.store, &id).await.unwrap().unwrap();
            self.exposure.stored("a pushed request", record.encode());
            self.exposure.debug("PushedRequest", &record);
        }
        self.look_at_store().await;
    }

    /// The user opens a pushed request and agrees.
    async fn agrees(&mut self, client: &Credentials, uri: &str) {
        let world = &self.world;
        let query = encode(&[("client_id", &client.id), ("request_uri", uri)]);
        let pending = world.visit(&query, SESSION, Some(&world.alice)).await.unwrap();
        self.exposure.debug("PendingAuthorization", &pending);
        let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
        self.exposure.token("handle", handle.expose(), None);
        let approve = Decision::Approve(Consent::to_everything());
        let decided = world.server.decide(handle.expose(), &world.alice, SESSION, &approve).await.unwrap();
        let carrier = self.exposure.answer("the redirect of a pushed request", &decided);
        self.exposure.token("code", &text(&code(&decided), "code"), Some(carrier));
        let late = world.visit(&query, SESSION, Some(&world.alice)).await.unwrap_err();
        self.exposure.error("AuthorizationError", &late);
        self.exposure.answer("the page for a used request", &late.response(Some(&world.alice)));
    }

    async fn proven(&mut self, form: &[(&str, &str)], proof: &str) -> Response {
        for part in proof.split('.').filter(|part| part.len() > 16) {
            self.exposure.secret("part of a proof", part, None);
        }
        let client = &self.world.client;
        let form =
            encode(&[form, &[("client_id", client.id.as_str()), ("client_secret", client.secret.as_str())]].concat());
        let request = Request::new("POST").header("Content-Type", b"application/x-www-form-urlencoded");
        let request = request.header("DPoP", proof.as_bytes()).body(Body::Bytes(form.as_bytes()));
        let request = request.peer([192, 0, 2, 1].into());
        self.exposure.debug("Request", &request);
        self.world.server.serve(Endpoint::Token, &request).await
    }
}
