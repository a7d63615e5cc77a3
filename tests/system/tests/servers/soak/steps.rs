//! The steps of a flow: each request, and which answer is right.

use std::time::Duration;

use support_servers::http::{Answer, Request};
use tokio::time::Instant;

use crate::soak::application::Application;
use crate::soak::connection::Stop;
use crate::soak::flow::Flows;

/// Tokens younger than this are good.
pub(crate) const SURELY_LIVE: Duration = Duration::from_secs(20);

/// The list of authorized applications, of the platform alone.
const AUTHORIZED: &str = "/oauth2/auth/applications";

#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    /// Before they were asked for.
    pub(crate) since: Instant,
}

/// The form of the page that asks the user.
pub(crate) struct Form {
    action: String,
    fields: Vec<(&'static str, String)>,
}

impl Flows<'_> {
    /// The page that asks the user, and what its form holds.
    pub(crate) fn hold(&mut self) -> Result<Form, Stop> {
        let Application { id, redirect_uri, .. } = self.application;
        let state = self.turn.to_string();
        let query = [("response_type", "code"), ("client_id", id), ("redirect_uri", redirect_uri), ("state", &state)];
        let target = format!("/oauth2/auth?{}", serde_urlencoded::to_string(query).unwrap());
        let page = self.connection.ask("authorize", 200, Request::get(&target).cookies(&self.cookies))?;
        self.connection.add_record();
        self.cookies = page.cookies_after(&self.cookies);
        let html = page.text();
        let found = |name: &'static str, start| quoted_after(&html, start).map(move |value| (name, value.to_owned()));
        let handle = found("handle", "name=\"handle\" value=\"");
        let fields = handle.chain(found("scope", "name=\"scope\" value=\"")).collect();
        let form = html.split("<form ").find(|form| form.contains("name=\"handle\"")).unwrap_or_default();
        let action = quoted_after(form, "action=\"").next().unwrap_or_default().to_owned();
        Ok(Form { action, fields })
    }

    /// Where the user's answer leads.
    pub(crate) fn decide(&mut self, kind: &'static str, decision: &str) -> Result<Answer, Stop> {
        let form = self.hold()?;
        let fields = form.fields.iter().map(|(name, value)| (*name, &**value)).chain([("decision", decision)]);
        let request = Request::post(&form.action, &fields.collect::<Vec<_>>()).cookies(&self.cookies);
        let answer = self.connection.ask(kind, 302, request)?;
        let comes_back = location(&answer).starts_with(&self.application.redirect_uri)
            && self.parameter(&answer, "state") == Some(self.turn.to_string());
        if comes_back { Ok(answer) } else { Err(self.connection.fault(&format!("{kind}: {answer:?}"))) }
    }

    pub(crate) fn parameter(&self, answer: &Answer, name: &str) -> Option<String> {
        let (_, query) = location(answer).split_once('?')?;
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
        pairs.into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
    }

    pub(crate) fn deny(&mut self) -> Result<(), Stop> {
        let answer = self.decide("deny", "deny")?;
        let denied = self.parameter(&answer, "error").as_deref() == Some("access_denied");
        if denied { Ok(()) } else { Err(self.connection.fault(&format!("deny: {answer:?}"))) }
    }

    pub(crate) fn code(&mut self) -> Result<String, Stop> {
        let answer = self.decide("consent", "allow")?;
        self.parameter(&answer, "code").ok_or_else(|| self.connection.fault(&format!("no code: {answer:?}")))
    }

    pub(crate) fn exchange(&mut self, code: &str) -> Result<Tokens, Stop> {
        let tokens = self.tokens("exchange", &[("grant_type", "authorization_code"), ("code", code)])?;
        self.connection.add_record();
        Ok(tokens)
    }

    pub(crate) fn refresh(&mut self, kind: &'static str, old: &Tokens) -> Result<Tokens, Stop> {
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

    pub(crate) fn tokens(&mut self, kind: &'static str, form: &[(&str, &str)]) -> Result<Tokens, Stop> {
        let since = Instant::now();
        let answer = self.ask_as_client(kind, 200, "/oauth2/token", form)?;
        let json = answer.json();
        let text = |name: &str| json[name].as_str().map(str::to_owned);
        let tokens = text("access_token").zip(text("refresh_token"));
        let tokens = tokens.map(|(access, refresh)| Tokens { access, refresh, since });
        tokens.ok_or_else(|| self.connection.fault(&format!("{kind}: {answer:?}")))
    }

    pub(crate) fn ask_as_client(
        &mut self,
        kind: &'static str,
        status: u16,
        target: &str,
        form: &[(&str, &str)],
    ) -> Result<Answer, Stop> {
        let Application { id, secret, .. } = self.application;
        self.connection.ask(kind, status, Request::post(target, form).basic(id, secret))
    }

    pub(crate) fn resource(&mut self, kind: &'static str, tokens: &Tokens, status: u16) -> Result<(), Stop> {
        self.connection.in_time(tokens.since, SURELY_LIVE)?;
        let request = Request::get(&self.application.resource).bearer(&tokens.access);
        self.connection.ask(kind, status, request).map(drop)
    }

    pub(crate) fn introspect(&mut self, tokens: &Tokens, is_active: bool) -> Result<(), Stop> {
        self.connection.in_time(tokens.since, SURELY_LIVE)?;
        let form = [("token", &*tokens.access)];
        let answer = self.ask_as_client("introspection", 200, "/oauth2/introspect", &form)?;
        let is_right = answer.json()["active"] == is_active;
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("introspection: {answer:?}"))) }
    }

    pub(crate) fn revoke(&mut self, kind: &'static str, token: &str) -> Result<(), Stop> {
        self.ask_as_client(kind, 200, "/oauth2/revoke", &[("token", token)]).map(drop)
    }

    /// A code that was withdrawn; the record of a grant blocks its exchange.
    pub(crate) fn refused_code(&mut self, code: &str) -> Result<(), Stop> {
        self.connection.add_record();
        let form = [("grant_type", "authorization_code"), ("code", code)];
        let answer = self.ask_as_client("withdrawn code", 400, "/oauth2/token", &form)?;
        let is_right = answer.json()["error"] == "invalid_grant";
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("withdrawn code: {answer:?}"))) }
    }

    pub(crate) fn refused_refresh(&mut self, kind: &'static str, tokens: &Tokens) -> Result<(), Stop> {
        let form = [("grant_type", "refresh_token"), ("refresh_token", &*tokens.refresh)];
        let answer = self.ask_as_client(kind, 400, "/oauth2/token", &form)?;
        let is_right = answer.json()["error"] == "invalid_grant";
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("{kind}: {answer:?}"))) }
    }

    /// Asserts that nothing of an ended grant works.
    pub(crate) fn assert_ended(&mut self, tokens: &[&Tokens]) -> Result<(), Stop> {
        for tokens in tokens {
            self.resource("resource after the end", tokens, 401)?;
            self.introspect(tokens, false)?;
            self.refused_refresh("refresh after the end", tokens)?;
        }
        Ok(())
    }

    pub(crate) fn metadata(&mut self) -> Result<(), Stop> {
        let answer = self.connection.ask("metadata", 200, Request::get("/.well-known/oauth-authorization-server"))?;
        let is_right = answer.json()["issuer"] == self.application.issuer;
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("metadata: {answer:?}"))) }
    }

    /// Lists what the user has authorized; returns the token of the form that revokes it, if there is anything.
    pub(crate) fn authorized(&mut self) -> Result<Option<String>, Stop> {
        let request = Request::get(AUTHORIZED).cookies(&self.cookies);
        let page = self.connection.ask("list of applications", 200, request)?.text();
        Ok(quoted_after(&page, "name=\"token\" value=\"").next().map(str::to_owned))
    }

    pub(crate) fn revoke_application(&mut self, token: &str) -> Result<(), Stop> {
        let form = [("token", token), ("client_id", &*self.application.id)];
        let answer = self.connection.ask(
            "revocation by the user",
            303,
            Request::post(AUTHORIZED, &form).cookies(&self.cookies),
        )?;
        let is_right = location(&answer).starts_with("/oauth2/auth/applications?revoked=");
        if is_right { Ok(()) } else { Err(self.connection.fault(&format!("revocation by the user: {answer:?}"))) }
    }

    /// One of the requests that no server accepts.
    pub(crate) fn wrong_request(&mut self) -> Result<(), Stop> {
        let Application { id, secret, resource, .. } = self.application;
        let token = |form: &[(&str, &str)]| Request::post("/oauth2/token", form);
        let foreign = format!("/oauth2/auth?response_type=code&client_id={id}&redirect_uri=https://evil.example/");
        let (status, request) = match self.turn % 10 {
            0 => (401, token(&[("grant_type", "refresh_token"), ("refresh_token", "x")]).basic(id, "wrong")),
            1 => (400, token(&[("grant_type", "authorization_code"), ("code", "ac_unknown")]).basic(id, secret)),
            2 => (400, token(&[("grant_type", "refresh_token"), ("refresh_token", "x")]).basic(id, secret)),
            3 => (400, Request::get(&foreign).cookies(&self.cookies)),
            4 => (401, Request::get(resource)),
            5 => (400, token(&[("grant_type", "password")]).basic(id, secret)),
            6 => (400, token(&[("code", "x"), ("code", "x")]).basic(id, secret)),
            7 => (405, Request::get("/oauth2/token")),
            8 => (404, Request::get("/nothing")),
            _ => (401, Request::get(resource).bearer("at_unknown")),
        };
        self.connection.ask("wrong request", status, request).map(drop)
    }
}

fn location(answer: &Answer) -> &str {
    answer.header("location").unwrap_or_default()
}

/// The text between `start` and the next quotation mark, wherever it stands in the page.
pub(crate) fn quoted_after<'a>(html: &'a str, start: &'a str) -> impl Iterator<Item = &'a str> {
    html.split(start).skip(1).filter_map(|rest| rest.split('"').next())
}
