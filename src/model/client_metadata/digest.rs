//! The digest that shows whether a metadata document has changed.

use crate::model::client::encoding::write_key_terms;
use crate::model::client::{GrantType, KeyTerms};
use crate::model::client_metadata::{ClientMetadata, MoreMetadata};
use crate::model::codec::{Writer, kind};
use crate::secret::Digest;

impl ClientMetadata {
    /// Digests everything that was taken from the document. Two documents with the same digest make the same client.
    pub(crate) fn digest(&self) -> Digest {
        let Self {
            redirect_uris,
            authentication_method,
            grant_types,
            claims_native,
            name,
            client_uri,
            scopes,
            key_terms,
            more,
        } = self;
        let MoreMetadata { logo_uri, tos_uri, policy_uri, contacts, software_id, software_version } = more;
        let mut writer = Writer::new(kind::METADATA);
        writer.count(redirect_uris.len());
        redirect_uris.iter().for_each(|uri| writer.text(uri.as_str()));
        writer.text(authentication_method.as_str());
        writer.count(grant_types.iter().count());
        grant_types.iter().map(GrantType::as_str).for_each(|name| writer.text(name));
        writer.flag(*claims_native);
        writer.optional(scopes.as_ref(), |writer, scopes| writer.text(scopes.as_str()));
        for text in [name, client_uri, logo_uri, tos_uri, policy_uri, software_id, software_version] {
            writer.optional(text.as_deref(), Writer::text);
        }
        writer.count(contacts.len());
        contacts.iter().for_each(|contact| writer.text(contact));
        if *key_terms != KeyTerms::default() {
            write_key_terms(&mut writer, key_terms);
        }
        Digest::of(&writer.finish())
    }
}
