//! Compares the answers of the server and of the model.

use std::fmt::Debug;

use grantor::wire::Request;

use crate::properties::model::Answer;
use crate::properties::play::request::Outcome;
use crate::properties::play::{ID, Play};
use support::world::START;

impl Play {
    pub(super) fn agree(&mut self, expected: Answer, found: Outcome) -> Result<(), String> {
        if expected == Answer::TOO_MANY {
            *self.tally.entry("too many in grace").or_default() += 1;
        }
        *self.tally.entry(if expected.is_good() { "a good answer" } else { "a refusal" }).or_default() += 1;
        self.equal("the answer", &(found.status, found.error.as_str()), &(expected.status, expected.error))
    }

    pub(super) fn compare_notices(&mut self) -> Result<(), String> {
        let mut expected = self.model.take_noticed();
        let mut found = self.noticed.take();
        if std::mem::take(&mut self.model.may_notice) {
            found.retain(|name| *name != "AccessTokenRevoked");
        }
        for name in &expected {
            *self.tally.entry(name).or_default() += 1;
        }
        expected.sort_unstable();
        found.sort_unstable();
        self.equal("what was noticed", &found, &expected)
    }

    /// Every access token at the resource, and the grants that each user is shown.
    pub(super) async fn compare_all(&self) -> Result<(), String> {
        for (number, pair) in self.pairs.iter().enumerate() {
            let header = format!("Bearer {}", pair.access);
            let request = Request::new("GET").header("Authorization", header.as_bytes());
            let found = self.world.server.resource().authenticate(&request).await.ok();
            let found = found.map(|token| (token.scopes().to_string(), token.expires().unwrap().seconds()));
            let expected = self.model.access(number).map(|(rights, end)| (rights.text(), end));
            self.equal(&format!("access token {number}"), &found, &expected)?;
        }
        for (user, subject) in self.users.iter().enumerate() {
            let grants = self.world.server.grants_of(subject).await.unwrap();
            let mut found: Vec<_> = grants.iter().map(|grant| grant.id()).collect();
            let mut expected: Vec<_> = self.model.shown_to(user).iter().map(|family| self.grants[*family]).collect();
            found.sort_unstable();
            expected.sort_unstable();
            self.equal(&format!("the grants of user {user}"), &found, &expected)?;
            let approved = self.world.server.authorizations_of(subject).await.unwrap();
            let mut found: Vec<_> = approved.iter().map(|one| one.id().to_string()).collect();
            let mut expected: Vec<_> =
                self.model.unredeemed_of(user).iter().map(|request| self.handles[*request][ID].to_owned()).collect();
            found.sort_unstable();
            expected.sort_unstable();
            self.equal(&format!("the approved requests of user {user}"), &found, &expected)?;
        }
        Ok(())
    }

    pub(super) fn equal<T: PartialEq + Debug>(&self, what: &str, found: &T, expected: &T) -> Result<(), String> {
        let age = self.model.now - START;
        if found == expected {
            return Ok(());
        }
        Err(format!("{what}, {age} s after the start: the server says {found:?}, the model {expected:?}"))
    }
}
