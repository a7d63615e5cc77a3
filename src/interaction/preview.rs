//! The consent page of an application before anyone can authorize it. The same method draws it as draws the real page:
//! a copy would differ from it sooner or later.

use std::sync::Arc;

use crate::authorization::pending::PendingAuthorization;
use crate::authorization::signed_in::SignedIn;
use crate::authorization::user_code::AskingDevice;
use crate::base::id::{ClientId, DeviceRequestId};
use crate::interaction::flow::Flow;
use crate::interaction::page::{ConsentPage, Reviewed};
use crate::interaction::return_to::{ReturnTo, Route};
use crate::model::client::{AskConsent, CheckedForm, Client, GrantType};
use crate::model::protected_resource::Audience;
use crate::model::terms::Terms;
use crate::model::user_code::UserCode;
use crate::model::{Destination, DeviceFrom, Redirection};
use crate::secret::{ConsentTicket, Digest};

impl Flow {
    /// Returns the consent page that users will see, for the developer of an application. `languages` is the value of
    /// the `Accept-Language` header.
    ///
    /// Show it in a frame with `sandbox`: its buttons answer no request. An application of devices alone, without
    /// redirect URIs, has a device with a sample code. `None` if the server accepts no redirect URI of the form.
    #[must_use]
    pub fn preview(&self, form: &CheckedForm, reviewed: &Reviewed, user: &SignedIn, languages: &str) -> Option<String> {
        let config = self.server().config();
        let is_for_device = form.redirect_uris.is_empty() && form.grant_types.contains(GrantType::DeviceCode);
        let now = self.server().context.now();
        let destination = match is_for_device {
            true => {
                let (id, secret) = (DeviceRequestId::from_bytes([0; 16]), Digest::from_bytes([0; 32]));
                Destination::Device(DeviceFrom { id, secret, end: now, in_link: false })
            }
            false => {
                let mut uris = form.redirect_uris.iter();
                let redirect_uri = uris.find_map(|uri| uri.stand_in(&config.redirect_uris).ok())?;
                Destination::Browser(Redirection { redirect_uri, is_named: false, state: None })
            }
        };
        let device = is_for_device.then(|| AskingDevice {
            user_code: UserCode::sample(config.devices.user_code).shown(),
            in_link: false,
            network: None,
            user_agent: None,
            asked: now,
            age: 0,
        });
        let client = Client { form: form.clone(), ..Client::blank(ClientId::new("preview").ok()?) };
        let pending = PendingAuthorization {
            client: Arc::new(client),
            destination,
            challenge: None,
            terms: Terms {
                scopes: form.scopes.clone(),
                resources: form.resource_scope.clone(),
                audience: Audience::UNSET,
                extra: None,
            },
            has_dropped_scopes: false,
            protected_resources: Vec::new(),
            catalog: config.scopes.clone(),
            peer: None,
            document: None,
            key: None,
            pushed: None,
            ask_consent: AskConsent::Always,
            needs_page: true,
            is_navigation: true,
            identity: None,
        };
        Some(self.pages.consent(&ConsentPage {
            languages,
            pending: &pending,
            device: device.as_ref(),
            reviewed: Some(reviewed),
            user,
            switch_account: None,
            action: &self.path(Route::Consent),
            ticket: &ConsentTicket::new(String::new()),
            return_to: &ReturnTo::of(&self.path(Route::Authorization), b""),
            problem: None,
            is_in_development: false,
            chosen: None,
        }))
    }
}
