//! Writes ID tokens: who signed in, for the client [OpenID Connect Core section 2].
//!
//! One is a member of each token response with the scope `openid`. It is made anew each time and is not stored. Claims
//! about the user are not in it, since it travels in URLs as a hint: the userinfo endpoint returns them.

use serde::Serialize;
use sha2::{Digest as _, Sha256, Sha512};
use zeroize::Zeroizing;

use crate::base::base64url;
use crate::base::id::IdText;
use crate::context::Context;
use crate::context::signing_keys::Signing;
use crate::error::Reason;
use crate::grant::issue::{ACCESS_TOKEN, Issued, SignedMember};
use crate::grant::jwt::{Signed, sign_claims};
use crate::jose::SigningAlgorithm;
use crate::model::Grant;
use crate::model::client::Client;
use crate::model::sign_in::SignIn;
use crate::scope::{OPENID, ScopeSet};

const ID_TOKEN: &str = "id_token";

/// The claims [OpenID Connect Core sections 2 and 3.1.3.6].
#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    sub: &'a str,
    aud: &'a str,
    iat: u32,
    exp: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    acr: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    amr: Vec<&'a str>,
    at_hash: String,
}

/// Returns whether the answer with these scopes has an ID token.
pub(crate) fn is_due(context: &Context, scopes: &ScopeSet) -> bool {
    context.config.has_identity() && scopes.contains_name(OPENID)
}

/// Signs the ID token of an answer, if one is due. The access token of the answer is signed before. Returns whether a
/// signer was called.
///
/// `nonce` is that of the request, for the first answer. A refresh has none [OpenID Connect Core section 12.2].
///
/// # Errors
///
/// As [`sign_claims`].
pub(crate) async fn sign(
    context: &Context,
    grant: &Grant,
    client: &Client,
    issued: &mut Issued,
    nonce: Option<&str>,
    signed: &mut Signed,
) -> Result<bool, Reason> {
    let (Some(identity), Some(subject)) = (&context.config.identity, grant.subject()) else { return Ok(false) };
    let Some(algorithm) = context.signing_keys.id_token_algorithm(None) else { return Ok(false) };
    if !is_due(context, &issued.scopes) {
        return Ok(false);
    }
    let (now, sign_in) = (context.now(), grant.terms.sign_in());
    let claims = Claims {
        iss: &context.config.issuer,
        sub: subject.as_str(),
        aud: client.id.as_str(),
        iat: now.seconds(),
        exp: now.plus(identity.id_token_lifetime).seconds(),
        auth_time: sign_in.map(|sign_in| sign_in.time().seconds()),
        nonce,
        acr: sign_in.and_then(SignIn::acr),
        amr: sign_in.map(|sign_in| sign_in.amr().collect()).unwrap_or_default(),
        at_hash: at_hash(algorithm, &access_token(context, issued)),
    };
    let claims = serde_json::to_vec(&claims).unwrap_or_default();
    let (jwt, has_signed) = sign_claims(context, Signing::IdToken(algorithm), claims, client, signed).await?;
    issued.signed.extend(jwt.map(|jwt| SignedMember { name: ID_TOKEN, jwt }));
    Ok(has_signed)
}

/// Returns the access token as the client gets it.
fn access_token(context: &Context, issued: &Issued) -> Zeroizing<String> {
    if let Some(member) = issued.signed.iter().find(|member| member.name == ACCESS_TOKEN) {
        return member.jwt.clone();
    }
    let id = IdText::of(issued.grant.as_bytes());
    let mut text = Zeroizing::new(String::with_capacity(128));
    text.extend(issued.access_token.parts(&context.prefixes.access_token, &id));
    text
}

/// > Its value is the base64url encoding of the left-most half of the hash of the octets of the ASCII representation
/// > of the access_token value, where the hash algorithm used is the hash algorithm used in the alg Header Parameter of
/// > the ID Token's JOSE Header.
///
/// [OpenID Connect Core section 3.1.3.6]. Ed25519 hashes with SHA-512.
fn at_hash(algorithm: SigningAlgorithm, access_token: &str) -> String {
    match algorithm {
        SigningAlgorithm::EdDsa => {
            let digest = Sha512::digest(access_token);
            base64url::encode(digest.split_at(digest.len() / 2).0)
        }
        SigningAlgorithm::Es256 | SigningAlgorithm::Ps256 | SigningAlgorithm::Rs256 => {
            let digest = Sha256::digest(access_token);
            base64url::encode(digest.split_at(digest.len() / 2).0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OIDC-2-05
    /// The example of OpenID Connect Core appendix A.3, and one that was computed with Python.
    #[test]
    fn half_of_the_hash_of_the_access_token_is_encoded() {
        let token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
        for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Es256] {
            assert_eq!(at_hash(algorithm, token), "77QmUPtjPfzWtF2AnpK9RQ");
        }
        assert_eq!(at_hash(SigningAlgorithm::EdDsa, token), "q7nS86GgvvFaZkzALLWqJYaJIKw2wCDAVfCAsm5CrBM");
    }
}
