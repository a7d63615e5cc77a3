//! Puts a form in force in the client.

use crate::model::application::CheckedForm;
use crate::model::client::{Client, ClientSecrets};
use crate::registration::keys::put_key_terms_in_force;

pub(super) fn put_in_force(client: &mut Client, form: &CheckedForm) {
    client.name = form.name.clone();
    client.website = form.website.clone();
    client.redirect_uris.clone_from(&form.redirect_uris);
    client.scopes = form.scopes.clone();
    client.resource_scope = form.resource_scope.clone();
    client.client_type = form.client_type;
    client.application_type = form.application_type;
    client.client_scopes = form.client_scopes.clone();
    client.client_resources = form.client_resources.clone();
    client.grant_types = form.grant_types;
    client.authentication_methods = form.authentication_methods;
    put_key_terms_in_force(client, form);
    if !client.authentication_methods.use_secret() {
        // Unused secrets could only be stolen.
        client.secrets = ClientSecrets::default();
    }
}
