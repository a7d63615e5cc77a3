//! The stored form of bounds and of further metadata, and the digest of metadata.

use crate::base::codec::kind;
use crate::base::field::{encode, fields};
use crate::model::client_metadata::{ClientMetadata, RegistrationBounds};
use crate::secret::Digest;

fields! {
    RegistrationBounds {
        scopes, resource_scope, default_scopes, resources, methods, has_loopback, has_private_use, grant_types, lifetime,
    }
}
fields! {
    ClientMetadata {
        redirect_uris, authentication_methods, grant_types, claims_native, scopes, name, client_uri, more, keys,
        options,
    }
}

impl ClientMetadata {
    /// Digests everything that was taken from a metadata document. Two documents with the same digest make the same
    /// client.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.encode())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        encode(kind::METADATA, self)
    }
}
