//! The members for keys, pushed requests and DPoP-bound tokens [RFC 7591 section 2].

use crate::jose::{JwkSet, JwkSetBounds, SigningAlgorithm};
use crate::model::client::{AuthenticationMethod, ClientKeys, KeyFault, KeyRules, KeyTerms};
use crate::model::client_metadata::error::MetadataError;
use crate::model::client_metadata::json::Members;

/// The member with the algorithm of the client's assertions.
const SIGNING_ALGORITHM: &str = "token_endpoint_auth_signing_alg";

impl KeyRules {
    /// Reads the members of a client that authenticates with this method. Leaves out features that the server does not
    /// offer, and the keys of a client that does not authenticate with them.
    ///
    /// > The "jwks_uri" and "jwks" parameters MUST NOT both be present in the same request or response.
    ///
    /// [RFC 7591 section 2]
    pub(super) fn read(&self, members: &Members, method: AuthenticationMethod) -> Result<KeyTerms, MetadataError> {
        if members.has("jwks") && members.has("jwks_uri") {
            return Err(MetadataError::TwoKeySets);
        }
        if members.has_private_key("jwks")? {
            return Err(MetadataError::PrivateKey);
        }
        let (mut keys, mut signing_algorithm) = (None, None);
        if method == AuthenticationMethod::PrivateKeyJwt {
            keys = Some(read_keys(members, self.key_set)?);
            signing_algorithm = self.signing_algorithm(members)?;
            self.judge(keys.as_ref(), signing_algorithm)?;
            if !signing_algorithm.is_none_or(|algorithm| keys.as_ref().is_some_and(|keys| keys.may_fit(algorithm))) {
                return Err(MetadataError::NoAcceptedKey);
            }
        }
        Ok(KeyTerms {
            keys,
            signing_algorithm,
            requires_pushed_requests: members.flag("require_pushed_authorization_requests")? && self.pushed_requests,
            requires_dpop_bound_tokens: members.flag("dpop_bound_access_tokens")? && self.dpop_bound_tokens,
            keys_of_previous_owner: None,
        })
    }

    /// Reads the algorithm of the client's assertions; `None` if the member is missing.
    ///
    /// # Errors
    ///
    /// [`MetadataError::SigningAlgorithm`] if it is not accepted.
    pub(super) fn signing_algorithm(&self, members: &Members) -> Result<Option<SigningAlgorithm>, MetadataError> {
        let Some(name) = members.text(SIGNING_ALGORITHM)? else { return Ok(None) };
        let algorithm = SigningAlgorithm::parse(name).filter(|algorithm| self.accepts(*algorithm));
        algorithm.map(Some).ok_or(MetadataError::SigningAlgorithm)
    }
}

fn read_keys(members: &Members, bounds: JwkSetBounds) -> Result<ClientKeys, MetadataError> {
    if let Some(set) = members.object("jwks")? {
        return JwkSet::of_members(set, bounds).map(ClientKeys::Set).map_err(MetadataError::KeySet);
    }
    let address = members.text("jwks_uri")?.ok_or(MetadataError::NoKeys)?;
    ClientKeys::at(address).ok_or(MetadataError::Link("jwks_uri"))
}

impl From<KeyFault> for MetadataError {
    fn from(fault: KeyFault) -> Self {
        match fault {
            KeyFault::KeySet(error) => Self::KeySet(error),
            KeyFault::NoAcceptedKey => Self::NoAcceptedKey,
            KeyFault::NoFetcher => Self::NoFetcher,
            KeyFault::Algorithm(_) => Self::SigningAlgorithm,
        }
    }
}
