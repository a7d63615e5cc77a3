//! The stored form of a [`Client`].

use crate::client::redirect_uri::RegisteredRedirectUri;
use crate::client::{
    ApplicationType, Client, ClientAuthentication, ClientSecrets, ClientState, ClientType, GrantTypes,
};
use crate::codec::{DecodeError, Reader, Writer};
use crate::id::ClientId;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;

const KIND: u8 = b'C';
const VERSION: u8 = 1;

impl Client {
    /// Writes the record as octets, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(KIND, VERSION);
        writer.text(self.id.as_str());
        writer.number(self.version);
        writer.octet(state_octet(self.state));
        writer.number(self.epoch);
        writer.flag(self.client_type == ClientType::Public);
        writer.flag(self.application_type == ApplicationType::Native);
        writer.text(&self.name);
        writer.text(&self.website);
        for secret in [&self.secrets.current, &self.secrets.previous] {
            writer.optional(secret.as_ref(), |writer, digest| writer.array(digest.octets()));
        }
        writer.count(self.redirect_uris.len());
        for uri in &self.redirect_uris {
            writer.text(uri.as_str());
        }
        write_scopes(&mut writer, &self.scopes, &self.resource_scope);
        writer.flag(self.grant_types.authorization_code);
        writer.flag(self.grant_types.refresh_token);
        writer.octet(authentication_octet(self.authentication));
        writer.flag(self.require_pkce);
        writer.flag(self.trusted);
        writer.flag(self.may_introspect);
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the octets are no client, or were written by an unknown release.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets, KIND, VERSION)?;
        let id = ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?;
        let client = Self {
            version: reader.number()?,
            state: state(reader.octet()?)?,
            epoch: reader.number()?,
            client_type: if reader.flag()? { ClientType::Public } else { ClientType::Confidential },
            application_type: if reader.flag()? { ApplicationType::Native } else { ApplicationType::Web },
            name: reader.text()?.into(),
            website: reader.text()?.into(),
            secrets: ClientSecrets { current: digest(&mut reader)?, previous: digest(&mut reader)? },
            redirect_uris: reader.list(|reader| reader.text().map(RegisteredRedirectUri::from_record))?,
            scopes: read_scopes(&mut reader)?,
            resource_scope: read_resource_scope(&mut reader)?,
            grant_types: GrantTypes { authorization_code: reader.flag()?, refresh_token: reader.flag()? },
            authentication: authentication(reader.octet()?)?,
            require_pkce: reader.flag()?,
            trusted: reader.flag()?,
            may_introspect: reader.flag()?,
            ..Self::blank(id)
        };
        reader.finish()?;
        Ok(client)
    }
}

/// Writes what was granted or registered: the scopes, then the resource scope.
pub(crate) fn write_scopes(writer: &mut Writer, scopes: &ScopeSet, resource_scope: &ResourceScope) {
    writer.text(scopes.as_str());
    match resource_scope {
        ResourceScope::All => writer.octet(0),
        ResourceScope::Public => writer.octet(1),
        ResourceScope::Specified(resources) => {
            writer.octet(2);
            writer.count(resources.len());
            resources.iter().for_each(|resource| writer.text(resource));
        }
    }
}

pub(crate) fn read_scopes(reader: &mut Reader<'_>) -> Result<ScopeSet, DecodeError> {
    Ok(ScopeSet::from_canonical(reader.text()?))
}

pub(crate) fn read_resource_scope(reader: &mut Reader<'_>) -> Result<ResourceScope, DecodeError> {
    match reader.octet()? {
        0 => Ok(ResourceScope::All),
        1 => Ok(ResourceScope::Public),
        2 => {
            let resources = reader.list(Reader::text)?;
            ResourceScope::from_record(resources).map_err(|_| DecodeError::Malformed)
        }
        _ => Err(DecodeError::Malformed),
    }
}

fn digest(reader: &mut Reader<'_>) -> Result<Option<Digest>, DecodeError> {
    reader.optional(|reader| reader.array().map(Digest::from_octets))
}

pub(crate) const fn state_octet(state: ClientState) -> u8 {
    match state {
        ClientState::Pending => 0,
        ClientState::Approved => 1,
        ClientState::Rejected => 2,
        ClientState::Suspended => 3,
    }
}

pub(crate) const fn state(octet: u8) -> Result<ClientState, DecodeError> {
    match octet {
        0 => Ok(ClientState::Pending),
        1 => Ok(ClientState::Approved),
        2 => Ok(ClientState::Rejected),
        3 => Ok(ClientState::Suspended),
        _ => Err(DecodeError::Malformed),
    }
}

pub(crate) const fn authentication_octet(authentication: ClientAuthentication) -> u8 {
    match authentication {
        ClientAuthentication::Any => 0,
        ClientAuthentication::Basic => 1,
        ClientAuthentication::Post => 2,
    }
}

pub(crate) const fn authentication(octet: u8) -> Result<ClientAuthentication, DecodeError> {
    match octet {
        0 => Ok(ClientAuthentication::Any),
        1 => Ok(ClientAuthentication::Basic),
        2 => Ok(ClientAuthentication::Post),
        _ => Err(DecodeError::Malformed),
    }
}
