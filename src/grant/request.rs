//! A token request: what an authenticated client sends, borrowed from the form [RFC 6749 section 3.2].

use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::Reason;
use crate::jose::JwkThumbprint;
use crate::model::client::{Client, GrantType};
use crate::model::protected_resource::Named;
use crate::wire::params::{Params, RESOURCE};

/// The parameters that a token request may contain, besides those of the client.
pub(crate) fn parameters() -> impl Iterator<Item = &'static str> {
    let own = GrantType::ALL.iter().flat_map(|grant_type| grant_type.parameters()).copied();
    ["grant_type"].into_iter().chain(own).chain(["scope", RESOURCE])
}

/// What an authenticated client sends to the token endpoint.
#[derive(Clone, Copy)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) client: &'a Client,
    /// The key of the DPoP proof.
    pub(crate) key: Option<&'a JwkThumbprint>,
    pub(crate) uses: Option<&'a Uses>,
    /// The parameters of the grant types; each reads its own.
    pub(crate) form: &'a Params<'a>,
    pub(crate) scope: Option<&'a [u8]>,
    pub(crate) resources: Named<'a>,
}

impl<'a> TokenRequest<'a> {
    pub(crate) fn read(
        client: &'a Client,
        key: Option<&'a JwkThumbprint>,
        uses: &'a Uses,
        form: &'a Params<'a>,
    ) -> Self {
        Self { client, key, uses: Some(uses), form, scope: form.bytes("scope"), resources: Named::of(form) }
    }

    /// Returns a parameter that the grant type needs.
    ///
    /// # Errors
    ///
    /// [`Reason::MissingParameter`].
    pub(crate) fn required(&self, name: &'static str) -> Result<&'a [u8], Reason> {
        self.form.bytes(name).ok_or(Reason::MissingParameter(name))
    }

    /// Records that the assertion and the proof of the request are used. Every grant type calls it before its first
    /// write, and before it returns a token.
    ///
    /// # Errors
    ///
    /// As [`Uses::record`].
    pub(crate) async fn record_uses(&self, context: &Context) -> Result<(), Reason> {
        match self.uses {
            Some(uses) => uses.record(context).await,
            None => Ok(()),
        }
    }

    /// A request without parameters.
    #[cfg(test)]
    pub(crate) const fn of(client: &'a Client) -> Self {
        Self { client, key: None, uses: None, form: Params::NONE, scope: None, resources: Named::NONE }
    }
}
