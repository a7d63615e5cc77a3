//! The stored form of bounds and of further metadata, and the digest of metadata.

use std::time::Duration;

use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::model::client::encoding::{
    read_authentication_methods, read_identifiers, read_resource_scope, read_scopes, write_authentication_methods,
    write_grant_types, write_scopes, write_texts,
};
use crate::model::client_metadata::{ClientMetadata, MoreMetadata, RegistrationBounds};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::secret::Digest;

pub(crate) fn write_bounds(writer: &mut Writer, bounds: &RegistrationBounds) {
    let RegistrationBounds {
        scopes,
        default_scopes,
        resource_scope,
        resources,
        methods,
        has_loopback,
        has_private_use,
        has_devices,
        lifetime,
    } = bounds;
    write_scopes(writer, scopes, resource_scope);
    writer.optional(default_scopes.as_ref(), |writer, scopes| writer.text(scopes.as_str()));
    writer.optional(resources.as_ref(), write_texts);
    writer.optional(*methods, write_authentication_methods);
    writer.flag(*has_loopback);
    writer.flag(*has_private_use);
    writer.flag(*has_devices);
    // More than 136 years counts as unlimited.
    writer.optional(*lifetime, |writer, lifetime| writer.number(u32::try_from(lifetime.as_secs()).unwrap_or(u32::MAX)));
}

pub(crate) fn read_bounds(reader: &mut Reader<'_>) -> Result<RegistrationBounds, DecodeError> {
    let (scopes, resource_scope) = (read_scopes(reader)?, read_resource_scope(reader)?);
    Ok(RegistrationBounds {
        scopes,
        resource_scope,
        default_scopes: reader.optional(read_scopes)?,
        resources: reader.optional(read_identifiers)?,
        methods: reader.optional(read_authentication_methods)?,
        has_loopback: reader.flag()?,
        has_private_use: reader.flag()?,
        has_devices: reader.flag()?,
        lifetime: reader.optional(Reader::number)?.map(|seconds| Duration::from_secs(seconds.into())),
    })
}

pub(crate) fn write_more(writer: &mut Writer, more: &MoreMetadata) {
    let MoreMetadata { logo_uri, tos_uri, policy_uri, contacts, software_id, software_version } = more;
    for text in [logo_uri, tos_uri, policy_uri, software_id, software_version] {
        writer.optional(text.as_deref(), Writer::text);
    }
    write_texts(writer, contacts);
}

pub(crate) fn read_more(reader: &mut Reader<'_>) -> Result<MoreMetadata, DecodeError> {
    let text = |reader: &mut Reader<'_>| Ok(reader.optional(Reader::text)?.map(Into::into));
    Ok(MoreMetadata {
        logo_uri: text(reader)?,
        tos_uri: text(reader)?,
        policy_uri: text(reader)?,
        software_id: text(reader)?,
        software_version: text(reader)?,
        contacts: reader.list(|reader| reader.text().map(Into::into))?,
    })
}

impl ClientMetadata {
    /// Digests everything that was taken from a metadata document. Two documents with the same digest make the same
    /// client.
    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.encode())
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self {
            redirect_uris,
            authentication_methods,
            grant_types,
            claims_native,
            name,
            client_uri,
            scopes,
            keys,
            signing_algorithm,
            requires_pushed_requests,
            requires_dpop_bound_tokens,
            more,
        } = self;
        let mut writer = Writer::new(kind::METADATA);
        write_texts(&mut writer, redirect_uris.iter().map(RegisteredRedirectUri::as_str));
        write_authentication_methods(&mut writer, *authentication_methods);
        write_grant_types(&mut writer, *grant_types);
        writer.flag(*claims_native);
        writer.optional(scopes.as_ref(), |writer, scopes| writer.text(scopes.as_str()));
        for text in [name, client_uri] {
            writer.optional(text.as_deref(), Writer::text);
        }
        write_more(&mut writer, more);
        writer.optional(keys.as_ref(), |writer, keys| keys.write(writer));
        writer.optional(*signing_algorithm, |writer, algorithm| writer.text(algorithm.as_str()));
        writer.flag(*requires_pushed_requests);
        writer.flag(*requires_dpop_bound_tokens);
        writer.finish()
    }
}
