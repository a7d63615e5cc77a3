//! The stored form of a [`Client`].

use std::ops::RangeInclusive;

use crate::client::redirect_uri::RegisteredRedirectUri;
use crate::client::{
    ApplicationType, Client, ClientAuthentication, ClientSecrets, ClientState, ClientType, GrantTypes,
};
use crate::codec::{DecodeError, Reader, Writer, kind};
use crate::id::ClientId;
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::Digest;

/// The layout that is written, and those that are read.
const WRITES: u8 = 1;
const READS: RangeInclusive<u8> = 1..=1;

impl Client {
    /// Writes the record as octets, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self {
            id,
            version,
            state,
            epoch,
            client_type,
            application_type,
            name,
            website,
            secrets,
            redirect_uris,
            scopes,
            resource_scope,
            grant_types,
            authentication,
            require_pkce,
            trusted,
            may_introspect,
        } = self;
        let ClientSecrets { current, previous } = secrets;
        let GrantTypes { authorization_code, refresh_token } = grant_types;
        let mut writer = Writer::new(kind::CLIENT, WRITES);
        writer.text(id.as_str());
        writer.number(*version);
        writer.octet(state_octet(*state));
        writer.number(*epoch);
        writer.octet(client_type_octet(*client_type));
        writer.octet(application_type_octet(*application_type));
        writer.text(name);
        writer.text(website);
        for secret in [current, previous] {
            writer.optional(secret.as_ref(), |writer, digest| writer.array(digest.octets()));
        }
        writer.count(redirect_uris.len());
        for uri in redirect_uris {
            writer.text(uri.as_str());
        }
        write_scopes(&mut writer, scopes, resource_scope);
        writer.flag(*authorization_code);
        writer.flag(*refresh_token);
        writer.octet(authentication_octet(*authentication));
        writer.flag(*require_pkce);
        writer.flag(*trusted);
        writer.flag(*may_introspect);
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the octets are no client, or were written by an unknown release.
    pub fn decode(octets: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(octets, kind::CLIENT, &READS)?;
        let id = ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?;
        let client = Self {
            id,
            version: reader.number()?,
            state: state(reader.octet()?)?,
            epoch: reader.number()?,
            client_type: client_type(reader.octet()?)?,
            application_type: application_type(reader.octet()?)?,
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
    ScopeSet::read(reader.text()?).ok_or(DecodeError::Malformed)
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

pub(crate) const fn client_type_octet(client_type: ClientType) -> u8 {
    match client_type {
        ClientType::Confidential => 0,
        ClientType::Public => 1,
    }
}

pub(crate) const fn client_type(octet: u8) -> Result<ClientType, DecodeError> {
    match octet {
        0 => Ok(ClientType::Confidential),
        1 => Ok(ClientType::Public),
        _ => Err(DecodeError::Malformed),
    }
}

pub(crate) const fn application_type_octet(application_type: ApplicationType) -> u8 {
    match application_type {
        ApplicationType::Web => 0,
        ApplicationType::Native => 1,
    }
}

pub(crate) const fn application_type(octet: u8) -> Result<ApplicationType, DecodeError> {
    match octet {
        0 => Ok(ApplicationType::Web),
        1 => Ok(ApplicationType::Native),
        _ => Err(DecodeError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::redirect_uri::RedirectUriPolicy;
    use crate::secret::ClientSecret;

    fn client() -> Client {
        let uri = RegisteredRedirectUri::parse("https://app.example/cb", &RedirectUriPolicy::default()).unwrap();
        let secret = |text: &str| ClientSecret::new(text.repeat(32));
        Client::builder(ClientId::new("id").unwrap())
            .name("App")
            .website("https://app.example/")
            .redirect_uri(uri)
            .scopes(ScopeSet::read("repo-code:rw").unwrap())
            .resource_scope(ResourceScope::specified(["one"]).unwrap())
            .secret(&secret("a"))
            .and_then(|builder| builder.secret(&secret("b")))
            .unwrap()
            .require_pkce()
            .trusted()
            .may_introspect()
            .epoch(7)
            .build()
    }

    #[test]
    fn comes_back_equal_in_every_field() {
        let public = Client { client_type: ClientType::Public, secrets: ClientSecrets::default(), ..client() };
        let native = Client {
            application_type: ApplicationType::Native,
            authentication: ClientAuthentication::Post,
            grant_types: GrantTypes::CODE_ONLY,
            state: ClientState::Suspended,
            // What narrowing can leave.
            resource_scope: ResourceScope::none(),
            ..client()
        };
        for record in [client(), public, native] {
            let octets = record.encode();
            assert_eq!(Client::decode(&octets), Ok(record));
            for cut in 0..octets.len() {
                assert!(Client::decode(&octets[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    /// What a release has written is read by every later one.
    #[test]
    fn layout_1_stays_as_it_is() {
        let octets = client().encode();
        let start = b"C\x01\0\0\0\x02id\0\0\0\x01\x01\0\0\0\x07\0\0\0\0\0\x03App\0\0\0\x14https://app.example/\x01";
        assert!(octets.starts_with(start), "{octets:?}");
        let end = b"\0\0\0\x01\0\0\0\x16https://app.example/cb\0\0\0\x0crepo-code:rw\x02\0\0\0\x01\0\0\0\x03one\x01\x01\0\x01\x01\x01";
        assert!(octets.ends_with(end), "{octets:?}");
        assert_eq!(octets.len(), start.len() + 32 + 1 + 32 + end.len());
    }
}
