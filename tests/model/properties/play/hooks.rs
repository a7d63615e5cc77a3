//! What your service states about its users, and the events that it gets.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use grantor::hooks::{SubjectStatus, Subjects};
use grantor::{Client, Event, EventSink, Subject};

use crate::properties::model::Standing;

/// What your service states about its users.
#[derive(Clone, Debug, Default)]
pub(super) struct Standings(Arc<Mutex<BTreeMap<Subject, Standing>>>);

impl Standings {
    pub(super) fn set(&self, user: &Subject, standing: Standing) {
        self.0.lock().unwrap().insert(user.clone(), standing);
    }
}

#[async_trait]
impl Subjects for Standings {
    async fn status(&self, subject: &Subject, _client: &Client) -> SubjectStatus {
        match self.0.lock().unwrap().get(subject) {
            None | Some(Standing::Good) => SubjectStatus::Active,
            Some(Standing::Locked) => SubjectStatus::Refused,
            Some(Standing::Unknown) => SubjectStatus::Unknown,
        }
    }
}

/// The names of the events that report what became of consents and tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Noticed(Arc<Mutex<Vec<&'static str>>>);

impl Noticed {
    pub(super) fn take(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl EventSink for Noticed {
    fn record(&self, event: &Event<'_>) {
        let name = match event {
            Event::CodeIssued { .. } => "CodeIssued",
            Event::Denied { .. } => "Denied",
            Event::Exchanged { .. } => "Exchanged",
            Event::CodeReplayed { .. } => "CodeReplayed",
            Event::CodeSentTwice { .. } => "CodeSentTwice",
            Event::Refreshed { .. } => "Refreshed",
            Event::RefreshedInGrace { .. } => "RefreshedInGrace",
            Event::RefreshTokenReused { .. } => "RefreshTokenReused",
            Event::AccessTokenRevoked { .. } => "AccessTokenRevoked",
            Event::SupersededTokenAtRevocation { .. } => "SupersededTokenAtRevocation",
            Event::GrantRevoked { .. } => "GrantRevoked",
            Event::StoreWentBack { .. } => "StoreWentBack",
            _ => return,
        };
        self.0.lock().unwrap().push(name);
    }
}
