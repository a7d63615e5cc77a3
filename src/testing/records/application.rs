//! Applications in every state.

use std::iter;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId};
use crate::base::subject::Subject;
use crate::jose::{JwkSet, SigningAlgorithm};
use crate::model::application::{
    Application, ApplicationForm, Asked, ClientPlace, ClientRoom, Logo, Management, OpenApplication, ProposedUpdate,
    RegistrationLimits,
};
use crate::model::client::{
    ApplicationType, AskConsent, AuthenticationMethod, AuthenticationMethods, CheckedForm, Client, ClientKeys,
    ClientOptions, ClientOrigin, ClientSecrets, ClientState, ClientType, GrantTypes, Privileges, SelfRegistration,
};
use crate::model::client_metadata::{MoreMetadata, RegistrationBounds};
use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use crate::model::{ApplicationLogo, InitialToken};
use crate::scope::{ResourceScope, ScopeCatalog};
use crate::secret::Digest;
use crate::testing::draw::{self, sound, unique};
use crate::testing::records::hostile;

/// Creates an application of that owner: pending, version 1, with a logo.
#[must_use]
pub fn application(owner: &Subject) -> Application {
    application_under(&drawn_id(), owner)
}

/// Creates an application of that owner under the given id: pending, version 1, with a logo.
#[must_use]
pub fn application_under(id: &ClientId, owner: &Subject) -> Application {
    let client = Client { state: ClientState::Pending, form: form(), ..Client::blank(id.clone()) };
    let (owner, logo) = (Some(owner.clone()), Some(drawn_logo()));
    Application { owner, logo, ..Application::new(Arc::new(client), draw::now()) }
}

/// Creates the next version of an application, approved, with a new secret each time.
#[must_use]
pub fn approved(application: &Application) -> Application {
    let mut next = in_state(application, ClientState::Approved);
    next.client_mut().secrets = ClientSecrets { current: Some(draw::digest()), ..ClientSecrets::default() };
    next
}

/// Returns the next version, in that state.
pub(in crate::testing) fn in_state(application: &Application, state: ClientState) -> Application {
    let mut next = numbered(application, application.version().saturating_add(1));
    next.client_mut().state = state;
    next.decided = Some(draw::now());
    next
}

/// Returns the next version, approved, with a change that awaits review.
pub(in crate::testing) fn changed(application: &Application) -> Application {
    let mut next = approved(application);
    next.proposed = Some(CheckedForm { name: unique(), ..form() });
    next.proposed_logo = Some(drawn_logo());
    next
}

/// Returns the same application with another version.
pub(in crate::testing) fn numbered(application: &Application, version: u32) -> Application {
    let mut next = application.clone();
    next.client_mut().version = version;
    next
}

/// Returns the same application under another id.
pub(in crate::testing) fn under(application: &Application, id: &ClientId) -> Application {
    let mut copy = application.clone();
    copy.client_mut().id = id.clone();
    copy
}

/// Returns the id that has those bytes as its lower-case hexadecimal digits.
pub(in crate::testing) fn id_of(bytes: [u8; 16]) -> ClientId {
    sound(ClientId::new(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

fn drawn_id() -> ClientId {
    id_of(draw::bytes())
}

fn drawn_logo() -> LogoId {
    LogoId::from_bytes(draw::bytes())
}

/// Creates the logo of an application: version 1, to be removed from `end` on.
#[must_use]
pub fn logo(end: Option<Timestamp>) -> ApplicationLogo {
    ApplicationLogo { id: drawn_logo(), version: 1, end, logo: image(unique().into_bytes()) }
}

/// Returns a logo as large as the service allows, with every byte in it [service 2.1].
pub(in crate::testing) fn huge_logo(end: Option<Timestamp>) -> ApplicationLogo {
    let beginning = image(unique().into_bytes()).bytes().len();
    let rest = unique().into_bytes().into_iter().chain((0..=255).cycle().take((1 << 20) - beginning)).collect();
    ApplicationLogo { logo: image(rest), ..logo(end) }
}

/// Creates an initial access token: version 1, with bounds.
#[must_use]
pub fn initial_token(end: Timestamp) -> InitialToken {
    let bounds = RegistrationBounds::new(form().scopes, ResourceScope::All).resources([unique()]);
    let (id, token, made, bounds) = (drawn_id(), draw::digest(), draw::now(), Some(bounds));
    InitialToken { id, version: 1, token, uses_left: u32::MAX, made, end, bounds }
}

/// Returns applications in every state, with every choice of a field and all texts that a field may hold.
pub(in crate::testing) fn applications_of_every_kind(owner: &Subject, purge_after: Timestamp) -> Vec<Application> {
    let plain = || application(owner);
    let mut all: Vec<_> = states().map(|state| in_state(&plain(), state)).collect();
    all.extend([
        approved(&plain()),
        changed(&plain()),
        other_choices(plain()),
        hostile_texts(plain()),
        at_the_ends(plain()),
        deleted(plain(), purge_after),
        registered_itself(plain(), purge_after),
        with_keys(plain()),
        with_keys_at_an_address(plain()),
    ]);
    all.extend(hostile::subjects().iter().map(application));
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

/// Returns an application with every field as large as it may be.
pub(in crate::testing) fn huge_application(owner: &Subject) -> Application {
    let mut application = application_under(&hostile::client_id(512), owner);
    let form = CheckedForm {
        name: "\u{1f600}".repeat(50),
        description: Some("\u{1f600}".repeat(350)),
        website: format!("https://a.example/{}", "\u{1f600}".repeat(110)),
        redirect_uris: (0..10)
            .map(|number| redirect_uri(&format!("https://{number}.example/{}", "x".repeat(2000))))
            .collect(),
        scopes: draw::scopes(&hostile::many_scopes()),
        resource_scope: hostile::longest_list(0),
        client_scopes: draw::scopes(&hostile::many_scopes()),
        client_resources: hostile::longest_list(5),
        keys: largest_keys(),
        ..form()
    };
    application.client_mut().form = form.clone();
    application.proposed = Some(form);
    application.rejection = Some("\u{1f600}".repeat(1000));
    application
}

/// Returns as many RSA keys as the settings allow by default, each of 8192 bits.
fn largest_keys() -> Option<ClientKeys> {
    let modulus = URL_SAFE_NO_PAD.encode([0xff; 1024]);
    let key = |number: usize| format!(r#"{{"kty":"RSA","e":"AQAB","n":"{modulus}","kid":"{number:0>256}"}}"#);
    let keys = (0..32).map(key).collect::<Vec<_>>().join(",");
    JwkSet::from_record(&format!(r#"{{"keys":[{keys}]}}"#)).map(ClientKeys::Set)
}

fn other_choices(mut application: Application) -> Application {
    let client = application.client_mut();
    client.form.client_type = ClientType::Public;
    client.form.application_type = ApplicationType::Native;
    client.form.grant_types = GrantTypes::CODE_ONLY;
    client.form.authentication_methods = AuthenticationMethods::only(AuthenticationMethod::ClientSecretPost);
    client.form.redirect_uris = Vec::new();
    client.form.resource_scope = ResourceScope::none();
    client.secrets = ClientSecrets::default().rotated(draw::digest()).rotated(draw::digest()).under_another_owner();
    client.privileges = Privileges {
        trusted: true,
        may_introspect: true,
        require_pkce: true,
        refresh_rotation: None,
        ask_consent: AskConsent::Once,
    };
    application
}

/// Adds keys by value in force, and others proposed.
fn with_keys(application: Application) -> Application {
    let mut next = changed(&application);
    let client = next.client_mut();
    client.secrets = ClientSecrets::default();
    client.keys_of_previous_owner = ClientKeys::of_records();
    client.form = CheckedForm {
        authentication_methods: AuthenticationMethods::KEY,
        keys: ClientKeys::of_records(),
        options: ClientOptions {
            signing_algorithm: Some(SigningAlgorithm::EdDsa),
            requires_pushed_requests: true,
            requires_dpop_bound_tokens: true,
        },
        ..client.form.clone()
    };
    if let Some(proposed) = &mut next.proposed {
        proposed.keys = Some(ClientKeys::Url("https://app.example/jwks.json".into()));
    }
    next
}

fn with_keys_at_an_address(mut application: Application) -> Application {
    let form = &mut application.client_mut().form;
    form.authentication_methods = AuthenticationMethods::KEY;
    form.keys = Some(ClientKeys::Url(format!("https://app.example/{}", "x".repeat(1004)).into()));
    application
}

/// Adds hostile texts. Names and websites are checked when they are submitted; a store accepts any.
fn hostile_texts(mut application: Application) -> Application {
    let text: String = "\0'; DROP TABLE clients; --\"\\\u{202e}%_\r\n\u{1f600}e\u{301}".into();
    let form = &mut application.client_mut().form;
    form.name = text.clone();
    form.description = Some(text.clone());
    form.website = text.clone();
    form.scopes = draw::scopes(hostile::SCOPES);
    form.resource_scope = hostile::resources();
    application.rejection = Some(text);
    application
}

fn at_the_ends(mut application: Application) -> Application {
    application.client_mut().version = u32::MAX;
    application.client_mut().epoch = u32::MAX;
    application.submitted = Timestamp::default();
    application.decided = Some(Timestamp::from_seconds(u32::MAX));
    application.rejection = Some("".into());
    application
}

fn deleted(application: Application, reserved_until: Timestamp) -> Application {
    let mut next = in_state(&application, ClientState::Deleted);
    next.owner = None;
    next.reserved_until = Some(reserved_until);
    (next.logo, next.proposed_logo) = (None, None);
    next
}

/// Returns a client that registered itself, was not reviewed, and may be removed from `gone_at`.
pub(in crate::testing) fn registered_itself(mut application: Application, gone_at: Timestamp) -> Application {
    let gone_at = Some(gone_at);
    application.client_mut().state = ClientState::Approved;
    application.client_mut().open = Some(Arc::new(SelfRegistration {
        origin: ClientOrigin::MetadataDocument,
        registered: draw::now(),
        is_reviewed: false,
        default_scopes: application.client.form.scopes.clone(),
        resources: Some([unique(), unique()].map(Box::from).into()),
        end: gone_at,
        used_until: gone_at,
        gone_at,
        has_foreign_links: true,
        looks_like_another: true,
        document: Some(Digest::of(unique().as_bytes())),
    }));
    let text = || Some(unique());
    let more = MoreMetadata {
        logo_uri: text(),
        tos_uri: text(),
        policy_uri: text(),
        contacts: vec![unique(), unique()],
        software_id: text(),
        software_version: text(),
    };
    application.owner = None;
    let bounds = RegistrationBounds::new(application.client.form.scopes.clone(), ResourceScope::Public);
    let proposed = ProposedUpdate {
        default_scopes: application.client.form.scopes.clone(),
        resources: Some([unique()].map(Box::from).into()),
        has_foreign_links: false,
        looks_like_another: true,
        more: more.clone(),
        document: Some(draw::digest()),
    };
    let management =
        Management { token: draw::digest(), bounds: bounds.resources([unique()]), updates_await_review: true };
    let management = Some(Box::new(management));
    let room = ClientRoom { has_document: true, is_approved: true };
    application.open = Some(Box::new(OpenApplication {
        place: Some(ClientPlace { room, number: u32::MAX }),
        approver: Some(draw::subject()),
        is_shared: true,
        asked: vec![Asked { request: draw::new_id(), subject: draw::subject() }],
        more,
        management,
        proposed: Some(Box::new(proposed)),
        rejected: Some(draw::digest()),
    }));
    application.logo = None;
    application
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
