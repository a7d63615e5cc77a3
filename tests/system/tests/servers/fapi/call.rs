//! A request of a client, signed as the suite signs.

use serde_json::Value;
use support::keys::{Signer, token_hash};
use support::world::encode;
use support_servers::http::{Answer, Request};

use crate::fapi::fixture::{Fixture, ISSUER, Party};

pub(crate) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
pub(crate) const TOKEN: &str = "/oauth2/token";
pub(crate) const PUSH: &str = "/oauth2/par";
pub(crate) const RESOURCE: &str = "/api/me";

type Change<'f> = Box<dyn Fn(&mut Value, &mut Value) + 'f>;

/// A request to the token endpoint, to that for pushed requests, or to the resource, with what changes before it is
/// sent.
pub(crate) struct Call<'f> {
    fixture: &'f Fixture,
    method: &'static str,
    path: &'static str,
    form: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    proof: Option<(Signer, Change<'f>)>,
    access_token: Option<String>,
}

impl<'f> Call<'f> {
    pub(crate) fn post(fixture: &'f Fixture, path: &'static str) -> Self {
        Self { fixture, method: "POST", path, form: vec![], headers: vec![], proof: None, access_token: None }
    }

    /// A request to the resource with that token under the DPoP scheme, and with a proof by that key.
    pub(crate) fn resource(fixture: &'f Fixture, token: &str, key: &Signer) -> Self {
        let call = Self { method: "GET", access_token: Some(token.to_owned()), ..Self::post(fixture, RESOURCE) };
        call.header("Authorization", format!("DPoP {token}")).proof(key)
    }

    pub(crate) fn method(self, method: &'static str) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn field(self, name: &str, value: impl Into<String>) -> Self {
        let mut call = self.without(name);
        call.form.push((name.to_owned(), value.into()));
        call
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.form.retain(|(own, _)| own != name);
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.headers.retain(|(own, _)| own != name);
        self
    }

    /// Authenticates that client.
    pub(crate) fn signed(self, party: &Party) -> Self {
        self.signed_with(party, |_, _| {})
    }

    /// The same with a changed assertion.
    pub(crate) fn signed_with(self, party: &Party, change: impl Fn(&mut Value, &mut Value)) -> Self {
        let assertion = assertion(self.fixture, party, change);
        self.asserted(&assertion)
    }

    pub(crate) fn asserted(self, assertion: &str) -> Self {
        self.field("client_assertion_type", ASSERTION_TYPE).field("client_assertion", assertion)
    }

    /// Sends a proof by that key.
    pub(crate) fn proof(self, key: &Signer) -> Self {
        self.proof_with(key, |_, _| {})
    }

    /// The same with a changed proof. A nonce that was demanded is in it before it is changed.
    pub(crate) fn proof_with(self, key: &Signer, change: impl Fn(&mut Value, &mut Value) + 'f) -> Self {
        Self { proof: Some((key.clone(), Box::new(change))), ..self }
    }

    pub(crate) fn without_proof(self) -> Self {
        Self { proof: None, ..self }
    }

    /// Sends it, and a second time if a nonce is demanded: with the same assertion and a new proof.
    pub(crate) async fn send(&self) -> Answer {
        let answer = self.send_once().await;
        let is_demanded = match self.role() {
            0 => answer.json()["error"] == "use_dpop_nonce",
            _ => answer.headers_of("www-authenticate").any(|challenge| challenge.contains("\"use_dpop_nonce\"")),
        };
        if !is_demanded || self.proof.is_none() {
            return answer;
        }
        assert!(self.fixture.variant.has_nonces && answer.header("dpop-nonce").is_some(), "{answer:?}");
        assert_eq!(answer.status, [400, 401][self.role()], "{answer:?}");
        self.send_once().await
    }

    /// Sends it once, and keeps the nonce of the answer.
    pub(crate) async fn send_once(&self) -> Answer {
        let fields: Vec<_> = self.form.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut request = Request::new(self.method, self.path);
        if self.method != "GET" {
            request = request.header("Content-Type", support::world::FORM).body(encode(&fields));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(proof) = self.made_proof() {
            request = request.header("DPoP", proof);
        }
        let answer = request.send_to(self.fixture.address).await;
        let nonce = answer.header("dpop-nonce").map(str::to_owned);
        assert!(nonce.is_none() || self.fixture.variant.has_nonces, "a nonce that was not required: {answer:?}");
        if nonce.is_some() {
            self.fixture.nonces.borrow_mut()[self.role()] = nonce;
        }
        answer
    }

    /// The proof as it is sent next.
    pub(crate) fn made_proof(&self) -> Option<String> {
        let (key, change) = self.proof.as_ref()?;
        let url = format!("{ISSUER}{}", self.path);
        Some(key.proof(self.method, &url, self.fixture.now(), |header, claims| {
            if let Some(nonce) = &self.fixture.nonces.borrow()[self.role()] {
                claims["nonce"] = nonce.as_str().into();
            }
            if let Some(token) = &self.access_token {
                claims["ath"] = token_hash(token).into();
            }
            change(header, claims);
        }))
    }

    /// 0 at the authorization server, 1 at the resource.
    fn role(&self) -> usize {
        usize::from(self.path == RESOURCE)
    }
}

/// An assertion as the suite makes it, changed before it is signed.
pub(crate) fn assertion(fixture: &Fixture, party: &Party, change: impl Fn(&mut Value, &mut Value)) -> String {
    party.key.assertion(party.id, ISSUER, fixture.now(), |header, claims| {
        claims["nbf"] = claims["iat"].clone();
        change(header, claims);
    })
}
