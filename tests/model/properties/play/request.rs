//! Requests of users, clients and resource servers: what is sent, and what is kept of the answers.

use grantor::wire::{Endpoint, Response};
use grantor::{Consent, Decision};

use crate::properties::action::{By, USERS};
use crate::properties::model::{Answer, Answerer, Caller, Kind, Rights, Sent};
use crate::properties::play::{ID, Play};
use support::world::{self, Call, PKCE, REDIRECT_URI, SESSION, VERIFIER, parameters};

/// Where the secret of a refresh token begins, behind its prefix and the id.
const SECRET: usize = 25;
/// RFC 7636's characters, and not the verifier of the challenge.
const WRONG_VERIFIER: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

impl Play {
    pub(super) async fn ask(
        &mut self,
        client: usize,
        user: usize,
        rights: Option<Rights>,
        has_challenge: bool,
    ) -> Result<(), String> {
        let expected = self.model.ask(client, user, rights, has_challenge);
        let scope = rights.map(Rights::text);
        let mut more = vec![("redirect_uri", REDIRECT_URI)];
        more.extend(scope.as_deref().map(|scope| ("scope", scope)));
        more.extend(PKCE.iter().copied().filter(|_| has_challenge));
        let query = self.world.query_of(&self.clients[client], &more);
        let answer = match self.world.authorize(&query).await {
            Ok(pending) => {
                let handle = self.world.server.hold(&pending, &self.users[user], SESSION).await.unwrap();
                let id = &handle.expose()[ID];
                // Only the last request that had the record can still have it.
                if let Some(old) = self.handles.iter().rposition(|own| own[ID] == *id) {
                    self.model.taken_over(old)?;
                    *self.tally.entry("a record again").or_default() += 1;
                }
                if !self.model.is_within_bound() {
                    return Err("too many requests are held".to_owned());
                }
                self.handles.push(handle.expose().to_owned());
                self.codes.push(String::new());
                Outcome { status: 200, error: String::new() }
            }
            Err(error) => outcome(&error.response(Some(&self.users[user]))),
        };
        self.agree(expected, answer)
    }

    pub(super) async fn approve(&mut self, request: usize, chosen: Option<Rights>, by: Answerer) -> Result<(), String> {
        let expected = self.model.approve(request, chosen, by);
        let consent = Consent::to_everything();
        let consent = match chosen {
            None => consent,
            Some(rights) => consent.scopes(rights.text().split(' ')),
        };
        let (answer, code) = self.decide(request, Decision::Approve(consent), by).await;
        self.agree(expected, answer)?;
        if expected.is_good() {
            if !self.codes[request].is_empty() {
                *self.tally.entry("a code again").or_default() += 1;
                self.equal("the code again", &code, &self.codes[request])?;
            }
            self.codes[request] = code;
        }
        Ok(())
    }

    pub(super) async fn decide(&self, request: usize, decision: Decision, by: Answerer) -> (Outcome, String) {
        let user = self.model.requests[request].user;
        let (user, session) = match by {
            Answerer::TheUser => (user, SESSION),
            Answerer::AnotherUser => ((user + 1) % USERS, SESSION),
            Answerer::TheUserElsewhere => (user, b"another browser".as_slice()),
        };
        let user = &self.users[user];
        let response = match self.world.server.decide(&self.handles[request], user, session, &decision).await {
            Ok(response) => response,
            Err(error) => error.response(Some(user)),
        };
        let code = response.header("Location").map(|location| parameter(location, "code")).unwrap_or_default();
        (outcome(&response), code)
    }

    pub(super) async fn exchange(
        &mut self,
        request: usize,
        by: By,
        verifier: Sent,
        redirect_uri: Sent,
    ) -> Result<(), String> {
        // A request without a challenge has no verifier either, unless a wrong one is wanted.
        let verifier = match (self.model.requests[request].has_challenge, verifier) {
            (false, Sent::Right) => Sent::Nothing,
            (_, verifier) => verifier,
        };
        let caller = self.caller(by, self.model.requests[request].client);
        let before = self.model.pairs.len();
        let expected = self.model.exchange(request, caller, verifier, redirect_uri);
        let mut form = vec![("grant_type", "authorization_code"), ("code", self.codes[request].as_str())];
        match verifier {
            Sent::Right => form.push(("code_verifier", VERIFIER)),
            Sent::Wrong => form.push(("code_verifier", WRONG_VERIFIER)),
            Sent::Nothing => {}
        }
        match redirect_uri {
            Sent::Right => form.push(("redirect_uri", REDIRECT_URI)),
            Sent::Wrong => form.push(("redirect_uri", "https://app.example.com/other")),
            Sent::Nothing => {}
        }
        let response = self.with_credentials(self.world.token(&form), caller).send().await;
        self.agree(expected, outcome(&response))?;
        if self.model.pairs.len() > before {
            self.keep_pair(&response)?;
            let pair = self.pairs.last().ok_or("no pair")?;
            let token = self.world.access(&pair.access).await.map_err(|error| format!("a first use: {error}"))?;
            self.grants.extend(token.grant());
        }
        Ok(())
    }

    pub(super) async fn refresh(&mut self, pair: usize, by: By, rights: Option<Rights>) -> Result<(), String> {
        let caller = self.caller(by, self.owner(pair));
        let (expected, returned) = self.model.refresh(pair, caller, rights);
        let scope = rights.map(Rights::text);
        let mut form = vec![("grant_type", "refresh_token"), ("refresh_token", self.pairs[pair].refresh.as_str())];
        form.extend(scope.as_deref().map(|scope| ("scope", scope)));
        let response = self.with_credentials(self.world.token(&form), caller).send().await;
        self.agree(expected, outcome(&response))?;
        let Some(number) = returned else { return Ok(()) };
        if number == self.pairs.len() {
            self.keep_pair(&response)?;
        } else {
            self.given_again(number, &response)?;
        }
        match self.model.pairs[number].repeats {
            None => Ok(()),
            Some(holder) => {
                self.equal("the refresh token that stays", &self.pairs[number].refresh, &self.pairs[holder].refresh)
            }
        }
    }

    /// The same two texts, with the lifetime that is left.
    fn given_again(&mut self, number: usize, response: &Response) -> Result<(), String> {
        *self.tally.entry("a pair again").or_default() += 1;
        let token = world::ok(response);
        let left = self.model.access_end(&self.model.pairs[number]) - self.model.now;
        self.equal("the lifetime that is left", &token.expires_in, &Some(left.into()))?;
        self.equal("the pair again", &world::pair(response), &self.pairs[number])
    }

    /// A refresh token that was never issued, made of two that were.
    pub(super) async fn forge(&mut self, pair: usize, other: usize, place: usize, by: By) -> Result<(), String> {
        let caller = self.caller(by, self.owner(pair));
        let place = SECRET + place;
        let (own, others) = (&self.pairs[pair].refresh, &self.pairs[other].refresh);
        let mut forged = format!("{}{}", &own[..place], &others[place..]);
        if self.pairs.iter().any(|pair| pair.refresh == forged) {
            let altered = if forged.as_bytes()[place] == b'A' { "B" } else { "A" };
            forged.replace_range(place..=place, altered);
        }
        let expected = self.model.forged(caller);
        let form = [("grant_type", "refresh_token"), ("refresh_token", forged.as_str())];
        let refreshed = self.with_credentials(self.world.token(&form), caller).send().await;
        self.agree(expected, outcome(&refreshed))?;
        let revoked = self.world.post(Endpoint::Revocation, &[("token", &forged)]);
        let revoked = self.with_credentials(revoked, caller).send().await;
        self.agree(if expected == Answer::NO_GRANT { Answer::OK } else { expected }, outcome(&revoked))
    }

    /// Checks the response with a new pair, which the client keeps.
    pub(super) fn keep_pair(&mut self, response: &Response) -> Result<(), String> {
        let token = world::ok(response);
        let expected = self.model.pairs.last().ok_or("no pair in the model")?;
        self.equal("the scope", &token.scope.clone().unwrap_or_default(), &expected.scope.text())?;
        self.equal("the lifetime", &token.expires_in, &Some(28_800))?;
        self.pairs.push(world::pair(response));
        Ok(())
    }

    pub(super) async fn revoke(&mut self, pair: usize, kind: Kind, by: By) -> Result<(), String> {
        let caller = self.caller(by, self.owner(pair));
        let expected = self.model.revoke(pair, kind, caller);
        let token = match kind {
            Kind::Access => &self.pairs[pair].access,
            Kind::Refresh => &self.pairs[pair].refresh,
        };
        let call = self.world.post(Endpoint::Revocation, &[("token", token)]);
        let response = self.with_credentials(call, caller).send().await;
        self.agree(expected, outcome(&response))
    }

    /// A client with a secret learns about its own valid tokens, and about no others.
    pub(super) async fn introspect(&mut self, pair: usize, by: By) -> Result<(), String> {
        let owner = self.owner(pair);
        let caller = self.caller(by, owner);
        let client = &self.model.clients[caller.client];
        let call = self.world.post(Endpoint::Introspection, &[("token", &self.pairs[pair].access)]);
        let response = self.with_credentials(call, caller).send().await;
        if client.is_public || client.is_suspended || caller.has_wrong_secret {
            return self.agree(Answer::NO_CLIENT, outcome(&response));
        }
        let json: serde_json::Value = serde_json::from_slice(response.body()).map_err(|error| error.to_string())?;
        let expected = self.model.access(pair).filter(|_| owner == caller.client);
        let shown = (json["active"] == true).then(|| (json["scope"].to_string(), json["exp"].to_string()));
        let expected = expected.map(|(rights, end)| (format!("\"{}\"", rights.text()), end.to_string()));
        self.equal("an introspection", &shown, &expected)
    }

    pub(super) fn owner(&self, pair: usize) -> usize {
        self.model.families[self.model.pairs[pair].family].client
    }

    pub(super) fn caller(&self, by: By, owner: usize) -> Caller {
        match by {
            By::ItsClient => Caller { client: owner, has_wrong_secret: false },
            By::ItsClientWithAWrongSecret => {
                Caller { client: owner, has_wrong_secret: !self.model.clients[owner].is_public }
            }
            By::Client(client) => Caller { client, has_wrong_secret: false },
        }
    }

    pub(super) fn with_credentials<'w>(&self, call: Call<'w>, caller: Caller) -> Call<'w> {
        let client = &self.clients[caller.client];
        if caller.has_wrong_secret { call.basic(&client.id, "wrong") } else { call.client(client) }
    }
}

/// What an answer said: its status, and the error of its body or its redirect.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) status: u16,
    pub(super) error: String,
}

fn outcome(response: &Response) -> Outcome {
    let error = match response.header("Location") {
        Some(location) => parameter(location, "error"),
        None => {
            let json: serde_json::Value = serde_json::from_slice(response.body()).unwrap_or_default();
            json["error"].as_str().unwrap_or_default().to_owned()
        }
    };
    Outcome { status: response.status(), error }
}

fn parameter(location: &str, name: &str) -> String {
    let found = parameters(location).into_iter().find(|(own, _)| own == name);
    found.map(|(_, value)| String::from_utf8(value).unwrap()).unwrap_or_default()
}
