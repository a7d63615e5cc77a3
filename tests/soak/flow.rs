//! What a connection asks for, flow after flow, and which answers are right.
//!
//! Tokens last 30 s here and are in grace for 5 s, see [`crate::server`]. Where the load itself comes too late to
//! know on which side of such a bound the server answers, it gives the flow up.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::connection::{Answer, Connection, Stop};
use crate::request::Request;
use crate::server::Server;

/// Tokens younger than this are good.
const SURELY_LIVE: Duration = Duration::from_secs(20);
/// Superseded tokens younger than this are in grace.
const SURELY_IN_GRACE: Duration = Duration::from_secs(3);
/// Grace and margin, 360 s of the server's clock, are over.
const SURELY_REUSED: Duration = Duration::from_millis(6500);

/// The application that the flows are of, and where its server is.
#[derive(Clone, Debug)]
pub(crate) struct Application {
    issuer: String,
    address: String,
    id: String,
    secret: String,
    redirect_uri: String,
    resource: String,
}

impl Application {
    pub(crate) fn of(server: &Server) -> Self {
        let about = |name| server.about(name).to_owned();
        let issuer = about("issuer");
        let resource = about("resource_url").replace(&issuer, "");
        let port = issuer.rsplit(':').next().unwrap();
        let address = format!("127.0.0.1:{port}");
        let (id, secret, redirect_uri) = (about("client_id"), about("client_secret"), about("redirect_uri"));
        Self { issuer, address, id, secret, redirect_uri, resource }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn host(&self) -> &str {
        self.issuer.trim_start_matches("http://")
    }
}

/// What the flows of a connection end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What a client does.
    Client,
    /// The user withdraws each grant on the platform's page.
    WithdrawsOne,
    /// The user withdraws all grants of the application there.
    WithdrawsAll,
}

/// The flows of one connection.
#[derive(Debug)]
pub(crate) struct Flows<'a> {
    connection: Connection<'a>,
    application: &'a Application,
    role: Role,
    cookies: String,
    turn: u32,
    /// One grant that is refreshed with every turn.
    chain: Option<Tokens>,
    reusable: VecDeque<Reusable>,
}

#[derive(Clone, Debug)]
struct Tokens {
    access: String,
    refresh: String,
    /// Before they were asked for.
    since: Instant,
}

/// A superseded refresh token that waits until its use is a reuse.
#[derive(Clone, Debug)]
struct Reusable {
    superseded: Tokens,
    /// After the refresh.
    since: Instant,
    newest: Tokens,
}

impl<'a> Flows<'a> {
    pub(crate) const fn new(
        connection: Connection<'a>,
        application: &'a Application,
        role: Role,
        cookies: String,
        turn: u32,
    ) -> Self {
        Self { connection, application, role, cookies, turn, chain: None, reusable: VecDeque::new() }
    }

    /// Goes through one flow after the other until the load is over.
    pub(crate) fn run(mut self) {
        while self.flow() != Err(Stop::Over) {
            self.turn += 1;
        }
    }

    fn flow(&mut self) -> Result<(), Stop> {
        self.wrong_request()?;
        if self.turn.is_multiple_of(4) {
            self.metadata()?;
        }
        match self.role {
            Role::Client => self.client_flow(),
            Role::WithdrawsOne => self.withdraw_one(),
            Role::WithdrawsAll => self.withdraw_all(),
        }
    }

    fn client_flow(&mut self) -> Result<(), Stop> {
        self.reuse()?;
        self.lengthen_chain()?;
        match self.turn % 10 {
            3 => return self.hold().map(drop),
            7 => return self.deny(),
            _ => {}
        }
        let code = self.code()?;
        let first = self.exchange(&code)?;
        self.resource("resource", &first, 200)?;
        self.introspect(&first, true)?;
        if self.turn % 10 == 1 {
            return self.replay_code(&code, &first);
        }
        let second = self.refresh("refresh", &first)?;
        let since = Instant::now();
        // An answer that was lost on its way: the client asks again, and both pairs are good.
        self.connection.in_time(second.since, SURELY_IN_GRACE)?;
        let sibling = self.refresh("refresh in grace", &first)?;
        self.connection.in_time(second.since, SURELY_IN_GRACE)?;
        self.resource("resource in grace", &first, 200)?;
        self.resource("resource", &second, 200)?;
        self.resource("resource", &sibling, 200)?;
        let after_second = self.refresh("refresh", &second)?;
        let newest = self.refresh("refresh", &sibling)?;
        self.resource("resource", &after_second, 200)?;
        self.introspect(&newest, true)?;
        match self.turn % 5 {
            0 => self.revoke_grant(&after_second, &newest),
            1 => self.revoke_access(&newest),
            2 => {
                self.reusable.push_back(Reusable { superseded: first, since, newest });
                Ok(())
            }
            // It ends by itself.
            3 => Ok(()),
            _ => self.take_for_chain(newest),
        }
    }

    /// The page that asks the user, and what its form holds.
    fn hold(&mut self) -> Result<Vec<(&'static str, String)>, Stop> {
        let Application { id, redirect_uri, .. } = self.application;
        let state = self.turn.to_string();
        let query = [("response_type", "code"), ("client_id", id), ("redirect_uri", redirect_uri), ("state", &state)];
        let target = format!("/oauth2/auth?{}", serde_urlencoded::to_string(query).unwrap());
        let page = self.connection.ask("authorize", 200, &Request::get(&target).cookies(&self.cookies))?;
        self.connection.add_record();
        if self.cookies.is_empty() {
            self.cookies = page.cookies();
        }
        let found = |name: &'static str, start| page.quoted_after(start).map(move |value| (name, value.to_owned()));
        let handle = found("handle", "name=\"handle\" value=\"");
        Ok(handle.chain(found("scope", "name=\"scope\" value=\"")).collect())
    }

    /// Where the user's answer leads.
    fn decide(&mut self, kind: &'static str, decision: &str) -> Result<Answer, Stop> {
        let form = self.hold()?;
        let form = form.iter().map(|(name, value)| (*name, &**value)).chain([("decision", decision)]);
        let request = Request::post("/consent", &form.collect::<Vec<_>>()).cookies(&self.cookies);
        let answer = self.connection.ask(kind, 302, &request)?;
        let comes_back = answer.header("location").starts_with(&self.application.redirect_uri)
            && self.parameter(&answer, "state") == Some(self.turn.to_string());
        if comes_back { Ok(answer) } else { Err(self.connection.fault(&format!("{kind}: {answer:?}"))) }
    }

    fn parameter(&self, answer: &Answer, name: &str) -> Option<String> {
        let (_, query) = answer.header("location").split_once('?')?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
        pairs.into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    fn deny(&mut self) -> Result<(), Stop> {
        let answer = self.decide("deny", "deny")?;
        let denied = self.parameter(&answer, "error").as_deref() == Some("access_denied");
        if denied { Ok(()) } else { Err(self.connection.fault(&format!("deny: {answer:?}"))) }
    }

    fn code(&mut self) -> Result<String, Stop> {
        let answer = self.decide("consent", "allow")?;
        self.parameter(&answer, "code").ok_or_else(|| self.connection.fault(&format!("no code: {answer:?}")))
    }

    fn exchange(&mut self, code: &str) -> Result<Tokens, Stop> {
        let tokens = self.tokens("exchange", &[("grant_type", "authorization_code"), ("code", code)])?;
        self.connection.add_record();
        Ok(tokens)
    }

    fn refresh(&mut self, kind: &'static str, old: &Tokens) -> Result<Tokens, Stop> {
        self.connection.in_time(old.since, SURELY_LIVE)?;
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*old.refresh)];
        // Every other flow asks for less.
        let form = if self.turn.is_multiple_of(2) {
            &[&form[..], &[("scope", "account-profile:r")]].concat()
        } else {
            &form[..]
        };
        let new = self.tokens(kind, form)?;
        if new.access == old.access || new.refresh == old.refresh {
            return Err(self.connection.fault(&format!("{kind}: the old tokens again")));
        }
        Ok(new)
    }

    fn tokens(&mut self, kind: &'static str, form: &[(&str, &str)]) -> Result<Tokens, Stop> {
        let since = Instant::now();
        let answer = self.ask_as_client(kind, 200, "/oauth2/token", form)?;
        let json = answer.json();
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let tokens = text("access_token").zip(text("refresh_token"));
        let tokens = tokens.map(|(access, refresh)| Tokens { access, refresh, since });
        tokens.ok_or_else(|| self.connection.fault(&format!("{kind}: {answer:?}")))
    }

    fn ask_as_client(
        &mut self,
        kind: &'static str,
        status: u16,
        target: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, Stop> {
        let Application { id, secret, .. } = self.application;
        self.connection.ask(kind, status, &Request::post(target, form).basic(id, secret))
    }

    fn resource(&mut self, kind: &'static str, tokens: &Tokens, status: u16) -> Result<(), Stop> {
        self.connection.in_time(tokens.since, SURELY_LIVE)?;
        let request = Request::get(&self.application.resource).bearer(&tokens.access);
        self.connection.ask(kind, status, &request).map(drop)
    }

    fn introspect(&mut self, tokens: &Tokens, is_active: bool) -> Result<(), Stop> {
        self.connection.in_time(tokens.since, SURELY_LIVE)?;
        let form = [("token", &*tokens.access)];
        let answer = self.ask_as_client("introspection", 200, "/oauth2/introspect", &form)?;
        let is_right = answer.json()["active"] == is_active;
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("introspection: {answer:?}"))) }
    }

    fn revoke(&mut self, kind: &'static str, token: &str) -> Result<(), Stop> {
        self.ask_as_client(kind, 200, "/oauth2/revoke", &[("token", token)]).map(drop)
    }

    fn refused_refresh(&mut self, kind: &'static str, tokens: &Tokens) -> Result<(), Stop> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.refresh)];
        let answer = self.ask_as_client(kind, 400, "/oauth2/token", &form)?;
        let is_right = answer.json()["error"] == "invalid_grant";
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("{kind}: {answer:?}"))) }
    }

    /// Nothing of a grant that is over works.
    fn assert_over(&mut self, tokens: &[&Tokens]) -> Result<(), Stop> {
        for tokens in tokens {
            self.resource("resource of what is over", tokens, 401)?;
            self.introspect(tokens, false)?;
            self.refused_refresh("refresh of what is over", tokens)?;
        }
        Ok(())
    }

    fn replay_code(&mut self, code: &str, tokens: &Tokens) -> Result<(), Stop> {
        let form = [("grant_type", "authorization_code"), ("code", code)];
        self.ask_as_client("exchange of a used code", 400, "/oauth2/token", &form)?;
        self.assert_over(&[tokens])
    }

    fn revoke_grant(&mut self, other: &Tokens, newest: &Tokens) -> Result<(), Stop> {
        self.revoke("revocation", &newest.refresh)?;
        self.assert_over(&[other, newest])?;
        self.revoke("revocation of what is over", &newest.refresh)
    }

    fn revoke_access(&mut self, tokens: &Tokens) -> Result<(), Stop> {
        self.revoke("revocation", &tokens.access)?;
        self.resource("resource of what is over", tokens, 401)?;
        self.refresh("refresh", tokens).map(drop)
    }

    /// Uses the old refresh tokens whose grace is over.
    fn reuse(&mut self) -> Result<(), Stop> {
        while self.reusable.front().is_some_and(|old| old.since.elapsed() >= SURELY_REUSED) {
            let Some(Reusable { superseded, newest, .. }) = self.reusable.pop_front() else { break };
            self.resource("resource", &newest, 200)?;
            self.connection.in_time(superseded.since, SURELY_LIVE)?;
            self.refused_refresh("reuse", &superseded)?;
            self.assert_over(&[&newest])?;
        }
        Ok(())
    }

    fn take_for_chain(&mut self, tokens: Tokens) -> Result<(), Stop> {
        self.chain.get_or_insert(tokens);
        Ok(())
    }

    fn lengthen_chain(&mut self) -> Result<(), Stop> {
        let Some(tokens) = self.chain.take() else { return Ok(()) };
        self.chain = Some(self.refresh("refresh", &tokens)?);
        Ok(())
    }

    fn metadata(&mut self) -> Result<(), Stop> {
        let answer = self.connection.ask("metadata", 200, &Request::get("/.well-known/oauth-authorization-server"))?;
        let is_right = answer.json()["issuer"] == self.application.issuer;
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("metadata: {answer:?}"))) }
    }

    fn withdraw_one(&mut self) -> Result<(), Stop> {
        let code = self.code()?;
        let tokens = self.exchange(&code)?;
        self.resource("resource", &tokens, 200)?;
        let page = self.authorized()?;
        let found = page.quoted_after("action=\"").find(|action| action.starts_with("/authorized/"));
        let action = found.ok_or_else(|| self.connection.fault("the grant is not listed"))?;
        self.withdraw(action, "/authorized?withdrawn")?;
        self.assert_over(&[&tokens])
    }

    fn withdraw_all(&mut self) -> Result<(), Stop> {
        let code = self.code()?;
        let first = self.exchange(&code)?;
        let code = self.code()?;
        let second = self.exchange(&code)?;
        let waiting = self.code()?;
        let action = format!("/authorized/applications/{}/withdraw", self.application.id);
        self.authorized()?;
        self.withdraw(&action, "/authorized?withdrawn-all")?;
        self.assert_over(&[&first, &second])?;
        // A code that was not exchanged is no grant yet: the exchange makes one, which goes on as it likes.
        self.exchange(&waiting)?;
        self.withdraw(&action, "/authorized?withdrawn-all")
    }

    fn authorized(&mut self) -> Result<Answer, Stop> {
        self.connection.ask("list of grants", 200, &Request::get("/authorized").cookies(&self.cookies))
    }

    fn withdraw(&mut self, action: &str, leads_to: &str) -> Result<(), Stop> {
        let answer = self.connection.ask("withdrawal", 303, &Request::post(action, &[]).cookies(&self.cookies))?;
        let is_right = answer.header("location") == leads_to;
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("withdrawal: {answer:?}"))) }
    }

    /// One of the requests that no server takes.
    fn wrong_request(&mut self) -> Result<(), Stop> {
        let Application { id, secret, resource, .. } = self.application;
        let token = |form: &[(&str, &str)]| Request::post("/oauth2/token", form);
        let stranger = format!("/oauth2/auth?response_type=code&client_id={id}&redirect_uri=https://evil.example/");
        let (status, request) = match self.turn % 10 {
            0 => (401, token(&[("grant_type", "refresh_token"), ("refresh_token", "x")]).basic(id, "wrong")),
            1 => (400, token(&[("grant_type", "authorization_code"), ("code", "ac_unknown")]).basic(id, secret)),
            2 => (400, token(&[("grant_type", "refresh_token"), ("refresh_token", "x")]).basic(id, secret)),
            3 => (400, Request::get(&stranger).cookies(&self.cookies)),
            4 => (401, Request::get(resource)),
            5 => (400, token(&[("grant_type", "password")]).basic(id, secret)),
            6 => (400, token(&[("code", "x"), ("code", "x")]).basic(id, secret)),
            7 => (405, Request::get("/oauth2/token")),
            8 => (404, Request::get("/nothing")),
            _ => (401, Request::get(resource).bearer("at_unknown")),
        };
        self.connection.ask("wrong request", status, &request).map(drop)
    }
}
