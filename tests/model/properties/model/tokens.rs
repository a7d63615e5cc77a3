//! The token endpoint: from the code to the first pair, and from pair to pair.

use crate::properties::model::rules::{MANY, REFRESH_LIFE};
use crate::properties::model::{Answer, Caller, Family, Fate, Model, Pair, Rights, Stage, Standing};

/// What is sent along with a code.
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
        if fate == Fate::Unused && self.is_soon(request.issued()) {
            return Answer::LATER;
        }
        if self.now >= until || !self.has_come(request.issued()) {
            return self.replayed(number, fate);
        }
        // A request that would fail as a first use is no replay either.
        let granted = granted.and(client.registered);
        if granted.is_empty() {
            return Answer::NO_GRANT;
        }
        let user = request.user;
        if let Some(refused) = self.refused_for(user) {
            return refused;
        }
        if fate != Fate::Unused {
            return self.replayed(number, fate);
        }
        let family = self.families.len();
        let client = caller.client;
        let (revoked, is_purged) = (None, false);
        self.families.push(Family { client, user, granted, withdrawals, code_until: until, revoked, is_purged });
        self.requests[number].stage = Stage::Code { until, granted, withdrawals, fate: Fate::Exchanged(family) };
        self.issue(family, granted, None);
        self.noticed.push("Exchanged");
        Answer::OK
    }

    /// An otherwise valid use of a used code revokes everything, unless the code may have been on its way twice.
    fn replayed(&mut self, number: usize, fate: Fate) -> Answer {
        let repeated = self.requests[number].given.and_then(|given| given.repeated);
        if repeated.is_some_and(|repeated| self.is_recent(repeated)) {
            if let Fate::Exchanged(family) = fate
                && self.families[family].revoked.is_none()
                && !self.families[family].is_purged
            {
                self.noticed.push("CodeSentTwice");
            }
            return Answer::NO_GRANT;
        }
        if let Fate::Exchanged(family) = fate
            && self.revoke_family(family)
        {
            self.noticed.push("CodeReplayed");
        }
        Answer::NO_GRANT
    }

    /// Also returns the pair in the answer: a new one, or the newest again.
    pub(crate) fn refresh(&mut self, number: usize, caller: Caller, rights: Option<Rights>) -> (Answer, Option<usize>) {
        match self.judged(number, caller, rights) {
            Ok(scope) => self.along_the_line(number, scope),
            Err(answer) => (answer, None),
        }
    }

    /// Returns the rights of the answer's access token.
    fn judged(&mut self, number: usize, caller: Caller, rights: Option<Rights>) -> Result<Rights, Answer> {
        if !self.admits(caller) {
            return Err(Answer::NO_CLIENT);
        }
        let pair = self.pairs[number].clone();
        let family = self.families[pair.family].clone();
        if family.client != caller.client || self.is_ended(pair.family) {
            return Err(Answer::NO_GRANT);
        }
        if !self.refresh_lives(&pair) {
            return Err(self.used_too_late(&pair));
        }
        if !self.has_come(self.holder(&pair).issued) {
            let is_soon = self.is_soon(self.holder(&pair).issued);
            return Err(if is_soon { Answer::LATER } else { Answer::NO_GRANT });
        }
        if let Some(refused) = self.refused_for(family.user) {
            return Err(refused);
        }
        let available = family.granted.and(self.clients[family.client].registered);
        if available.is_empty() {
            return Err(Answer::NO_GRANT);
        }
        let scope = rights.unwrap_or(available);
        if scope.is_within(available) { Ok(scope) } else { Err(Answer::BAD_SCOPE) }
    }

    /// There is one line of pairs: a token in its grace counts as the newest one.
    fn along_the_line(&mut self, number: usize, scope: Rights) -> (Answer, Option<usize>) {
        let presented = self.pairs[number].repeats.unwrap_or(number);
        let family = self.pairs[number].family;
        let newest = self.newest(family);
        let is_in_grace = presented != newest;
        let event = if is_in_grace { "RefreshedInGrace" } else { "Refreshed" };
        let own = &self.pairs[newest];
        if is_in_grace && own.scope == scope && self.access_lives(own) && self.has_come(own.issued) {
            self.noticed.push(event);
            return (Answer::OK, Some(newest));
        }
        if is_in_grace || self.rules.keeps && !self.clients[self.families[family].client].is_public {
            self.make_room(newest, is_in_grace);
            self.issue(family, scope, Some(newest));
        } else {
            if self.in_grace(family) >= MANY {
                return (Answer::TOO_MANY, None);
            }
            self.rotate(newest);
            self.issue(family, scope, None);
        }
        self.noticed.push(event);
        (Answer::OK, Some(self.pairs.len() - 1))
    }

    /// The end of the line.
    pub(crate) fn newest(&self, family: usize) -> usize {
        let own = |pair: &Pair| pair.family == family && pair.repeats.is_none();
        self.pairs.iter().rposition(own).expect("a family begins with a pair")
    }

    /// How many rotated pairs have a token that could still be used.
    fn in_grace(&self, family: usize) -> usize {
        let ends_later = |number: &usize| {
            let own = |(other, pair): &(usize, &Pair)| other == number || pair.repeats == Some(*number);
            let mut pairs = self.pairs.iter().enumerate().filter(own);
            pairs.any(|(_, pair)| self.now < self.access_end(pair).max(self.refresh_end(pair)))
        };
        let is_rotated = |number: &usize| {
            let pair = &self.pairs[*number];
            pair.family == family && pair.rotated.is_some()
        };
        (0..self.pairs.len()).filter(is_rotated).filter(ends_later).count()
    }

    /// The oldest access tokens of a kept refresh token end when there would be too many. For a use in grace, that of
    /// the pair itself is not counted and does not end.
    fn make_room(&mut self, holder: usize, spares_holder: bool) {
        let own = |number: &usize| *number == holder && !spares_holder || self.pairs[*number].repeats == Some(holder);
        let live = (0..self.pairs.len()).filter(own).filter(|number| self.access_lives(&self.pairs[*number]));
        let live: Vec<_> = live.collect();
        let too_many = (live.len() + 1).saturating_sub(MANY);
        for number in &live[..too_many] {
            self.pairs[*number].made_room = Some(self.now);
        }
    }

    /// A rotated token that is used after its grace is in two hands.
    fn used_too_late(&mut self, pair: &Pair) -> Answer {
        let holder = self.holder(pair);
        let is_old_by_itself = self.now >= holder.issued + REFRESH_LIFE;
        let is_late = holder.rotated.is_some() && self.now >= self.refresh_end(pair);
        if is_late && !is_old_by_itself && self.revoke_family(pair.family) {
            self.noticed.push("RefreshTokenReused");
        }
        Answer::NO_GRANT
    }

    /// A refresh starts the grace of the newest pair, and in some profiles ends earlier graces.
    fn rotate(&mut self, newest: usize) {
        let (now, family) = (self.now, self.pairs[newest].family);
        if self.rules.cuts_grace {
            let earlier = self.pairs[..newest].iter_mut();
            for pair in earlier.filter(|pair| pair.family == family && pair.rotated.is_some()) {
                pair.cut_off.get_or_insert(now);
            }
        }
        self.pairs[newest].rotated = Some(now);
    }

    fn issue(&mut self, family: usize, scope: Rights, repeats: Option<usize>) {
        let (issued, rotated, cut_off, made_room) = (self.now, None, None, None);
        self.pairs.push(Pair { family, scope, issued, rotated, cut_off, is_access_revoked: false, made_room, repeats });
    }

    /// A token that was never issued changes nothing.
    pub(crate) fn forged(&self, caller: Caller) -> Answer {
        if self.admits(caller) { Answer::NO_GRANT } else { Answer::NO_CLIENT }
    }

    /// A locked user gets no token; for a user whose status is unknown, nothing is decided.
    fn refused_for(&self, user: usize) -> Option<Answer> {
        match self.users[user] {
            Standing::Good => None,
            Standing::Locked => Some(Answer::NO_GRANT),
            Standing::Unknown => Some(Answer::LATER),
        }
    }
}
