//! The token endpoint [RFC 6749 section 3.2]: the order of checks, then the grant type.

use crate::client::Client;
use crate::context::Context;
use crate::endpoint::client_auth::{self, Submitted};
use crate::endpoint::form;
use crate::error::Reason;
use crate::grant::authorization_code::{self, Exchange};
use crate::grant::issue::Issued;
use crate::grant::refresh_token::{self, Refresh};
use crate::id::{ClientId, IdText};
use crate::secret::opaque::MintedOpaque;
use crate::secret::refresh::MintedRefresh;
use crate::wire::params::Params;
use crate::wire::{Endpoint, Request, Response};

const NAMES: [&str; 8] =
    ["grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "scope", "client_id", "client_secret"];

pub(crate) async fn serve(context: &Context, request: &Request<'_>) -> Response {
    let refuse = |client: Option<&ClientId>, reason| client_auth::refused(context, Endpoint::Token, client, &reason);
    let submitted = match client_auth::submitted(context, request, Endpoint::Token, &NAMES).await {
        Ok(submitted) => submitted,
        Err(reason) => return refuse(None, reason),
    };
    match answer(context, &submitted).await {
        Ok(issued) => token_response(context, &issued),
        Err(reason) => refuse(Some(&submitted.client.id), reason),
    }
}

/// The grant type, then what it asks for.
async fn answer(context: &Context, submitted: &Submitted<'_, 8>) -> Result<Issued, Reason> {
    let Submitted { client, form } = submitted;
    let grant_type = form.octets("grant_type").ok_or(Reason::MissingParameter("grant_type"))?;
    match GrantType::parse(grant_type).ok_or(Reason::UnknownGrantType)? {
        GrantType::AuthorizationCode => exchange(context, client, form).await,
        GrantType::RefreshToken => refresh(context, client, form).await,
    }
}

/// The grant types that are dispatched here.
#[derive(Clone, Copy)]
enum GrantType {
    AuthorizationCode,
    RefreshToken,
}

impl GrantType {
    fn parse(octets: &[u8]) -> Option<Self> {
        match octets {
            b"authorization_code" => Some(Self::AuthorizationCode),
            b"refresh_token" => Some(Self::RefreshToken),
            _ => None,
        }
    }
}

async fn exchange(context: &Context, client: &Client, form: &Params<'_, 8>) -> Result<Issued, Reason> {
    if !client.grant_types.authorization_code {
        return Err(Reason::GrantTypeNotRegistered);
    }
    let request = Exchange {
        client,
        code: form.octets("code").ok_or(Reason::MissingParameter("code"))?,
        redirect_uri: form.octets("redirect_uri"),
        verifier: form::text(form, "code_verifier"),
    };
    authorization_code::exchange(context, &request).await
}

async fn refresh(context: &Context, client: &Client, form: &Params<'_, 8>) -> Result<Issued, Reason> {
    if !client.grant_types.refresh_token {
        return Err(Reason::GrantTypeNotRegistered);
    }
    let request = Refresh {
        client,
        token: form.octets("refresh_token").ok_or(Reason::MissingParameter("refresh_token"))?,
        scope: form.octets("scope"),
    };
    refresh_token::refresh(context, &request).await
}

/// § 5.1, written directly: no value in it can hold a quote, a backslash or a control character.
fn token_response(context: &Context, issued: &Issued) -> Response {
    let Issued { grant, access_token, answer } = issued;
    let scope = context.config.scopes.to_wire(&answer.scopes);
    let prefixes = &context.config.prefixes;
    let tokens = MintedOpaque::len(&prefixes.access_token) + MintedRefresh::len(&prefixes.refresh_token);
    let id = IdText::of(grant.octets());
    let mut json = Vec::with_capacity(128 + tokens + scope.len());
    json.extend_from_slice(b"{\"access_token\":\"");
    access_token.write(&prefixes.access_token, &id, &mut json);
    json.extend_from_slice(b"\",\"token_type\":\"bearer\",\"expires_in\":");
    write_number(answer.expires_in, &mut json);
    if let Some(refresh_token) = &answer.refresh_token {
        json.extend_from_slice(b",\"refresh_token\":\"");
        refresh_token.write(&prefixes.refresh_token, &id, &mut json);
        json.push(b'"');
    }
    json.extend_from_slice(b",\"scope\":\"");
    json.extend_from_slice(scope.as_bytes());
    json.extend_from_slice(b"\"}");
    Response::token_json(200, json)
}

/// Ten digits hold every number; the machinery of formatting costs as much as a tenth of a hash.
fn write_number(mut number: u32, json: &mut Vec<u8>) {
    let mut digits = [b'0'; 10];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    let first = digits.iter().take(9).take_while(|digit| **digit == b'0').count();
    json.extend_from_slice(digits.get(first..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_decimal_without_zeros_in_front() {
        for number in [0, 1, 9, 10, 100, 28_800, 1_000_000_009, u32::MAX] {
            let mut json = Vec::new();
            write_number(number, &mut json);
            assert_eq!(json, number.to_string().as_bytes());
        }
    }
}
