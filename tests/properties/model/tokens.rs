//! The token endpoint: from the code to the first pair, and from pair to pair.

use crate::model::rules::REFRESH_LIFE;
use crate::model::{Answer, Caller, Family, Fate, Model, Pair, Rights, Stage, Standing};

/// What comes along with a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    Right,
    Wrong,
    Nothing,
}

impl Model {
    pub(crate) fn exchange(&mut self, number: usize, caller: Caller, verifier: Sent, redirect_uri: Sent) -> Answer {
        if !self.admits(caller) {
            return Answer::NO_CLIENT;
        }
        let request = &self.requests[number];
        let Stage::Code { until, granted, withdrawals, fate } = request.stage else { return Answer::NO_GRANT };
        if request.is_purged || request.client != caller.client || redirect_uri == Sent::Wrong {
            return Answer::NO_GRANT;
        }
        match (request.has_challenge, verifier) {
            (true, Sent::Right) | (false, Sent::Nothing) => {}
            (true, _) => return Answer::NO_GRANT,
            (false, _) => return Answer::BAD_REQUEST,
        }
        let client = &self.clients[request.client];
        if withdrawals != client.withdrawals {
            return Answer::NO_GRANT;
        }
        if self.now >= until {
            return self.replayed(fate);
        }
        // What would not be a good first use is no replay either.
        let granted = granted.and(client.registered);
        if granted.is_empty() {
            return Answer::NO_GRANT;
        }
        let user = request.user;
        if let Some(refused) = self.refused_for(user) {
            return refused;
        }
        if fate != Fate::Unused {
            return self.replayed(fate);
        }
        let family = self.families.len();
        let client = caller.client;
        let (is_revoked, is_purged) = (false, false);
        self.families.push(Family { client, user, granted, withdrawals, code_until: until, is_revoked, is_purged });
        self.requests[number].stage = Stage::Code { until, granted, withdrawals, fate: Fate::Exchanged(family) };
        self.issue(family, granted);
        self.noticed.push("Exchanged");
        Answer::OK
    }

    /// An otherwise good use of a code that was used takes everything back.
    fn replayed(&mut self, fate: Fate) -> Answer {
        if let Fate::Exchanged(family) = fate
            && self.revoke_family(family)
        {
            self.noticed.push("CodeReplayed");
        }
        Answer::NO_GRANT
    }

    pub(crate) fn refresh(&mut self, number: usize, caller: Caller, rights: Option<Rights>) -> Answer {
        if !self.admits(caller) {
            return Answer::NO_CLIENT;
        }
        let pair = self.pairs[number].clone();
        let family = self.families[pair.family].clone();
        if family.client != caller.client || self.is_ended(pair.family) {
            return Answer::NO_GRANT;
        }
        if !self.refresh_lives(&pair) {
            return self.used_too_late(&pair);
        }
        if let Some(refused) = self.refused_for(family.user) {
            return refused;
        }
        let available = family.granted.and(self.clients[family.client].registered);
        if available.is_empty() {
            return Answer::NO_GRANT;
        }
        let told = rights.unwrap_or(available);
        if !told.is_within(available) {
            return Answer::BAD_SCOPE;
        }
        self.rotate(number);
        self.issue(pair.family, told);
        self.noticed.push(if pair.rotated.is_none() { "Refreshed" } else { "RefreshedInGrace" });
        Answer::OK
    }

    /// A rotated token that comes back after its grace and margin is in two hands.
    fn used_too_late(&mut self, pair: &Pair) -> Answer {
        let is_old_by_itself = self.now >= pair.issued + REFRESH_LIFE;
        let is_late = pair.rotated.is_some() && self.now >= self.refresh_end(pair) + self.rules.margin;
        if is_late && !is_old_by_itself && self.revoke_family(pair.family) {
            self.noticed.push("RefreshTokenReused");
        }
        Answer::NO_GRANT
    }

    /// The first use of a refresh token starts the grace of its pair; a later one moves nothing.
    fn rotate(&mut self, number: usize) {
        let (now, family) = (self.now, self.pairs[number].family);
        if self.pairs[number].rotated.is_some() {
            return;
        }
        if self.rules.cuts_grace {
            for other in self.pairs.iter_mut().filter(|pair| pair.family == family && pair.rotated.is_some()) {
                other.cut_off.get_or_insert(now);
            }
        }
        self.pairs[number].rotated = Some(now);
    }

    fn issue(&mut self, family: usize, told: Rights) {
        let issued = self.now;
        self.pairs.push(Pair { family, told, issued, rotated: None, cut_off: None, is_access_revoked: false });
    }

    /// A locked user gets no token; of one that is not known just now, nothing is decided.
    fn refused_for(&self, user: usize) -> Option<Answer> {
        match self.users[user] {
            Standing::Good => None,
            Standing::Locked => Some(Answer::NO_GRANT),
            Standing::Unknown => Some(Answer::LATER),
        }
    }
}
