//! The consent page of an application before anyone can authorize it.

use std::sync::Arc;

use crate::authorization::pending::PendingAuthorization;
use crate::interaction::flow::Flow;
use crate::interaction::page::{ConsentPage, Reviewed};
use crate::interaction::return_to::ReturnTo;
use crate::interaction::route::Route;
use crate::interaction::signed_in::SignedIn;
use crate::model::client::{AskConsent, CheckedForm, Client};
use crate::model::id::ClientId;
use crate::model::protected_resource::Audience;
use crate::secret::ConsentTicket;

impl Flow {
    /// Returns the consent page that users will see, for the developer of an application. `languages` is the value of the
    /// `Accept-Language` header.
    ///
    /// Show it in a frame with `sandbox`: its buttons answer no request. `None` if the server accepts no redirect URI of
    /// the form.
    #[must_use]
    pub fn preview(&self, form: &CheckedForm, reviewed: &Reviewed, user: &SignedIn, languages: &str) -> Option<String> {
        let config = self.server().config();
        let redirect_uri = form.redirect_uris.iter().find_map(|uri| uri.stand_in(&config.redirect_uris).ok())?;
        let client = Client { form: form.clone(), ..Client::blank(ClientId::new("preview").ok()?) };
        let pending = PendingAuthorization {
            client: Arc::new(client),
            redirect_uri,
            redirect_uri_named: false,
            challenge: None,
            state: None,
            scopes: form.scopes.clone(),
            has_dropped_scopes: false,
            audience: Audience::UNSET,
            protected_resources: Vec::new(),
            catalog: config.scopes.clone(),
            peer: None,
            document: None,
            key: None,
            pushed: None,
            ask_consent: AskConsent::Always,
            needs_page: true,
        };
        Some(self.pages.consent(&ConsentPage {
            languages,
            pending: &pending,
            reviewed: Some(reviewed),
            user,
            switch_account: None,
            action: &self.path(Route::Consent),
            ticket: &ConsentTicket::new(String::new()),
            return_to: &ReturnTo::of(&self.path(Route::Authorization), b""),
            problem: None,
            chosen: None,
        }))
    }
}
