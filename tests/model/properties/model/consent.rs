//! From the authorization request to the code.

use crate::properties::model::rules::PAGE_LIFE;
use crate::properties::model::{Answer, Fate, Given, Model, Request, Rights, Said, Stage, Standing, code_end};

/// Who answers on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answerer {
    TheUser,
    AnotherUser,
    TheUserElsewhere,
}

impl Model {
    /// A request is checked and shown. No user has agreed to anything yet.
    pub(crate) fn ask(&mut self, client: usize, user: usize, rights: Option<Rights>, has_challenge: bool) -> Answer {
        let own = &self.clients[client];
        if own.is_suspended {
            return Answer::PAGE;
        }
        if !has_challenge && (own.is_public || self.rules.everybody_needs_pkce) {
            return self.redirected("invalid_request");
        }
        let asked = rights.unwrap_or(own.registered);
        if !asked.is_within(own.registered) {
            return self.redirected("invalid_scope");
        }
        let shown_until = self.now + PAGE_LIFE;
        let stage = Stage::Open;
        let (given, is_purged, is_replaced) = (None, false, false);
        self.requests.push(Request {
            client,
            user,
            asked,
            has_challenge,
            shown_until,
            stage,
            given,
            is_purged,
            is_replaced,
        });
        Answer::OK
    }

    pub(crate) fn approve(&mut self, number: usize, chosen: Option<Rights>, by: Answerer) -> Answer {
        if let Some(answer) = self.said_again(number, Said::Yes(chosen), by) {
            return answer;
        }
        let Some(request) = self.answerable(number, by) else { return self.unanswerable(number, by) };
        let said = Said::Yes(chosen);
        let (client, user, asked) = (request.client, request.user, request.asked);
        let chosen = chosen.unwrap_or(asked);
        if !chosen.is_within(asked) {
            return Answer::PAGE;
        }
        // The application may have lost some of these rights while the page was open.
        let granted = chosen.and(self.clients[client].registered);
        if granted.is_empty() {
            self.requests[number].stage = Stage::Denied;
            return self.redirected("invalid_scope");
        }
        match self.users[user] {
            Standing::Good => {}
            Standing::Locked => {
                self.requests[number].stage = Stage::Denied;
                return self.redirected("access_denied");
            }
            Standing::Unknown => return self.redirected("temporarily_unavailable"),
        }
        let withdrawals = self.clients[client].withdrawals;
        let until = code_end(self.now);
        self.requests[number].stage = Stage::Code { until, granted, withdrawals, fate: Fate::Unused };
        self.requests[number].given = Some(Given { at: self.now, said, repeated: None });
        self.noticed.push("CodeIssued");
        self.redirected("")
    }

    pub(crate) fn deny(&mut self, number: usize, by: Answerer) -> Answer {
        if let Some(answer) = self.said_again(number, Said::No, by) {
            return answer;
        }
        if self.answerable(number, by).is_none() {
            return self.unanswerable(number, by);
        }
        self.requests[number].stage = Stage::Denied;
        self.requests[number].given = Some(Given { at: self.now, said: Said::No, repeated: None });
        self.noticed.push("Denied");
        self.redirected("access_denied")
    }

    /// The same answer gets the same response for a minute, unless what it led to was used or has ended.
    fn said_again(&mut self, number: usize, said: Said, by: Answerer) -> Option<Answer> {
        let request = &self.requests[number];
        let given = request.given.filter(|given| given.said == said && self.is_recent(given.at))?;
        let client = &self.clients[request.client];
        if request.is_purged || by != Answerer::TheUser || client.is_suspended {
            return Some(Answer::PAGE);
        }
        let Stage::Code { until, withdrawals, fate, .. } = request.stage else {
            return Some(self.redirected("access_denied"));
        };
        match self.users[request.user] {
            Standing::Good => {}
            Standing::Locked => return Some(self.redirected("access_denied")),
            Standing::Unknown => return Some(self.redirected("temporarily_unavailable")),
        }
        if withdrawals != client.withdrawals || self.now >= until || fate != Fate::Unused {
            return Some(Answer::PAGE);
        }
        let repeated = given.repeated.max(Some(self.now));
        self.requests[number].given = Some(Given { repeated, ..given });
        Some(self.redirected(""))
    }

    /// A request is answered once, in time, by its user in the same session, for an application in use.
    fn answerable(&self, number: usize, by: Answerer) -> Option<&Request> {
        let request = &self.requests[number];
        let is_open = request.stage == Stage::Open && self.now < request.shown_until && !request.is_purged;
        let is_open = is_open && self.has_come(request.issued());
        let may = by == Answerer::TheUser && !self.clients[request.client].is_suspended;
        (is_open && may).then_some(request)
    }

    fn unanswerable(&self, number: usize, by: Answerer) -> Answer {
        let request = &self.requests[number];
        let is_own = by == Answerer::TheUser && request.stage == Stage::Open && !request.is_purged;
        if is_own && self.is_soon(request.issued()) { Answer::LATER_PAGE } else { Answer::PAGE }
    }

    fn redirected(&self, error: &'static str) -> Answer {
        Answer { status: self.rules.redirect_status, error }
    }
}
