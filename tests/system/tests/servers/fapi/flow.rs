//! One user who comes from a client, and what that client does.

use std::cell::RefCell;

use support::keys::{Signer, new_id};
use support::world::{CHALLENGE, VERIFIER, encode};
use support_servers::http::{Answer, Page, Request};
use url::Url;

use crate::fapi::answers::{Tokens, created, ok, parameter, redirected, served};
use crate::fapi::call::{Call, PUSH, TOKEN};
use crate::fapi::fixture::{CALLBACK, Fixture, Party, SCOPE};

/// How a client gets its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grant {
    Code,
    ClientCredentials,
}

pub(crate) const GRANTS: [Grant; 2] = [Grant::Code, Grant::ClientCredentials];

/// A client's way through the flow. The key of proofs is its own.
pub(crate) struct Flow<'f> {
    pub(crate) fixture: &'f Fixture,
    pub(crate) party: Party,
    pub(crate) key: Signer,
    pub(crate) state: Option<String>,
    pub(crate) redirect_uri: String,
    pub(crate) cookies: RefCell<String>,
}

impl<'f> Flow<'f> {
    pub(crate) fn new(fixture: &'f Fixture, number: usize) -> Self {
        Self {
            fixture,
            party: fixture.parties[number].clone(),
            key: Signer::fresh(),
            state: Some(new_id()),
            redirect_uri: CALLBACK.into(),
            cookies: RefCell::default(),
        }
    }

    /// A pushed request, without a proof.
    pub(crate) fn push(&self) -> Call<'f> {
        let call = Call::post(self.fixture, PUSH)
            .field("client_id", self.party.id)
            .field("response_type", "code")
            .field("redirect_uri", &self.redirect_uri)
            .field("scope", SCOPE)
            .field("code_challenge", CHALLENGE)
            .field("code_challenge_method", "S256")
            .signed(&self.party);
        match &self.state {
            Some(state) => call.field("state", state),
            None => call,
        }
    }

    /// The link that the client sends the browser to, with what the suite adds and no server reads.
    pub(crate) fn link(&self, request_uri: &str) -> Url {
        let more = [("redirect_uri", &*self.redirect_uri), ("response_type", "code"), ("scope", SCOPE)];
        self.link_with(request_uri, &more)
    }

    pub(crate) fn link_with(&self, request_uri: &str, more: &[(&str, &str)]) -> Url {
        self.link_of(&[&[("request_uri", request_uri), ("client_id", self.party.id)], more].concat())
    }

    pub(crate) fn link_of(&self, query: &[(&str, &str)]) -> Url {
        let query = encode(query);
        Url::parse(&format!("http://{}/oauth2/auth?{query}", self.fixture.address)).unwrap()
    }

    /// Opens a link, wherever it leads.
    pub(crate) async fn visit(&self, link: &Url) -> Answer {
        let cookies = self.cookies.borrow().clone();
        Request::to("GET", link).cookies(&cookies).send().await
    }

    /// Opens a link that must show the consent page.
    pub(crate) async fn consent_page(&self, link: &Url) -> Page {
        let cookies = self.cookies.borrow().clone();
        let page = Page::open(link, &cookies).await;
        page.cookies.clone_into(&mut self.cookies.borrow_mut());
        page
    }

    /// Opens a link and presses a button.
    pub(crate) async fn decide(&self, link: &Url, button: &str) -> Answer {
        self.consent_page(link).await.submit(&[("decision", button)]).await
    }

    /// The code of a redirect, which has what a success has.
    #[track_caller]
    pub(crate) fn code_of(&self, answer: &Answer) -> String {
        let parameters = redirected(answer, &self.redirect_uri);
        assert_eq!(parameter(&parameters, "state"), self.state.as_deref());
        let mut names: Vec<_> = parameters.iter().map(|(name, _)| name.as_str()).collect();
        names.retain(|name| *name != "state");
        names.sort_unstable();
        assert_eq!(names, ["code", "iss"]);
        let code = parameter(&parameters, "code").unwrap();
        assert!(crate::fapi::answers::letters(code) >= 128.0, "{code}");
        code.to_owned()
    }

    /// The code of a request that was pushed so.
    pub(crate) async fn code_after(&self, push: Call<'_>) -> String {
        let uri = created(&push.send().await);
        self.code_of(&self.decide(&self.link(&uri), "allow").await)
    }

    pub(crate) async fn code(&self) -> String {
        self.code_after(self.push()).await
    }

    /// The exchange of a code, with a proof.
    pub(crate) fn exchange(&self, code: &str) -> Call<'f> {
        let call = Call::post(self.fixture, TOKEN)
            .field("grant_type", "authorization_code")
            .field("code", code)
            .field("redirect_uri", &self.redirect_uri)
            .field("code_verifier", VERIFIER);
        call.signed(&self.party).proof(&self.key)
    }

    /// A good token request of that grant.
    pub(crate) async fn token_request(&self, grant: Grant) -> Call<'f> {
        match grant {
            Grant::Code => self.exchange(&self.code().await),
            Grant::ClientCredentials => {
                let call = Call::post(self.fixture, TOKEN).field("grant_type", "client_credentials");
                call.field("scope", SCOPE).signed(&self.party).proof(&self.key)
            }
        }
    }

    pub(crate) async fn tokens(&self, grant: Grant) -> Tokens {
        let tokens = ok(&self.token_request(grant).await.send().await);
        assert_eq!(tokens.refresh.is_empty(), grant == Grant::ClientCredentials);
        tokens
    }

    /// A refresh, with a proof by that key.
    pub(crate) fn refresh(&self, token: &str, key: &Signer) -> Call<'f> {
        let call = Call::post(self.fixture, TOKEN).field("grant_type", "refresh_token").field("refresh_token", token);
        call.signed(&self.party).proof(key)
    }

    /// A request to the resource with the key of the flow.
    pub(crate) fn resource(&self, token: &str) -> Call<'f> {
        Call::resource(self.fixture, token, &self.key)
    }

    /// All of it, from that pushed request to the resource.
    pub(crate) async fn succeeds_after(&self, push: Call<'_>) -> Tokens {
        let code = self.code_after(push).await;
        let tokens = ok(&self.exchange(&code).send().await);
        served(self.fixture, &self.resource(&tokens.access).send().await);
        tokens
    }
}
