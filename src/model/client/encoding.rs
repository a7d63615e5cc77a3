//! The stored form of a [`Client`].

use std::sync::Arc;

use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field::{Codec, Tagged, fields, variants};
use crate::model::client::{
    ApplicationType, AskConsent, AuthenticationMethod, AuthenticationMethods, CheckedForm, Client, ClientKeys,
    ClientOrigin, ClientSecrets, ClientState, ClientType, GrantType, GrantTypes, Privileges, RefreshRotation,
    SelfRegistration,
};

impl Client {
    /// Writes the record as bytes, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new(kind::CLIENT);
        self.write(&mut writer);
        self.privileges.ask_consent.write_tagged(ASK_CONSENT, &mut writer);
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not a client, or were written by an unknown release.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, kind::CLIENT)?;
        let mut client = Self::read(&mut reader)?;
        client.privileges.ask_consent = Tagged::read_tagged(ASK_CONSENT, &mut reader)?;
        reader.finish()?;
        Ok(client)
    }
}

/// The tag of the part of a client that registered itself.
const OPEN: u8 = b'O';
/// The tag of the revision of a description.
const REVISION: u8 = b'V';
/// The tag of [`Privileges::ask_consent`], unless users are always asked.
const ASK_CONSENT: u8 = b'S';
/// The tag of the protected resources that a client that registered itself may reach.
const RESOURCES: u8 = b'R';
/// The tag of what your service keeps with the client's own tokens.
const DATA: u8 = b'D';

fields! {
    Client { id, version, state, epoch, secrets, privileges, form, keys_of_previous_owner }
    tagged { OPEN => open, REVISION => revision, DATA => data }
}
fields! { ClientSecrets { current, previous, current_is_of_previous_owner, previous_is_of_previous_owner } }
fields! { Privileges { require_pkce, trusted, may_introspect, refresh_rotation } elsewhere { ask_consent } }
fields! {
    CheckedForm {
        name, description, website, redirect_uris, scopes, resource_scope, client_scopes, client_resources, client_type,
        application_type, grant_types, authentication_methods, keys, options,
    }
}
fields! {
    SelfRegistration {
        origin, registered, is_reviewed, default_scopes, end, used_until, gone_at, has_foreign_links,
        looks_like_another,
    } elsewhere {
        document, resources,
    }
}
variants! { ClientState { 0 => Pending, 1 => Approved, 2 => Rejected, 3 => Suspended, 4 => Deleted } }
variants! { ClientType { 0 => Confidential, 1 => Public } }
variants! { ApplicationType { 0 => Web, 1 => Native } }
variants! { RefreshRotation { 0 => Rotate, 1 => Keep } }
variants! { AskConsent { 0 => Always, 1 => Once, 2 => Never } }
variants! { ClientKeys { 0 => Set(set), 1 => Url(url) } }
variants! { ClientOrigin { 0 => DynamicRegistration, 1 => MetadataDocument } }

impl Tagged for AskConsent {
    fn write_tagged(&self, tag: u8, writer: &mut Writer) {
        Some(*self).filter(|own| *own != Self::default()).write_tagged(tag, writer);
    }

    fn read_tagged(tag: u8, reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Option::read_tagged(tag, reader).map(Option::unwrap_or_default)
    }
}

/// Only a client with a metadata document has its digest.
impl Codec for Arc<SelfRegistration> {
    fn write(&self, writer: &mut Writer) {
        SelfRegistration::write(self, writer);
        if self.origin == ClientOrigin::MetadataDocument {
            self.document.write(writer);
        }
        self.resources.write_tagged(RESOURCES, writer);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let mut own = SelfRegistration::read(reader)?;
        if own.origin == ClientOrigin::MetadataDocument {
            own.document = Codec::read(reader)?;
        }
        own.resources = Tagged::read_tagged(RESOURCES, reader)?;
        Ok(Self::new(own))
    }
}

/// The names of a registration [RFC 7591 section 2].
impl Codec for GrantTypes {
    fn write(&self, writer: &mut Writer) {
        write_names(writer, self.iter().map(GrantType::as_str));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_names(reader, |name| GrantType::parse(name))
    }
}

/// The names of a registration [RFC 7591 section 2].
impl Codec for AuthenticationMethods {
    fn write(&self, writer: &mut Writer) {
        write_names(writer, self.iter().map(AuthenticationMethod::as_str));
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_names(reader, |name| AuthenticationMethod::parse(name))
    }
}

/// Writes names and not bits, which would be some 90 bytes shorter. Each bit would need a number that is never used
/// again, and a reordered enum would silently change what clients may do.
fn write_names(writer: &mut Writer, names: impl Iterator<Item = &'static str> + Clone) {
    writer.count(names.clone().count());
    names.for_each(|name| writer.text(name));
}

/// Reads a set of names in ascending order. An unknown name was written by another release. It is an error: a server
/// that skipped it would remove it at the next write.
fn read_names<T: Copy + Ord, S: FromIterator<T>>(
    reader: &mut Reader<'_>,
    parse: impl Fn(&[u8]) -> Option<T>,
) -> Result<S, DecodeError> {
    let count = reader.count()?;
    let mut last = None;
    let mut read = || {
        let name = parse(reader.bytes()?).ok_or(DecodeError::UnknownLayout)?;
        let is_in_order = last.replace(name).is_none_or(|last| last < name);
        if is_in_order { Ok(name) } else { Err(DecodeError::Malformed) }
    };
    (0..count).map(|_| read()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::id::ClientId;
    use crate::jose::SigningAlgorithm;
    use crate::model::client::ClientOptions;
    use crate::model::fixtures::compared_layout;
    use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
    use crate::scope::{ResourceScope, ScopeSet};
    use crate::secret::{ClientSecret, Digest};

    fn client() -> Client {
        let uri = RegisteredRedirectUri::parse("https://app.example/cb", &RedirectUriPolicy::default()).unwrap();
        let secret = |text: &str| ClientSecret::new(text.repeat(32));
        Client::builder(ClientId::new("id").unwrap())
            .name("App")
            .website("https://app.example/")
            .redirect_uri(uri)
            .scopes(ScopeSet::read("repo-code:rw").unwrap())
            .resource_scope(ResourceScope::specified(["one"]).unwrap())
            .client_scopes(ScopeSet::read("builds:r").unwrap())
            .client_resources(ResourceScope::specified(["two"]).unwrap())
            .secret(&secret("a"))
            .and_then(|builder| builder.secret(&secret("b")))
            .unwrap()
            .require_pkce()
            .trusted()
            .may_introspect()
            .refresh_rotation(RefreshRotation::Keep)
            .epoch(7)
            .build()
    }

    #[test]
    fn comes_back_equal_in_every_field() {
        let public = Client {
            secrets: ClientSecrets::default(),
            form: CheckedForm {
                client_type: ClientType::Public,
                grant_types: GrantTypes::NONE,
                authentication_methods: AuthenticationMethods::PUBLIC,
                ..client().form
            },
            ..client()
        };
        let native = Client {
            state: ClientState::Suspended,
            secrets: client().secrets.under_another_owner(),
            form: CheckedForm {
                application_type: ApplicationType::Native,
                authentication_methods: AuthenticationMethods::only(AuthenticationMethod::ClientSecretPost),
                grant_types: GrantTypes::CODE_ONLY,
                // What can be left after reducing.
                resource_scope: ResourceScope::none(),
                ..client().form
            },
            ..client()
        };
        let deleted = Client { state: ClientState::Deleted, ..Client::blank(client().id) };
        let all = Client { open: open().open, ..with_keys() };
        for ask_consent in [AskConsent::Once, AskConsent::Never] {
            let record = Client { privileges: Privileges { ask_consent, ..client().privileges }, ..open() };
            assert_eq!(Client::decode(&record.encode()), Ok(record));
        }
        for record in [client(), public, native, deleted, open(), with_document(), with_keys(), at_an_address(), all] {
            let untagged = Client { open: None, ..record.clone() }.encode().len();
            let bytes = record.encode();
            assert_eq!(Client::decode(&bytes), Ok(record));
            // Without its tagged field it is a different complete record.
            for cut in (0..bytes.len()).filter(|cut| *cut != untagged) {
                assert!(Client::decode(&bytes[..cut]).is_err(), "cut to {cut}");
            }
        }
    }

    fn open() -> Client {
        let open = SelfRegistration {
            origin: ClientOrigin::DynamicRegistration,
            registered: Timestamp::from_seconds(1),
            is_reviewed: false,
            default_scopes: ScopeSet::read("repo-code:r").unwrap(),
            resources: Some(["https://a.example", "https://b.example"].map(Box::from).into()),
            end: Some(Timestamp::from_seconds(4)),
            used_until: Some(Timestamp::from_seconds(2)),
            gone_at: Some(Timestamp::from_seconds(3)),
            has_foreign_links: true,
            looks_like_another: false,
            document: None,
        };
        Client { open: Some(Arc::new(open)), ..client() }
    }

    fn with_document() -> Client {
        let open = open().open.unwrap();
        let document = Some(Digest::of(b"document"));
        let open =
            SelfRegistration { origin: ClientOrigin::MetadataDocument, document, ..SelfRegistration::clone(&open) };
        Client { open: Some(Arc::new(open)), ..client() }
    }

    fn with_keys() -> Client {
        let form = CheckedForm {
            authentication_methods: AuthenticationMethods::KEY,
            keys: ClientKeys::of_records(),
            options: ClientOptions {
                signing_algorithm: Some(SigningAlgorithm::EdDsa),
                requires_pushed_requests: true,
                ..ClientOptions::default()
            },
            ..client().form
        };
        Client { form, keys_of_previous_owner: ClientKeys::of_records(), ..client() }
    }

    fn at_an_address() -> Client {
        let keys = Some(ClientKeys::Url("https://app.example/jwks.json".into()));
        let options = ClientOptions { requires_dpop_bound_tokens: true, ..ClientOptions::default() };
        Client { form: CheckedForm { keys, options, ..client().form }, ..client() }
    }

    /// 7591-2-20
    ///
    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_a_client_with_keys_stays_as_it_is() {
        assert!(with_keys().form.keys.is_some());
        for (name, record) in [("client.1.keys", with_keys()), ("client.1.jwks_uri", at_an_address())] {
            let file = compared_layout(name, &record.encode());
            assert_eq!(Client::decode(&file), Ok(record));
        }
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_a_client_with_a_metadata_document_stays_as_it_is() {
        let file = compared_layout("client.1.document", &with_document().encode());
        assert_eq!(Client::decode(&file), Ok(with_document()));
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_a_client_that_registered_itself_stays_as_it_is() {
        let file = compared_layout("client.1.open", &open().encode());
        assert_eq!(Client::decode(&file), Ok(open()));
    }

    #[test]
    fn names_are_known_and_in_order() {
        let with = |names: &[u8]| {
            let form = CheckedForm { grant_types: GrantTypes::NONE, ..client().form };
            let bytes = Client { form, ..client() }.encode();
            let end = bytes.len() - BEHIND_GRANT_TYPES.len() - 4;
            Client::decode(&[&bytes[..end], names, BEHIND_GRANT_TYPES].concat()).map(|client| client.form.grant_types)
        };
        let code = b"\0\0\0\x12authorization_code";
        let refresh = b"\0\0\0\x0drefresh_token";
        assert_eq!(with(b"\0\0\0\0"), Ok(GrantTypes::NONE));
        assert_eq!(with(&[b"\0\0\0\x02", &code[..], refresh].concat()), Ok(GrantTypes::default()));
        for twice in [[&refresh[..], code], [&code[..], code]] {
            assert_eq!(with(&[b"\0\0\0\x02", twice[0], twice[1]].concat()), Err(DecodeError::Malformed));
        }
        assert_eq!(with(b"\0\0\0\x01\0\0\0\x08password"), Err(DecodeError::UnknownLayout));
    }

    /// What follows the grant types: two methods, no keys, no options, and no keys of a previous owner.
    const BEHIND_GRANT_TYPES: &[u8] =
        b"\0\0\0\x02\0\0\0\x13client_secret_basic\0\0\0\x12client_secret_post\0\0\0\0\0\0";

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = client();
        let file = compared_layout("client.1", &record.encode());
        assert_eq!(Client::decode(&file), Ok(record));
    }
}
