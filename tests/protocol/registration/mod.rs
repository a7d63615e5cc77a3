//! Applications from submission to approval and after, as a service administers them.

mod administration;
mod cached;
mod deletion;
mod first_party;
mod form;
mod lists;
mod logos;
mod own_client;
mod review;
mod secret;
mod states;
mod store;
mod texts;

use grantor::application::{Field, Problem};
use grantor::text::TextFault;
use grantor::{ApplicationForm, ClientId, Registrar, RegistrarError, Subject};

use support::world::{World, form, logo};

fn registrar(world: &World) -> Registrar {
    world.server.registrar().unwrap()
}

fn developer() -> Subject {
    Subject::new("developer").unwrap()
}

/// Submits the valid form, which then awaits review.
async fn submitted(world: &World) -> ClientId {
    submitted_as(world, form()).await
}

async fn submitted_as(world: &World, form: ApplicationForm) -> ClientId {
    registrar(world).submit(developer(), form, Some(logo())).await.unwrap()
}

/// Returns the field that a step refused, and the code point, the place and the fault of the text.
#[track_caller]
fn refused_text<T>(outcome: Result<T, RegistrarError>) -> (Field, u32, usize, TextFault) {
    match fields(outcome).as_slice() {
        [(field, Problem::Text(error))] => (*field, u32::from(error.character), error.place, error.fault),
        other => panic!("{other:?}"),
    }
}

/// Returns the fields that a step refused, each with the reason.
#[track_caller]
fn fields<T>(outcome: Result<T, RegistrarError>) -> Vec<(Field, Problem)> {
    match outcome {
        Ok(_) => Vec::new(),
        Err(RegistrarError::Invalid(errors)) => {
            errors.iter().map(|error| (error.field(), error.problem().clone())).collect()
        }
        Err(error) => panic!("{error}"),
    }
}
