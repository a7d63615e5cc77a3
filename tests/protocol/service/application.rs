//! Section 2.1: what an application must state about itself.

use grantor::application::{ApplicationFilter, Field, Logo, Problem, RegistrationLimits};
use grantor::redirect_uri::RedirectUriError;
use grantor::scope::{ResourceScope, ResourceScopeError, ScopeError};
use grantor::store::Page;
use grantor::{ApplicationForm, Consent, Decision, RegistrarError, Subject};

use support::world::{PKCE, PNG, Reviewer as _, World, code, form, logo, page, pair, red, text};

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

/// Submits the valid form with one change.
async fn refusals_with(world: &World, change: impl FnOnce(&mut ApplicationForm)) -> Vec<(Field, Problem)> {
    let mut form = form();
    change(&mut form);
    refusals(world, form, Some(logo())).await
}

/// SVC-2.1-01
#[tokio::test]
async fn a_name_of_1_to_50_characters_is_required() {
    let world = World::platform().await;
    let too_long = || Problem::TooManyCharacters { limit: 50 };
    for (name, problem) in [
        (String::new(), Some(Problem::Missing)),
        ("x".into(), None),
        ("x".repeat(50), None),
        ("x".repeat(51), Some(too_long())),
        ("\u{1f600}".repeat(50), None),
        ("\u{1f600}".repeat(51), Some(too_long())),
    ] {
        let expected: Vec<_> = problem.into_iter().map(|problem| (Field::Name, problem)).collect();
        assert_eq!(refusals_with(&world, |form| form.name.clone_from(&name)).await, expected, "{name:?}");
    }
}

/// SVC-2.1-02
#[tokio::test]
async fn a_logo_is_required_an_image_of_at_most_a_megabyte() {
    let world = World::platform().await;
    let limits = RegistrationLimits::default();
    let of_size = |bytes: usize| {
        let mut image = PNG.to_vec();
        image.resize(bytes, 0);
        image
    };
    assert_eq!(refusals(&world, form(), None).await, [(Field::Logo, Problem::Missing)]);
    for (bytes, problem) in [
        (Vec::new(), Problem::Missing),
        (b"a text file".to_vec(), Problem::NotAnImage),
        (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>".to_vec(), Problem::NotAnImage),
        (of_size(1_048_577), Problem::TooManyBytes { limit: 1_048_576 }),
    ] {
        let error = Logo::new(bytes, &limits).unwrap_err();
        assert_eq!((error.field(), error.problem()), (Field::Logo, &problem));
    }
    let largest = Logo::new(of_size(1_048_576), &limits).unwrap();
    assert_eq!(refusals(&world, form(), Some(largest)).await, []);
    // A logo that was decoded without the limits is checked on submission.
    let too_large = Logo::decode(of_size(1_048_577)).unwrap();
    let problem = Problem::TooManyBytes { limit: 1_048_576 };
    assert_eq!(refusals(&world, form(), Some(too_large)).await, [(Field::Logo, problem)]);
}

/// SVC-2.1-03
#[tokio::test]
async fn a_description_is_optional_and_has_at_most_350_characters() {
    let world = World::platform().await;
    let too_long = Problem::TooManyCharacters { limit: 350 };
    for (description, problem) in [
        (None, None),
        (Some(String::new()), None),
        (Some("x".repeat(350)), None),
        (Some("\u{1f600}".repeat(350)), None),
        (Some("x".repeat(351)), Some(too_long)),
    ] {
        let expected: Vec<_> = problem.into_iter().map(|problem| (Field::Description, problem)).collect();
        let refused = refusals_with(&world, |form| form.description.clone_from(&description)).await;
        assert_eq!(refused, expected, "{description:?}");
    }
}

/// SVC-2.1-04
#[tokio::test]
async fn a_website_of_at_most_128_characters_is_required() {
    let world = World::platform().await;
    let of_length = |characters: usize| format!("https://a.example/{}", "x".repeat(characters - 18));
    for (website, problem) in [
        (String::new(), Some(Problem::Missing)),
        (of_length(128), None),
        (of_length(129), Some(Problem::TooManyCharacters { limit: 128 })),
    ] {
        let expected: Vec<_> = problem.into_iter().map(|problem| (Field::Website, problem)).collect();
        assert_eq!(refusals_with(&world, |form| form.website.clone_from(&website)).await, expected, "{website}");
    }
}

/// SVC-2.1-05
#[tokio::test]
async fn a_sound_redirect_url_is_required() {
    let world = World::platform().await;
    assert_eq!(
        refusals_with(&world, |form| form.redirect_uris.clear()).await,
        [(Field::RedirectUris, Problem::Missing)]
    );
    for (uri, error) in [
        ("", Some(RedirectUriError::Empty)),
        ("https://app.example.com/cb#here", Some(RedirectUriError::Fragment)),
        ("https://app.example.com/cb#", Some(RedirectUriError::Fragment)),
        ("http://app.example.com/cb", Some(RedirectUriError::PlainHttp)),
        ("https://user@app.example.com/cb", Some(RedirectUriError::UserInfo)),
        ("https://app.example.com/cb", None),
        ("http://127.0.0.1/cb", None),
    ] {
        let problem = error.map(|error| (Field::RedirectUris, Problem::RedirectUri { number: 1, error }));
        let expected: Vec<_> = problem.into_iter().collect();
        assert_eq!(refusals_with(&world, |form| form.redirect_uris = vec![uri.into()]).await, expected, "{uri}");
    }
}

fn unknown(token: &str) -> Option<Problem> {
    Some(Problem::Scope(ScopeError::Unknown { token: Some(token.into()), nearest: None }))
}

fn not_allowed(token: &str, accepted: &str) -> Option<Problem> {
    Some(Problem::Scope(ScopeError::PermissionNotAllowed { token: token.into(), accepted: accepted.into() }))
}

/// SVC-2.1-06
#[tokio::test]
async fn at_least_one_scope_is_required_each_as_the_table_allows() {
    let world = World::platform().await;
    for (scopes, problem) in [
        ("", Some(Problem::Missing)),
        ("repo-everything:r", unknown("repo-everything:r")),
        ("repo-code:r repo-everything:r", unknown("repo-everything:r")),
        ("repo-security:rw", not_allowed("repo-security:rw", "repo-security:r")),
        ("repo-delete:r", not_allowed("repo-delete:r", "repo-delete:rw")),
        ("repo-code:rw repo-delete:r", not_allowed("repo-delete:r", "repo-delete:rw")),
        ("repo-security:r", None),
        ("repo-delete:rw", None),
        ("repo-code:r repo-issue:rw", None),
    ] {
        let expected: Vec<_> = problem.into_iter().map(|problem| (Field::Scopes, problem)).collect();
        assert_eq!(refusals_with(&world, |form| form.scopes = scopes.into()).await, expected, "{scopes}");
    }
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
        let expected = if refused { vec![(Field::ResourceScope, Problem::Missing)] } else { Vec::new() };
        let found = refusals_with(&world, |form| form.resource_scope.clone_from(&resource_scope)).await;
        assert_eq!(found, expected, "{resource_scope:?}");
    }
}

/// SVC-2.1-07
#[tokio::test]
async fn of_specified_resources_the_user_picks_some_and_no_others() {
    let world = World::platform().await;
    let mut form = form();
    form.resource_scope = Some(ResourceScope::specified(["team/a", "team/b", "team/c"]).unwrap());
    let client = world.register(form).await;
    let query = world.query_of(&client, &PKCE);
    let picked = |resources: &[&str]| Decision::Approve(Consent::to_everything().resources(resources.iter().copied()));

    let code = text(&code(&world.decide(&query, picked(&["team/b"])).await), "code");
    let token = pair(&world.exchange_as(&client, &code).await).access;
    let found = world.access(&token).await.unwrap().resource_scope();
    assert_eq!(found, ResourceScope::specified(["team/b"]).unwrap());

    red(&world.decide(&query, picked(&[])).await, "access_denied");
    for outside in [&["team/x"][..], &["team/a", "team/x"], &["team"]] {
        page(&world.decide(&query, picked(outside)).await);
    }
}

/// SVC-2.1-08
#[tokio::test]
async fn only_an_approved_application_can_be_authorized() {
    let world = World::platform().await;
    let registrar = world.server.registrar().unwrap();
    let id = registrar.submit(Subject::new("developer").unwrap(), form(), Some(logo())).await.unwrap();
    let query = format!("response_type=code&client_id={id}");
    page(&world.refused(&query).await);
    registrar.reject_now(&id, "The website does not answer.").await.unwrap();
    page(&world.refused(&query).await);
    registrar.change_now(&id, form(), None).await.unwrap();
    page(&world.refused(&query).await);
    let _ = registrar.approve_now(&id, grantor::Approval::default()).await.unwrap();
    code(&world.approve(&query).await);
}
