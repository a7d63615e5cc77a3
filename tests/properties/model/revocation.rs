//! What clients, users and administrators take back.

use crate::model::{Answer, Caller, Fate, Model, Stage};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Access,
    Refresh,
}

impl Model {
    /// A good token is dead at once; a refresh token takes its family along. What is no good token any more is
    /// no error, and nothing changes.
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
            let holder = self.holder(&pair);
            let in_own_time = self.now < holder.issued + crate::model::rules::REFRESH_LIFE;
            if kind == Kind::Refresh && is_own && holder.rotated.is_some() && in_own_time && !self.is_ended(pair.family)
            {
                self.noticed.push("SupersededTokenAtRevocation");
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

    /// Tells whether this call did it.
    pub(super) fn revoke_family(&mut self, family: usize) -> bool {
        let own = &mut self.families[family];
        let did = !own.is_revoked && !own.is_purged;
        if did {
            own.is_revoked = true;
            self.noticed.push("GrantRevoked");
        }
        did
    }

    /// A user withdraws a family; tells whether something alive was taken.
    pub(crate) fn withdraw(&mut self, family: usize, user: usize) -> bool {
        let was_live = self.has_live_tokens(family);
        self.families[family].user == user && self.revoke_family(family) && was_live
    }

    /// Everything of a user is withdrawn; tells how much of it was alive.
    pub(crate) fn withdraw_user(&mut self, user: usize) -> usize {
        let mut count = 0;
        for number in 0..self.requests.len() {
            let request = &mut self.requests[number];
            if request.user != user || request.is_purged {
                continue;
            }
            match &mut request.stage {
                Stage::Open => {
                    count += usize::from(self.now < request.shown_until);
                    request.stage = Stage::Denied;
                }
                Stage::Code { until, fate: fate @ Fate::Unused, .. } => {
                    count += usize::from(self.now < *until);
                    *fate = Fate::Withdrawn { at: self.now };
                }
                Stage::Code { .. } | Stage::Denied => {}
            }
        }
        for family in 0..self.families.len() {
            count += usize::from(self.withdraw(family, user));
        }
        count
    }

    /// Every code and token of a client is withdrawn; what users still look at is not.
    pub(crate) fn withdraw_client(&mut self, client: usize) {
        self.clients[client].withdrawals += 1;
    }
}
