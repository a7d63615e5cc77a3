//! Applications from submission to approval and after, as an embedder administers them.

mod form;
mod review;
mod secret;
mod states;
mod store;

use grantor::{ApplicationForm, ClientId, Field, Problem, Registrar, RegistrarError, Subject};

use crate::world::{World, form, logo};

fn registrar(world: &World) -> Registrar {
    world.server.registrar().unwrap()
}

/// The sound form with a change.
fn form_with(change: impl FnOnce(&mut ApplicationForm)) -> ApplicationForm {
    let mut form = form();
    change(&mut form);
    form
}

/// Submits the sound form, which then awaits review.
async fn submitted(world: &World) -> ClientId {
    submitted_as(world, form()).await
}

async fn submitted_as(world: &World, form: ApplicationForm) -> ClientId {
    registrar(world).submit(Subject::new("developer").unwrap(), form, Some(logo())).await.unwrap()
}

/// The fields that a step refused, each with the reason.
#[track_caller]
fn fields<T>(outcome: Result<T, RegistrarError>) -> Vec<(Field, Problem)> {
    match outcome {
        Ok(_) => Vec::new(),
        Err(RegistrarError::Invalid(errors)) => errors.iter().map(|error| (error.field(), error.problem())).collect(),
        Err(error) => panic!("{error}"),
    }
}
