//! The registry of a store under test, and what its readers should find.

use std::sync::Arc;

use crate::model::application::{Application, ApplicationFilter, Logo, LogoSlot};
use crate::model::client::Client;
use crate::model::id::ClientId;
use crate::store::{ClientRegistry, Insertion, LogoWrite, Page, Registration, Replacement};
use crate::testing::rows::answer;
use crate::testing::told::{cut, first_difference};

/// The registry of a store under test; a failure of the store fails the test.
#[derive(Debug)]
pub(super) struct Applications<'s, S>(pub(super) &'s S);

impl<S: ClientRegistry> Applications<'_, S> {
    pub(super) async fn insert(&self, registration: &Registration) -> Insertion {
        answer("insert", self.0.insert(registration.clone()).await)
    }

    pub(super) async fn replace(&self, version: u32, registration: &Registration) -> Replacement {
        answer("replace", self.0.replace(version, registration.clone()).await)
    }

    pub(super) async fn confirm(&self, registration: &Registration) -> Replacement {
        answer("confirm", self.0.confirm(registration.clone()).await)
    }

    /// Inserts a registration with a new id.
    pub(super) async fn begin(&self, registration: &Registration) -> Whole {
        let id = registration.client.id();
        assert_eq!(self.insert(registration).await, Insertion::Inserted, "the first insert of {id:?}");
        Whole::first(registration)
    }

    /// Replaces a registration that no other caller changes by its next version.
    pub(super) async fn advance(&self, before: &Whole, next: &Registration) -> Whole {
        let version = before.client.version();
        assert_eq!(self.replace(version, next).await, Replacement::Replaced, "the only replace of version {version}");
        before.followed_by(next)
    }

    pub(super) async fn find(&self, id: &ClientId) -> Option<Arc<Client>> {
        answer("find", self.0.find(id).await)
    }

    pub(super) async fn current(&self, id: &ClientId) -> Option<Arc<Client>> {
        answer("current", self.0.current(id).await)
    }

    pub(super) async fn application(&self, id: &ClientId) -> Option<Arc<Application>> {
        answer("application", self.0.application(id).await)
    }

    pub(super) async fn logo(&self, id: &ClientId, slot: LogoSlot) -> Option<Arc<Logo>> {
        answer("logo", self.0.logo(id, slot).await)
    }

    pub(super) async fn list(&self, filter: &ApplicationFilter, page: Page<ClientId>) -> Vec<Arc<Application>> {
        answer("list", self.0.list(filter, page).await)
    }

    /// Returns all applications that match the filter, read in pages, since there may be more than the kit wrote.
    pub(super) async fn listed(&self, filter: &ApplicationFilter) -> Vec<Arc<Application>> {
        let mut found: Vec<Arc<Application>> = Vec::new();
        loop {
            let page = found.last().map_or_else(|| Page::first(500), |last| Page::after(last.id().clone(), 500));
            let items = self.list(filter, page).await;
            let is_last = items.len() < 500;
            found.extend(items);
            let in_order = found.is_sorted_by(|one, other| one.id() < other.id());
            assert!(in_order, "pages of {filter:?} continue after the last item, in the order of ids");
            if is_last {
                return found;
            }
        }
    }

    pub(super) async fn whole(&self, id: &ClientId) -> Option<Whole> {
        let (client, application) = (self.current(id).await, self.application(id).await);
        let logo = self.logo(id, LogoSlot::InForce).await;
        let proposed_logo = self.logo(id, LogoSlot::Proposed).await;
        match (client, application) {
            (Some(client), Some(application)) => Some(Whole { client, application, logo, proposed_logo }),
            (client, application) => {
                let nothing = client.is_none() && application.is_none() && logo.is_none() && proposed_logo.is_none();
                let parts = cut(&(client, application, logo, proposed_logo));
                assert!(nothing, "{} is there in parts: {parts}", cut(id));
                None
            }
        }
    }

    /// Fails unless every part is found, and the application is listed, as it should be.
    pub(super) async fn assert_there(&self, whole: &Whole, when: &str) {
        let id = whole.client.id();
        let found = self.whole(id).await;
        let difference = || found.as_ref().map_or_else(|| "nothing".to_owned(), |found| whole.difference(found));
        assert!(found.as_ref() == Some(whole), "{when}: {} was acknowledged, found is {}", cut(id), difference());
        for filter in whole.application.filters() {
            let page = self.list(&filter, just_before(id)).await;
            let listed = page.iter().find(|own| own.id() == id);
            let as_it_is = listed == Some(&whole.application);
            let (filter, listed) = (cut(&filter), cut(&listed));
            assert!(as_it_is, "{when}: {} was acknowledged, {filter} lists {listed}", cut(&whole.application));
        }
    }
}

/// What readers should find of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) client: Arc<Client>,
    pub(super) application: Arc<Application>,
    pub(super) logo: Option<Arc<Logo>>,
    pub(super) proposed_logo: Option<Arc<Logo>>,
}

impl Whole {
    pub(super) fn first(registration: &Registration) -> Self {
        Self::of(registration, None, None)
    }

    pub(super) fn followed_by(&self, next: &Registration) -> Self {
        Self::of(next, self.logo.clone(), self.proposed_logo.clone())
    }

    /// Returns which parts differ, and where.
    fn difference(&self, found: &Self) -> String {
        let client = first_difference(&self.client.encode(), &found.client.encode());
        let application = first_difference(&self.application.encode(), &found.application.encode());
        let same = |one: &Option<Arc<Logo>>, other| if one == other { "the same" } else { "another" };
        let logos = [same(&self.logo, &found.logo), same(&self.proposed_logo, &found.proposed_logo)];
        format!("a client whose {client}, an application whose {application}, logos that are {}", logos.join(" and "))
    }

    fn of(registration: &Registration, logo: Option<Arc<Logo>>, proposed_logo: Option<Arc<Logo>>) -> Self {
        let after = |write: &LogoWrite, before| match write {
            LogoWrite::Keep => before,
            LogoWrite::Clear => None,
            LogoWrite::Put(logo) => Some(logo.clone()),
        };
        Self {
            client: Arc::new(registration.client.clone()),
            application: Arc::new(registration.application.clone()),
            logo: after(&registration.logo, logo),
            proposed_logo: after(&registration.proposed_logo, proposed_logo),
        }
    }
}

/// Returns a page that starts just before that id, so that its application is among the first.
pub(super) fn just_before(id: &ClientId) -> Page<ClientId> {
    let mut text = id.as_str().to_owned();
    text.pop();
    match ClientId::new(text) {
        Ok(before) => Page::after(before, 100),
        Err(_) => Page::first(100),
    }
}
