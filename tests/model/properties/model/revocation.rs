//! What clients, users and administrators revoke.

use crate::properties::model::rules::{CLOCK_JUMP, REFRESH_LIFE};
use crate::properties::model::{Answer, Caller, Fate, Model, Stage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Access,
    Refresh,
}

impl Model {
    /// A valid token is dead at once; a refresh token with its family. A token that is no longer valid is no error. A
    /// superseded refresh token past its grace ends the family except in the platform profile. A token that expired
    /// within a day counts as if it had not: the clock may be ahead.
    pub(crate) fn revoke(&mut self, number: usize, kind: Kind, caller: Caller) -> Answer {
        if !self.admits(caller) {
            return Answer::NO_CLIENT;
        }
        let pair = self.pairs[number].clone();
        let is_own = self.families[pair.family].client == caller.client;
        let lives = match kind {
            Kind::Access => self.access_lives(&pair),
            Kind::Refresh => self.refresh_lives(&pair),
        };
        if !lives {
            if !is_own || self.is_ended(pair.family) {
                return Answer::OK;
            }
            let holder = self.holder(&pair);
            match kind {
                Kind::Access => {
                    if !pair.is_access_revoked && self.now < self.access_end(&pair) + CLOCK_JUMP {
                        self.pairs[number].is_access_revoked = true;
                        self.may_notice = true;
                    }
                }
                Kind::Refresh if self.now >= holder.issued + REFRESH_LIFE + CLOCK_JUMP => {}
                Kind::Refresh if holder.rotated.is_none() || self.rules.superseded_token_ends_family => {
                    self.revoke_family(pair.family);
                }
                Kind::Refresh => self.noticed.push("SupersededTokenAtRevocation"),
            }
            return Answer::OK;
        }
        if !is_own {
            return Answer::NO_GRANT;
        }
        match kind {
            Kind::Access => {
                self.pairs[number].is_access_revoked = true;
                self.noticed.push("AccessTokenRevoked");
            }
            Kind::Refresh => {
                self.revoke_family(pair.family);
            }
        }
        Answer::OK
    }

    /// Returns whether this call did it.
    pub(super) fn revoke_family(&mut self, family: usize) -> bool {
        let now = self.now;
        let own = &mut self.families[family];
        let did = own.revoked.is_none() && !own.is_purged;
        if did {
            own.revoked = Some(now);
            self.noticed.push("GrantRevoked");
        }
        did
    }

    /// A user withdraws a family; returns whether that ended anything.
    pub(crate) fn withdraw(&mut self, family: usize, user: usize) -> bool {
        let was_live = self.has_live_tokens(family);
        self.families[family].user == user && self.revoke_family(family) && was_live
    }

    /// Withdraws everything of a user, or what the user granted to one client; returns how much of it was alive.
    pub(crate) fn withdraw_all(&mut self, user: usize, client: Option<usize>) -> usize {
        let mut count = 0;
        for number in 0..self.requests.len() {
            if client.is_none_or(|client| self.requests[number].client == client) {
                count += usize::from(self.end_request(number, user));
            }
        }
        for family in 0..self.families.len() {
            if client.is_none_or(|client| self.families[family].client == client) {
                count += usize::from(self.withdraw(family, user));
            }
        }
        count
    }

    /// A user withdraws a request, or what it has become; returns whether that ended anything.
    pub(crate) fn withdraw_request(&mut self, number: usize, user: usize) -> bool {
        match self.requests[number].stage {
            Stage::Code { fate: Fate::Exchanged(family), .. } => self.withdraw(family, user),
            Stage::Open | Stage::Denied | Stage::Code { .. } => self.end_request(number, user),
        }
    }

    fn end_request(&mut self, number: usize, user: usize) -> bool {
        let (now, request) = (self.now, &mut self.requests[number]);
        if request.user != user || request.is_purged {
            return false;
        }
        match &mut request.stage {
            Stage::Open => {
                request.stage = Stage::Denied;
                now < request.shown_until
            }
            Stage::Code { until, fate: fate @ Fate::Unused, .. } => {
                let was_live = now < *until;
                *fate = Fate::Withdrawn { at: now };
                was_live
            }
            Stage::Code { .. } | Stage::Denied => false,
        }
    }

    /// Withdraws every code and token of a client, but not the requests that are still shown to users.
    pub(crate) fn withdraw_client(&mut self, client: usize) {
        self.clients[client].withdrawals += 1;
    }
}
