//! The service as its description states it: a plain history of what was consented to and issued, from which every
//! answer follows.
//!
//! Nothing here calls a rule of the crate or knows how it keeps its records. Only a purge removes anything from the
//! history, and every end is computed when it is asked for.

mod consent;
mod registration;
mod revocation;
mod rights;
mod rules;
mod tokens;

pub(crate) use consent::Answerer;
pub(crate) use revocation::Kind;
pub(crate) use rights::Rights;
pub(crate) use rules::{HELD, PLACE_KEPT, Rules};
pub(crate) use tokens::Sent;

use crate::properties::model::rules::{ACCESS_LIFE, CODE_LIFE, KEPT, PAGE_LIFE, REFRESH_LIFE, SAME_ANSWER, SKEW, SOON};

/// Everything that ever happened, and the time.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) rules: Rules,
    /// How long a record stays after its revocation: where a fail-over may undo a revocation, a repeated one must find
    /// the record.
    pub(crate) revoked_for: u32,
    pub(crate) now: u32,
    pub(crate) clients: Vec<Client>,
    pub(crate) users: Vec<Standing>,
    pub(crate) requests: Vec<Request>,
    pub(crate) families: Vec<Family>,
    pub(crate) pairs: Vec<Pair>,
    /// What was noticed since it was last asked for.
    pub(crate) noticed: Vec<&'static str>,
    /// Whether the revocation of an expired access token may be noticed too: its record may be gone.
    pub(crate) may_notice: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) is_public: bool,
    pub(crate) is_suspended: bool,
    pub(crate) registered: Rights,
    /// How often everything of it was withdrawn.
    pub(crate) withdrawals: u32,
}

/// What your service says of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Good,
    Locked,
    /// Your service does not know at the moment.
    Unknown,
}

/// An authorization request that a user was shown.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) client: usize,
    pub(crate) user: usize,
    pub(crate) asked: Rights,
    pub(crate) has_challenge: bool,
    pub(crate) shown_until: u32,
    pub(crate) stage: Stage,
    /// How its user answered.
    pub(crate) given: Option<Given>,
    /// Whether its record was removed, or taken over by another request.
    pub(crate) is_purged: bool,
    pub(crate) is_replaced: bool,
}

/// An answer that gets the same response when it is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    pub(crate) at: u32,
    pub(crate) said: Said,
    /// When it was last sent again and led to the code.
    pub(crate) repeated: Option<u32>,
}

/// What a user answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// To all that was asked, or to a part.
    Yes(Option<Rights>),
    No,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Open,
    Denied,
    Code { until: u32, granted: Rights, withdrawals: u32, fate: Fate },
}

/// What became of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Unused,
    /// It became the family of that number.
    Exchanged(usize),
    Withdrawn {
        at: u32,
    },
}

/// Everything that grew from one code.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) client: usize,
    pub(crate) user: usize,
    pub(crate) granted: Rights,
    pub(crate) withdrawals: u32,
    pub(crate) code_until: u32,
    pub(crate) revoked: Option<u32>,
    pub(crate) is_purged: bool,
}

/// What one token response contained, and what happened to it.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    pub(crate) family: usize,
    pub(crate) scope: Rights,
    pub(crate) issued: u32,
    /// When its refresh token was first used.
    pub(crate) rotated: Option<u32>,
    /// When a refresh with a newer pair ended its grace.
    pub(crate) cut_off: Option<u32>,
    pub(crate) is_access_revoked: bool,
    /// When its access token made room for a newer one.
    pub(crate) made_room: Option<u32>,
    /// The pair whose refresh token it repeats.
    pub(crate) repeats: Option<usize>,
}

/// The status and the error of an answer; none if all went well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) error: &'static str,
}

impl Answer {
    pub(crate) const OK: Self = Self { status: 200, error: "" };
    pub(crate) const PAGE: Self = Self { status: 400, error: "" };
    pub(crate) const LATER_PAGE: Self = Self { status: 503, error: "" };
    pub(crate) const NO_CLIENT: Self = Self { status: 401, error: "invalid_client" };
    pub(crate) const NO_GRANT: Self = Self { status: 400, error: "invalid_grant" };
    pub(crate) const BAD_REQUEST: Self = Self { status: 400, error: "invalid_request" };
    pub(crate) const BAD_SCOPE: Self = Self { status: 400, error: "invalid_scope" };
    pub(crate) const TOO_MANY: Self = Self { status: 429, error: "temporarily_unavailable" };
    pub(crate) const LATER: Self = Self { status: 503, error: "temporarily_unavailable" };

    pub(crate) fn is_good(&self) -> bool {
        self.error.is_empty() && ![Self::PAGE, Self::LATER_PAGE].contains(self)
    }
}

/// Who calls a machine endpoint.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller {
    pub(crate) client: usize,
    /// A confidential client that sends another's secret; a public one has none to get wrong.
    pub(crate) has_wrong_secret: bool,
}

impl Model {
    pub(crate) fn new(rules: Rules, now: u32, clients: Vec<Client>, users: usize) -> Self {
        Self {
            rules,
            revoked_for: 0,
            now,
            clients,
            users: vec![Standing::Good; users],
            requests: Vec::new(),
            families: Vec::new(),
            pairs: Vec::new(),
            noticed: Vec::new(),
            may_notice: false,
        }
    }

    /// Whether the client is authenticated and may ask for anything.
    fn admits(&self, caller: Caller) -> bool {
        let client = &self.clients[caller.client];
        !client.is_suspended && (client.is_public || !caller.has_wrong_secret)
    }

    /// The end of a pair's access token.
    pub(crate) fn access_end(&self, pair: &Pair) -> u32 {
        let own = pair.issued + ACCESS_LIFE;
        let own = pair.made_room.map_or(own, |made_room| own.min(made_room));
        self.holder(pair).rotated.map_or(own, |rotated| own.min(rotated + self.rules.access_grace))
    }

    /// The pair whose response contained the refresh token.
    pub(crate) fn holder<'m>(&'m self, pair: &'m Pair) -> &'m Pair {
        pair.repeats.map_or(pair, |number| &self.pairs[number])
    }

    /// The end of a pair's refresh token.
    pub(crate) fn refresh_end(&self, pair: &Pair) -> u32 {
        let pair = self.holder(pair);
        let grace = self.rules.refresh_grace(&self.clients[self.families[pair.family].client]);
        let own = pair.issued + REFRESH_LIFE;
        let graced = pair.rotated.map_or(own, |rotated| own.min(rotated + grace));
        pair.cut_off.map_or(graced, |cut_off| graced.min(cut_off))
    }

    /// Whether what was issued then may be used by now.
    pub(crate) fn has_come(&self, issued: u32) -> bool {
        issued <= self.now + SKEW
    }

    /// Whether what was issued then may be used soon: the clocks differ by minutes.
    fn is_soon(&self, issued: u32) -> bool {
        !self.has_come(issued) && issued <= self.now + SOON
    }

    /// Whether an answer of then may be sent again.
    pub(crate) fn is_recent(&self, then: u32) -> bool {
        self.has_come(then) && self.now < then + SAME_ANSWER
    }

    /// Whether an access token is valid as far as its family and the time are concerned.
    fn access_lives(&self, pair: &Pair) -> bool {
        !self.is_ended(pair.family) && !pair.is_access_revoked && self.now < self.access_end(pair)
    }

    fn refresh_lives(&self, pair: &Pair) -> bool {
        !self.is_ended(pair.family) && self.now < self.refresh_end(pair)
    }

    /// Whether it was revoked, withdrawn with everything of its client, or removed.
    fn is_ended(&self, family: usize) -> bool {
        let family = &self.families[family];
        family.revoked.is_some() || family.is_purged || family.withdrawals != self.clients[family.client].withdrawals
    }

    /// Whether any token of a family could still be used, ignoring its client's state.
    fn has_live_tokens(&self, family: usize) -> bool {
        let own = &self.families[family];
        let in_time = |pair: &Pair| {
            !pair.is_access_revoked && self.now < self.access_end(pair) || self.now < self.refresh_end(pair)
        };
        own.revoked.is_none() && !own.is_purged && self.pairs_of(family).any(in_time)
    }

    pub(crate) fn pairs_of(&self, family: usize) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| pair.family == family)
    }

    /// What a resource learns from an access token: its rights and its end.
    pub(crate) fn access(&self, pair: usize) -> Option<(Rights, u32)> {
        let pair = &self.pairs[pair];
        let client = &self.clients[self.families[pair.family].client];
        let is_good = self.access_lives(pair) && self.has_come(pair.issued) && !client.is_suspended;
        is_good.then(|| (pair.scope.and(client.registered), self.access_end(pair)))
    }

    /// The families that a user is shown as authorized applications.
    pub(crate) fn shown_to(&self, user: usize) -> Vec<usize> {
        let shown = |family: &usize| {
            self.families[*family].user == user && !self.is_ended(*family) && self.has_live_tokens(*family)
        };
        (0..self.families.len()).filter(shown).collect()
    }

    /// The approved requests of a user that no client has exchanged.
    pub(crate) fn unredeemed_of(&self, user: usize) -> Vec<usize> {
        let is_shown = |number: &usize| {
            let request = &self.requests[*number];
            let Stage::Code { until, withdrawals, fate, .. } = request.stage else { return false };
            let is_alive = self.now < until && withdrawals == self.clients[request.client].withdrawals;
            request.user == user && !request.is_purged && fate == Fate::Unused && is_alive
        };
        (0..self.requests.len()).filter(is_shown).collect()
    }

    /// The record of one request was given to a newer one: the old request had ended, or was the oldest where the user
    /// has as many open pages of that client as allowed.
    pub(crate) fn taken_over(&mut self, old: usize) -> Result<(), String> {
        let (new, before) = self.requests.split_last().ok_or("no request")?;
        let of_both = |request: &&Request| (request.client, request.user) == (new.client, new.user);
        let is_open = |request: &&Request| {
            let has_come = self.has_come(request.issued());
            request.stage == Stage::Open && has_come && self.now < request.shown_until
        };
        let mut open = before.iter().filter(of_both).filter(|request| is_open(request) && !request.is_purged);
        let oldest = open.next().map(|request| request.shown_until);
        let is_full = usize::from(oldest.is_some()) + open.count() >= HELD;
        let given = &before[old];
        let may_go = matches!(given.stage, Stage::Open | Stage::Denied) && !given.is_purged && of_both(&given);
        let is_oldest = Some(given.shown_until) == oldest;
        let may_return = given.given.is_some_and(|given| self.is_recent(given.at));
        if !may_go || may_return || is_open(&given) && !(is_full && is_oldest) {
            return Err(format!("the record of request {old} was taken over"));
        }
        let given = &mut self.requests[old];
        (given.is_purged, given.is_replaced) = (true, true);
        Ok(())
    }

    /// After a request was shown, there are no more open ones of its client and user than may be.
    pub(crate) fn is_within_bound(&self) -> bool {
        let Some(new) = self.requests.last() else { return true };
        let is_open = |request: &&Request| {
            let is_open = request.stage == Stage::Open && self.now < request.shown_until && !request.is_purged;
            is_open && self.has_come(request.issued()) && (request.client, request.user) == (new.client, new.user)
        };
        self.requests.iter().filter(is_open).count() <= HELD
    }

    /// All times at which something ends, in order.
    pub(crate) fn boundaries(&self) -> Vec<u32> {
        let mut times = Vec::new();
        for request in self.requests.iter().filter(|request| !request.is_purged) {
            times.push(request.shown_until);
            times.push(request.issued().saturating_sub(SKEW));
            let end = request.end();
            times.extend([end, end + KEPT, request.shown_until + KEPT]);
            let given = request.given.iter().flat_map(|given| [Some(given.at), given.repeated]).flatten();
            times.extend(given.map(|at| at + SAME_ANSWER));
        }
        for pair in &self.pairs {
            let (access, refresh) = (self.access_end(pair), self.refresh_end(pair));
            times.extend([access, refresh, pair.issued + REFRESH_LIFE]);
            times.push(pair.issued.saturating_sub(SKEW));
        }
        for family in 0..self.families.len() {
            times.push(self.kept_until(family));
        }
        times.sort_unstable();
        times.dedup();
        times
    }

    /// After a purge, what ended at least an hour ago may be gone, and nothing else. The arguments state for each
    /// request, by its number, whether the store still has it, and its family or what is in the family's place.
    pub(crate) fn purged(&mut self, has_request: &[bool], has_family: &[bool]) -> Result<(), String> {
        let mut kept = Vec::new();
        for number in 0..self.requests.len() {
            let request = &mut self.requests[number];
            if request.is_replaced {
                continue;
            }
            let (found, may_go) = (has_request[number], request.end() + KEPT <= self.now);
            // A store may check a request no sooner than it would have before the user answered.
            let must_go = may_go && request.shown_until + KEPT <= self.now;
            if must_go && found || !may_go && !found && !request.is_purged {
                return Err(format!("request {number}: is it kept? {found}"));
            }
            request.is_purged |= !found;
            let kept_until = match request.stage {
                Stage::Code { fate: Fate::Exchanged(family), .. } => self.kept_until(family),
                Stage::Code { until, fate: Fate::Withdrawn { at }, .. } => {
                    (at + self.revoked_for).max(until + PLACE_KEPT)
                }
                _ => 0,
            };
            // A refresh while the clock is behind, as far as it may be, makes a family end sooner. A store may look at
            // it no sooner than it would have before.
            let found = has_family[number];
            if found != (self.now < kept_until) && !(found && self.now < kept_until + SKEW) {
                return Err(format!("the family of request {number}: is it kept? {found}"));
            }
            if let Stage::Code { fate: Fate::Exchanged(family), .. } = self.requests[number].stage {
                kept.extend(found.then_some(family));
            }
        }
        for family in 0..self.families.len() {
            let is_over = self.kept_until(family) <= self.now;
            self.families[family].is_purged |= is_over && !kept.contains(&family);
        }
        Ok(())
    }

    /// A family outlives its last token by an hour, and blocks a late exchange for two hours after its code's end. A
    /// revoked family has no token to outlive.
    fn kept_until(&self, family: usize) -> u32 {
        let place = self.families[family].code_until + PLACE_KEPT;
        if let Some(revoked) = self.families[family].revoked {
            return place.max(revoked + self.revoked_for);
        }
        let ends = self.pairs_of(family).map(|pair| self.access_end(pair).max(self.refresh_end(pair)));
        let last = ends.max().unwrap_or_default();
        place.max(last + KEPT)
    }

    pub(crate) fn take_noticed(&mut self) -> Vec<&'static str> {
        std::mem::take(&mut self.noticed)
    }
}

impl Request {
    /// The end of its page, or of its code.
    fn end(&self) -> u32 {
        match self.stage {
            Stage::Code { until, .. } => until,
            Stage::Open | Stage::Denied => self.shown_until,
        }
    }

    /// When its page was shown, or its code issued.
    pub(crate) fn issued(&self) -> u32 {
        match self.stage {
            Stage::Code { until, .. } => until - CODE_LIFE,
            Stage::Open | Stage::Denied => self.shown_until - PAGE_LIFE,
        }
    }

    pub(crate) fn is_unused(&self) -> bool {
        matches!(self.stage, Stage::Code { fate: Fate::Unused, .. })
    }
}

/// When a code of now ends.
fn code_end(now: u32) -> u32 {
    now + CODE_LIFE
}
