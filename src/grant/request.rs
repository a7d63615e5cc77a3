//! A token request: the parameters of every grant type, borrowed from the form [RFC 6749 section 3.2].

use crate::context::Context;
use crate::context::uses::Uses;
use crate::error::Reason;
use crate::jose::JwkThumbprint;
use crate::model::client::Client;
use crate::model::protected_resource::Named;
use crate::wire::params::{Params, RESOURCE};

/// The parameters that a token request may contain, besides those of the client.
pub(crate) const PARAMETERS: [&str; 8] =
    ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "device_code", "scope", RESOURCE];

/// What an authenticated client sends to the token endpoint. Each grant type reads its parameters and ignores the
/// others.
#[derive(Clone, Copy)]
pub(crate) struct TokenRequest<'a> {
    pub(crate) client: &'a Client,
    /// The key of the DPoP proof.
    pub(crate) key: Option<&'a JwkThumbprint>,
    pub(crate) uses: Option<&'a Uses>,
    pub(crate) code: Option<&'a [u8]>,
    pub(crate) redirect_uri: Option<&'a [u8]>,
    pub(crate) code_verifier: Option<&'a [u8]>,
    pub(crate) refresh_token: Option<&'a [u8]>,
    pub(crate) device_code: Option<&'a [u8]>,
    pub(crate) scope: Option<&'a [u8]>,
    pub(crate) resources: Named<'a>,
}

impl<'a> TokenRequest<'a> {
    pub(crate) fn read(
        client: &'a Client,
        key: Option<&'a JwkThumbprint>,
        uses: &'a Uses,
        form: &'a Params<'_>,
    ) -> Self {
        Self {
            client,
            key,
            uses: Some(uses),
            code: form.bytes("code"),
            redirect_uri: form.bytes("redirect_uri"),
            code_verifier: form.bytes("code_verifier"),
            refresh_token: form.bytes("refresh_token"),
            device_code: form.bytes("device_code"),
            scope: form.bytes("scope"),
            resources: Named::of(form),
        }
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
        Self {
            client,
            key: None,
            uses: None,
            code: None,
            redirect_uri: None,
            code_verifier: None,
            refresh_token: None,
            device_code: None,
            scope: None,
            resources: Named::NONE,
        }
    }
}
