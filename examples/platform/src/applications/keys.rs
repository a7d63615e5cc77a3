//! The public keys of one's own application: replaced at once, without a review.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use grantor::RegistrarError;
use grantor::client::ClientKeys;
use grantor::jose::JwkSet;

use crate::applications::details::show;
use crate::applications::entered::Entered;
use crate::applications::own;
use crate::pages::Failure;
use crate::registration::problems::{Problems, key_set};
use crate::registration::{Controls, Named, failure, notice};
use crate::session::SignedIn;
use crate::web::Platform;

/// Replaces the keys, or shows what is wrong with them.
pub(super) async fn replace(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
    controls: Controls,
) -> Result<Response, Failure> {
    let application = own(&platform, &signed_in.account, &id).await?;
    let (session, owner) = (&signed_in.visitor.session, &signed_in.account.subject);
    let entered = Entered::of_keys(controls.one("jwks"), controls.one("jwks_uri"));
    let mut problems = Problems::default();
    if let Some(keys) = keys_of(&entered, &mut problems) {
        let outcome = platform.registrar()?.replace_own_keys(&id, owner, controls.version()?, keys).await;
        let done = match outcome {
            Ok(()) => Some("Saved: these keys are in use now."),
            Err(RegistrarError::ChangedMeanwhile) => {
                Some("Nothing was saved: the application was changed after you opened this page.")
            }
            Err(RegistrarError::Invalid(errors)) => {
                problems.add(&errors, &application.form().to_form(&platform.server.config().scopes));
                None
            }
            Err(error) => return Err(failure(error)),
        };
        if let Some(text) = done {
            notice::leave(session, &id, text).await?;
            return Ok(Redirect::to(&format!("/applications/{id}")).into_response());
        }
    }
    show(&platform, &signed_in, &id, None, entered, &problems).await
}

/// The keys as they were typed, unless something is wrong with them.
fn keys_of(entered: &Entered, problems: &mut Problems) -> Option<ClientKeys> {
    match (entered.jwks.trim(), entered.jwks_uri.trim()) {
        ("", "") => problems.push("jwks", "Paste the public key, or give its address."),
        ("", address) => return Some(ClientKeys::Url(address.into())),
        (json, "") => match JwkSet::parse(json) {
            Ok(set) => return Some(ClientKeys::Set(set)),
            Err(error) => problems.push("jwks", key_set(error, json)),
        },
        (_, _) => problems.push("jwks_uri", "Give the keys or their address, not both."),
    }
    None
}
