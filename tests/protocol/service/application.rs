//! Section 2.1: what an application must state about itself.

use grantor::application::{ApplicationFilter, Field, Logo, Problem, RegistrationLimits};
use grantor::redirect_uri::RedirectUriError;
use grantor::scope::{ResourceScope, ResourceScopeError, ScopeError};
use grantor::store::Page;
use grantor::{ApplicationForm, RegistrarError, Subject};

use support::world::{PNG, World, form, logo};

/// Returns the refused fields of a submission, none if it is accepted. Asserts that only an accepted one is stored.
pub(super) async fn refusals(world: &World, form: ApplicationForm, logo: Option<Logo>) -> Vec<(Field, Problem)> {
    let registrar = world.server.registrar().unwrap();
    let stored = async || registrar.list(&ApplicationFilter::All, Page::first(1000)).await.unwrap().len();
    let before = stored().await;
    match registrar.submit(Subject::new("developer").unwrap(), form, logo).await {
        Ok(_) => {
            assert_eq!(stored().await, before + 1);
            Vec::new()
        }
        Err(RegistrarError::Invalid(errors)) => {
            assert_eq!(stored().await, before);
            errors.iter().map(|error| (error.field(), error.problem().clone())).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

/// SVC-2.1-02, IMG-01, IMG-02
/// A logo that was decoded without the limits is checked on submission.
#[tokio::test]
async fn a_logo_is_required_an_image_within_bounds() {
    let world = World::platform().await;
    let of_size = |bytes: usize| {
        let mut image = PNG.to_vec();
        image.resize(bytes, 0);
        image
    };
    let wide = [&PNG[..16], &2049_u32.to_be_bytes(), &PNG[20..]].concat();
    let animated = [&PNG[..33], b"\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0"].concat();
    assert_eq!(refusals(&world, form(), None).await, [(Field::Logo, Problem::Missing)]);
    for (bytes, problem) in [
        (Vec::new(), Problem::Missing),
        (b"a text file".to_vec(), Problem::NotAnImage),
        (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(), Problem::NotAnImage),
        (of_size(1_048_577), Problem::TooManyBytes { limit: 1_048_576 }),
        (wide, Problem::Dimensions { limit: 2048 }),
        (animated, Problem::Animated),
    ] {
        let error = Logo::new(bytes.clone(), &RegistrationLimits::default()).unwrap_err();
        assert_eq!((error.field(), error.problem()), (Field::Logo, &problem));
        if let Ok(logo) = Logo::decode(bytes) {
            assert_eq!(refusals(&world, form(), Some(logo)).await, [(Field::Logo, problem)]);
        }
    }
    let largest = Logo::new(of_size(1_048_576), &RegistrationLimits::default()).unwrap();
    assert_eq!(refusals(&world, form(), Some(largest)).await, []);
}

fn unknown(token: &str) -> Option<Problem> {
    Some(Problem::Scope(ScopeError::Unknown { token: Some(token.into()), nearest: None }))
}

fn not_allowed(token: &str, accepted: &str) -> Option<Problem> {
    Some(Problem::Scope(ScopeError::PermissionNotAllowed { token: token.into(), accepted: accepted.into() }))
}

fn too_many(limit: usize) -> Option<Problem> {
    Some(Problem::TooManyCharacters { limit })
}

fn no_redirect(error: RedirectUriError) -> Option<Problem> {
    Some(Problem::RedirectUri { number: 1, error })
}

/// The valid form with one text changed.
fn form_with(field: Field, text: &str) -> ApplicationForm {
    let mut form = form();
    match field {
        Field::Name => form.name = text.into(),
        Field::Description => form.description = Some(text.into()),
        Field::Website => form.website = text.into(),
        Field::RedirectUris => form.redirect_uris = vec![text.into()],
        Field::Scopes => form.scopes = text.into(),
        other => panic!("{other:?} is no text"),
    }
    form
}

/// SVC-2.1-01, SVC-2.1-03, SVC-2.1-04, SVC-2.1-05, SVC-2.1-06
#[tokio::test]
async fn each_text_of_an_application_is_bounded_and_sound() {
    let world = World::platform().await;
    let website = |characters: usize| format!("https://a.example/{}", "x".repeat(characters - 18));
    for (field, text, problem) in [
        (Field::Name, "", Some(Problem::Missing)),
        (Field::Name, "x", None),
        (Field::Name, &"x".repeat(50), None),
        (Field::Name, &"x".repeat(51), too_many(50)),
        (Field::Name, &"\u{1f600}".repeat(50), None),
        (Field::Name, &"\u{1f600}".repeat(51), too_many(50)),
        (Field::Description, "", None),
        (Field::Description, &"x".repeat(350), None),
        (Field::Description, &"\u{1f600}".repeat(350), None),
        (Field::Description, &"x".repeat(351), too_many(350)),
        (Field::Website, "", Some(Problem::Missing)),
        (Field::Website, &website(128), None),
        (Field::Website, &website(129), too_many(128)),
        (Field::RedirectUris, "", no_redirect(RedirectUriError::Empty)),
        (Field::RedirectUris, "https://app.example.com/cb#here", no_redirect(RedirectUriError::Fragment)),
        (Field::RedirectUris, "https://app.example.com/cb#", no_redirect(RedirectUriError::Fragment)),
        (Field::RedirectUris, "http://app.example.com/cb", no_redirect(RedirectUriError::PlainHttp)),
        (Field::RedirectUris, "https://user@app.example.com/cb", no_redirect(RedirectUriError::UserInfo)),
        (Field::RedirectUris, "https://app.example.com/cb", None),
        (Field::RedirectUris, "http://127.0.0.1/cb", None),
        (Field::Scopes, "", Some(Problem::Missing)),
        (Field::Scopes, "repo-everything:r", unknown("repo-everything:r")),
        (Field::Scopes, "repo-code:r repo-everything:r", unknown("repo-everything:r")),
        (Field::Scopes, "repo-security:rw", not_allowed("repo-security:rw", "repo-security:r")),
        (Field::Scopes, "repo-delete:r", not_allowed("repo-delete:r", "repo-delete:rw")),
        (Field::Scopes, "repo-code:rw repo-delete:r", not_allowed("repo-delete:r", "repo-delete:rw")),
        (Field::Scopes, "repo-security:r", None),
        (Field::Scopes, "repo-delete:rw", None),
        (Field::Scopes, "repo-code:r repo-issue:rw", None),
    ] {
        let expected: Vec<_> = problem.into_iter().map(|problem| (field, problem)).collect();
        assert_eq!(refusals(&world, form_with(field, text), Some(logo())).await, expected, "{field:?} {text:?}");
    }
    let (mut plain, mut nowhere) = (form(), form());
    plain.description = None;
    assert_eq!(refusals(&world, plain, Some(logo())).await, []);
    nowhere.redirect_uris.clear();
    assert_eq!(refusals(&world, nowhere, Some(logo())).await, [(Field::RedirectUris, Problem::Missing)]);
}

/// SVC-2.1-07
///
/// The form has only one field for it, so two at once cannot be expressed.
#[tokio::test]
async fn exactly_one_resource_scope_is_required_and_a_list_is_not_empty() {
    let world = World::platform().await;
    let specified = |resources: &[&str]| ResourceScope::specified(resources.iter().copied());
    assert_eq!(specified(&[]), Err(ResourceScopeError::Empty));
    let emptied = specified(&["team/a"]).unwrap().reduced_to(&specified(&["team/b"]).unwrap());
    for (resource_scope, refused) in [
        (None, true),
        (Some(emptied), true),
        (Some(ResourceScope::All), false),
        (Some(ResourceScope::Public), false),
        (Some(specified(&["team/a"]).unwrap()), false),
    ] {
        let mut form = form();
        form.resource_scope.clone_from(&resource_scope);
        let expected = if refused { vec![(Field::ResourceScope, Problem::Missing)] } else { Vec::new() };
        assert_eq!(refusals(&world, form, Some(logo())).await, expected, "{resource_scope:?}");
    }
}
