//! Registrations in every state.

use std::iter;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::clock::Timestamp;
use crate::jose::{JwkSet, SigningAlgorithm};
use crate::model::application::{
    Application, ApplicationForm, CheckedForm, InitialToken, Logo, Management, OpenApplication, ProposedUpdate,
    RegistrationLimits,
};
use crate::model::client::{
    ApplicationType, AuthenticationMethod, AuthenticationMethods, Client, ClientKeys, ClientOrigin, ClientSecrets,
    ClientState, ClientType, GrantTypes, KeyTerms, Privileges, SelfRegistration,
};
use crate::model::client_metadata::{MoreMetadata, RegistrationBounds};
use crate::model::id::ClientId;
use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use crate::model::subject::Subject;
use crate::scope::{ResourceScope, ScopeCatalog};
use crate::secret::Digest;
use crate::store::{LogoWrite, Registration};
use crate::testing::draw::{self, sound, unique};
use crate::testing::records::hostile;

/// Creates a registration of that owner: pending, version 1, with a logo.
#[must_use]
pub fn registration(owner: &Subject) -> Registration {
    registration_of(sound(ClientId::new(unique())), owner)
}

/// Creates a registration of that owner under the given id: pending, version 1, with a logo.
#[must_use]
pub fn registration_under(id: &ClientId, owner: &Subject) -> Registration {
    registration_of(id.clone(), owner)
}

/// Creates the next version of a registration, approved, with a new secret each time. Both logos stay as they are.
#[must_use]
pub fn approved(registration: &Registration) -> Registration {
    let mut next = in_state(registration, ClientState::Approved);
    next.client.secrets = ClientSecrets { current: Some(draw::digest()), ..ClientSecrets::default() };
    next
}

pub(in crate::testing) fn registration_of(id: ClientId, owner: &Subject) -> Registration {
    let form = form();
    let client = Client {
        state: ClientState::Pending,
        name: form.name.clone(),
        website: form.website.clone(),
        redirect_uris: form.redirect_uris.clone(),
        resource_scope: form.resource_scope.clone(),
        ..Client::builder(id.clone()).scopes(form.scopes.clone()).build()
    };
    let application = Application {
        id,
        version: client.version,
        state: client.state,
        owner: Some(owner.clone()),
        submitted: draw::now(),
        decided: None,
        form,
        proposed: None,
        rejection: None,
        reserved_until: None,
        open: None,
        initial_token: None,
        mark: draw::bytes(),
    };
    Registration { logo: LogoWrite::Put(Arc::new(logo())), ..Registration::new(client, application) }
}

/// Returns the next version, in that state. Both logos stay as they are.
pub(in crate::testing) fn in_state(registration: &Registration, state: ClientState) -> Registration {
    let mut next = Registration::new(registration.client.clone(), registration.application.clone());
    next.client.version = next.client.version.saturating_add(1);
    next.client.state = state;
    next.application.version = next.client.version;
    next.application.state = state;
    next.application.decided = Some(draw::now());
    next
}

/// Returns the next version, approved, with a change that awaits review.
pub(in crate::testing) fn changed(registration: &Registration) -> Registration {
    let mut next = approved(registration);
    next.application.proposed = Some(CheckedForm { name: unique().into(), ..form() });
    next
}

/// Returns the owner of an application that the kit created with one.
pub(in crate::testing) fn owner_of(application: &Application) -> Subject {
    sound(application.owner.clone().ok_or("the application has an owner"))
}

/// Returns the same registration with another version.
pub(in crate::testing) fn numbered(registration: &Registration, version: u32) -> Registration {
    let mut next = Registration::new(registration.client.clone(), registration.application.clone());
    next.client.version = version;
    next.application.version = version;
    next
}

/// Returns the same registration under another id.
pub(in crate::testing) fn under(registration: &Registration, id: &ClientId) -> Registration {
    let mut copy = registration.clone();
    copy.client.id = id.clone();
    copy.application.id = id.clone();
    copy
}

/// Returns the same registration with two new logos.
pub(in crate::testing) fn with_new_logos(registration: &Registration) -> Registration {
    let put = || LogoWrite::Put(Arc::new(logo()));
    Registration { logo: put(), proposed_logo: put(), ..registration.clone() }
}

/// Returns a logo that contains the version it was written with.
pub(in crate::testing) fn numbered_logo(version: u32) -> Logo {
    image([&[0; 8][..], &version.to_be_bytes()].concat())
}

pub(in crate::testing) fn number_of(logo: &Logo) -> u32 {
    logo.bytes().last_chunk().map_or(0, |number| u32::from_be_bytes(*number))
}

/// Returns a logo that no other call returns.
pub(in crate::testing) fn logo() -> Logo {
    image(unique().into_bytes())
}

/// Returns a logo as large as the service allows, with every byte in it [service 2.1].
fn largest_logo() -> Logo {
    let beginning = logo().bytes().len();
    image(unique().into_bytes().into_iter().chain((0..=255).cycle().take((1 << 20) - beginning)).collect())
}

/// Returns registrations in every state, with every choice of a field and all texts that a field may hold.
pub(in crate::testing) fn registrations_of_every_kind(owner: &Subject) -> Vec<Registration> {
    let plain = || registration(owner);
    let mut all: Vec<_> = states().map(|state| in_state(&plain(), state)).collect();
    all.extend([
        approved(&plain()),
        changed(&plain()),
        other_choices(plain()),
        hostile_texts(plain()),
        at_the_ends(plain()),
        deleted(plain()),
        initial_token(plain()),
        registered_itself(plain(), Timestamp::from_seconds(u32::MAX)),
        with_keys(plain()),
        with_keys_at_an_address(plain()),
    ]);
    all.extend(hostile::subjects().iter().map(registration));
    all
}

/// Returns every state of an application.
pub(in crate::testing) fn states() -> impl Iterator<Item = ClientState> + Clone {
    iter::successors(Some(ClientState::Pending), |state| match state {
        ClientState::Pending => Some(ClientState::Approved),
        ClientState::Approved => Some(ClientState::Rejected),
        ClientState::Rejected => Some(ClientState::Suspended),
        ClientState::Suspended => Some(ClientState::Deleted),
        ClientState::Deleted => None,
    })
}

/// Returns a registration with every field as large as it may be.
pub(in crate::testing) fn huge_registration(owner: &Subject) -> Registration {
    let mut registration = registration_of(hostile::client_id(512), owner);
    let form = CheckedForm {
        name: "\u{1f600}".repeat(50).into(),
        description: Some("\u{1f600}".repeat(350).into()),
        website: format!("https://a.example/{}", "\u{1f600}".repeat(110)).into(),
        redirect_uris: (0..10)
            .map(|number| redirect_uri(&format!("https://{number}.example/{}", "x".repeat(2000))))
            .collect(),
        scopes: draw::scopes(&hostile::many_scopes()),
        resource_scope: hostile::longest_list(0),
        client_scopes: draw::scopes(&hostile::many_scopes()),
        client_resources: hostile::longest_list(5),
        key_terms: Some(Arc::new(KeyTerms { keys: largest_keys(), ..KeyTerms::default() })),
        ..form()
    };
    registration.client.key_terms.clone_from(&form.key_terms);
    registration.client.name = form.name.clone();
    registration.client.website = form.website.clone();
    registration.client.redirect_uris.clone_from(&form.redirect_uris);
    registration.client.scopes = form.scopes.clone();
    registration.client.resource_scope = form.resource_scope.clone();
    registration.client.client_scopes = form.client_scopes.clone();
    registration.client.client_resources = form.client_resources.clone();
    registration.application.proposed = Some(form.clone());
    registration.application.form = form;
    registration.application.rejection = Some("\u{1f600}".repeat(1000).into());
    registration.logo = LogoWrite::Put(Arc::new(largest_logo()));
    registration.proposed_logo = LogoWrite::Put(Arc::new(largest_logo()));
    registration
}

/// Returns as many RSA keys as the settings allow by default, each of 8192 bits.
fn largest_keys() -> Option<ClientKeys> {
    let modulus = URL_SAFE_NO_PAD.encode([0xff; 1024]);
    let key = |number: usize| format!(r#"{{"kty":"RSA","e":"AQAB","n":"{modulus}","kid":"{number:0>256}"}}"#);
    let keys = (0..32).map(key).collect::<Vec<_>>().join(",");
    JwkSet::from_record(&format!(r#"{{"keys":[{keys}]}}"#)).map(ClientKeys::Set)
}

fn other_choices(mut registration: Registration) -> Registration {
    let client = &mut registration.client;
    client.client_type = ClientType::Public;
    client.application_type = ApplicationType::Native;
    client.grant_types = GrantTypes::CODE_ONLY;
    client.authentication_methods = AuthenticationMethods::only(AuthenticationMethod::ClientSecretPost);
    client.secrets = ClientSecrets::default().rotated(draw::digest()).rotated(draw::digest()).under_another_owner();
    client.redirect_uris = Vec::new();
    client.resource_scope = ResourceScope::none();
    client.privileges = Privileges { trusted: true, may_introspect: true, require_pkce: true, refresh_rotation: None };
    let form = &mut registration.application.form;
    form.client_type = ClientType::Public;
    form.application_type = ApplicationType::Native;
    form.grant_types = GrantTypes::NONE;
    form.authentication_methods = AuthenticationMethods::PUBLIC;
    form.redirect_uris = Vec::new();
    registration
}

/// Adds keys by value in force, and others proposed.
fn with_keys(registration: Registration) -> Registration {
    let mut next = changed(&registration);
    let key_terms = KeyTerms {
        keys: ClientKeys::of_records(),
        signing_algorithm: Some(SigningAlgorithm::EdDsa),
        requires_pushed_requests: true,
        requires_dpop_bound_tokens: true,
        keys_of_previous_owner: ClientKeys::of_records(),
    };
    next.client.secrets = ClientSecrets::default();
    next.client.authentication_methods = AuthenticationMethods::KEY;
    next.application.form.key_terms = Some(Arc::new(key_terms.clone()));
    if let Some(proposed) = &mut next.application.proposed {
        let keys = Some(ClientKeys::Url("https://app.example/jwks.json".into()));
        proposed.key_terms = Some(Arc::new(KeyTerms { keys, ..KeyTerms::default() }));
    }
    next.client.key_terms = Some(Arc::new(key_terms));
    next
}

fn with_keys_at_an_address(mut registration: Registration) -> Registration {
    let keys = Some(ClientKeys::Url(format!("https://app.example/{}", "x".repeat(1004)).into()));
    let key_terms = Some(Arc::new(KeyTerms { keys, ..KeyTerms::default() }));
    registration.client.authentication_methods = AuthenticationMethods::KEY;
    registration.client.key_terms.clone_from(&key_terms);
    registration.application.form.key_terms = key_terms;
    registration
}

/// Adds hostile texts. Names and websites are checked when they are submitted; a store accepts any.
fn hostile_texts(mut registration: Registration) -> Registration {
    let text: Box<str> = "\0'; DROP TABLE clients; --\"\\\u{202e}%_\r\n\u{1f600}e\u{301}".into();
    registration.client.name = text.clone();
    registration.client.website = text.clone();
    registration.client.scopes = draw::scopes(hostile::SCOPES);
    registration.client.resource_scope = hostile::resources();
    registration.application.form.name = text.clone();
    registration.application.form.description = Some(text.clone());
    registration.application.form.website = text.clone();
    registration.application.rejection = Some(text);
    registration
}

fn at_the_ends(mut registration: Registration) -> Registration {
    registration.client.version = u32::MAX;
    registration.client.epoch = u32::MAX;
    registration.application.version = u32::MAX;
    registration.application.submitted = Timestamp::default();
    registration.application.decided = Some(Timestamp::from_seconds(u32::MAX));
    registration.application.rejection = Some("".into());
    registration
}

fn deleted(registration: Registration) -> Registration {
    let mut next = in_state(&registration, ClientState::Deleted);
    next.application.owner = None;
    next.application.reserved_until = Some(Timestamp::from_seconds(u32::MAX));
    next
}

/// Returns the row of an initial access token.
fn initial_token(registration: Registration) -> Registration {
    let mut next = deleted(registration);
    let bounds = RegistrationBounds::new(next.client.scopes.clone(), ResourceScope::All).resources([unique()]);
    let token = InitialToken { token: draw::digest(), uses_left: u32::MAX, bounds: Some(bounds) };
    next.application.initial_token = Some(Box::new(token));
    next
}

/// Returns a client that registered itself, was not reviewed, and may be removed from `gone_at`.
pub(in crate::testing) fn registered_itself(mut registration: Registration, gone_at: Timestamp) -> Registration {
    let gone_at = Some(gone_at);
    registration.client.state = ClientState::Approved;
    registration.client.open = Some(Arc::new(SelfRegistration {
        origin: ClientOrigin::MetadataDocument,
        registered: draw::now(),
        is_reviewed: false,
        default_scopes: registration.client.scopes.clone(),
        resources: Some([unique(), unique()].map(Box::from).into()),
        end: gone_at,
        used_until: gone_at,
        gone_at,
        has_foreign_links: true,
        looks_like_another: true,
        document: Some(Digest::of(unique().as_bytes())),
    }));
    let text = || Some(unique().into());
    let more = MoreMetadata {
        logo_uri: text(),
        tos_uri: text(),
        policy_uri: text(),
        contacts: vec![unique().into(), unique().into()],
        software_id: text(),
        software_version: text(),
    };
    let application = &mut registration.application;
    application.state = ClientState::Approved;
    application.owner = None;
    let bounds = RegistrationBounds::new(registration.client.scopes.clone(), ResourceScope::Public);
    let proposed = ProposedUpdate {
        default_scopes: registration.client.scopes.clone(),
        resources: Some([unique()].map(Box::from).into()),
        end: gone_at,
        has_foreign_links: false,
        looks_like_another: true,
        more: more.clone(),
    };
    let management = Management {
        token: draw::digest(),
        bounds: bounds.resources([unique()]),
        updates_await_review: true,
        proposed: Some(proposed),
    };
    let management = Some(Box::new(management));
    application.open =
        Some(Box::new(OpenApplication { slot: Some(u32::MAX), is_used: true, gone_at, more, management }));
    registration.logo = LogoWrite::Keep;
    registration
}

fn form() -> CheckedForm {
    let mut form = ApplicationForm::new(unique(), "https://app.example");
    form.description = Some("Two\nlines".to_owned());
    form.redirect_uris = vec!["https://app.example/cb".to_owned(), "com.example.app:/cb".to_owned()];
    form.scopes = "repo-code:rw account-email:r".to_owned();
    form.resource_scope = Some(ResourceScope::Public);
    sound(form.check(&RegistrationLimits::default(), &ScopeCatalog::platform(), &RedirectUriPolicy::default()))
}

fn redirect_uri(text: &str) -> RegisteredRedirectUri {
    RegisteredRedirectUri::from_record(text)
}

/// Returns an image with these bytes behind its header.
fn image(rest: Vec<u8>) -> Logo {
    sound(Logo::decode([b"GIF89a\x01\0\x01\0".to_vec(), rest].concat()))
}
