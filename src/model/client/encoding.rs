//! The stored form of a [`Client`].

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::id::ClientId;
use crate::base::subject::Subject;
use crate::jose::SigningAlgorithm;
use crate::model::client::{
    ApplicationType, AskConsent, AuthenticationMethod, AuthenticationMethods, CheckedForm, Client, ClientKeys,
    ClientOrigin, ClientSecrets, ClientState, ClientType, GrantType, GrantTypes, Privileges, RefreshRotation,
    SelfRegistration,
};
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::scope::{ResourceList, ResourceScope, ScopeSet};
use crate::secret::Digest;

impl Client {
    /// Writes the record as bytes, digests in place of secrets.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let Self { id, version, state, epoch, secrets, privileges, form, keys_of_previous_owner, open } = self;
        let Privileges { require_pkce, trusted, may_introspect, refresh_rotation, ask_consent } = privileges;
        let ClientSecrets { current, previous, current_is_of_previous_owner, previous_is_of_previous_owner } = secrets;
        let mut writer = Writer::new(kind::CLIENT);
        writer.text(id.as_str());
        writer.number(*version);
        write_one_of(&mut writer, &ClientState::ALL, *state);
        writer.number(*epoch);
        for secret in [current, previous] {
            writer.optional(secret.as_ref(), |writer, digest| writer.array(digest.bytes()));
        }
        writer.flag(*current_is_of_previous_owner);
        writer.flag(*previous_is_of_previous_owner);
        writer.flag(*require_pkce);
        writer.flag(*trusted);
        writer.flag(*may_introspect);
        writer.optional(*refresh_rotation, |writer, rotation| writer.flag(rotation == RefreshRotation::Keep));
        form.write(&mut writer);
        writer.optional(keys_of_previous_owner.as_ref(), |writer, keys| keys.write(writer));
        if let Some(open) = open {
            writer.tagged(OPEN, |writer| write_open(writer, open));
        }
        if *ask_consent != AskConsent::Always {
            writer.tagged(ASK_CONSENT, |writer| write_one_of(writer, &AskConsent::ALL, *ask_consent));
        }
        writer.finish()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes are not a client, or were written by an unknown release.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes, kind::CLIENT)?;
        let id = ClientId::new(reader.text()?).map_err(|_| DecodeError::Malformed)?;
        let mut client = Self {
            id,
            version: reader.number()?,
            state: read_one_of(&mut reader, &ClientState::ALL)?,
            epoch: reader.number()?,
            secrets: ClientSecrets {
                current: digest(&mut reader)?,
                previous: digest(&mut reader)?,
                current_is_of_previous_owner: reader.flag()?,
                previous_is_of_previous_owner: reader.flag()?,
            },
            privileges: Privileges {
                require_pkce: reader.flag()?,
                trusted: reader.flag()?,
                may_introspect: reader.flag()?,
                refresh_rotation: reader.optional(read_rotation)?,
                ask_consent: AskConsent::Always,
            },
            form: CheckedForm::read(&mut reader)?,
            keys_of_previous_owner: reader.optional(ClientKeys::read)?,
            open: reader.tagged(OPEN, read_open)?.map(Arc::new),
        };
        let ask_consent = reader.tagged(ASK_CONSENT, |reader| read_one_of(reader, &AskConsent::ALL))?;
        client.privileges.ask_consent = ask_consent.unwrap_or_default();
        reader.finish()?;
        Ok(client)
    }
}

impl CheckedForm {
    pub(crate) fn write(&self, writer: &mut Writer) {
        let Self {
            name,
            description,
            website,
            redirect_uris,
            scopes,
            resource_scope,
            client_scopes,
            client_resources,
            client_type,
            application_type,
            grant_types,
            authentication_methods,
            keys,
            signing_algorithm,
            requires_pushed_requests,
            requires_dpop_bound_tokens,
        } = self;
        writer.text(name);
        writer.optional(description.as_deref(), Writer::text);
        writer.text(website);
        write_texts(writer, redirect_uris.iter().map(RegisteredRedirectUri::as_str));
        write_scopes(writer, scopes, resource_scope);
        write_scopes(writer, client_scopes, client_resources);
        write_one_of(writer, &ClientType::ALL, *client_type);
        write_one_of(writer, &ApplicationType::ALL, *application_type);
        write_grant_types(writer, *grant_types);
        write_authentication_methods(writer, *authentication_methods);
        writer.optional(keys.as_ref(), |writer, keys| keys.write(writer));
        writer.optional(*signing_algorithm, |writer, algorithm| writer.text(algorithm.as_str()));
        writer.flag(*requires_pushed_requests);
        writer.flag(*requires_dpop_bound_tokens);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            name: reader.text()?.into(),
            description: reader.optional(Reader::text)?.map(Into::into),
            website: reader.text()?.into(),
            redirect_uris: reader.list(|reader| reader.text().map(RegisteredRedirectUri::from_record))?,
            scopes: read_scopes(reader)?,
            resource_scope: read_resource_scope(reader)?,
            client_scopes: read_scopes(reader)?,
            client_resources: read_resource_scope(reader)?,
            client_type: read_one_of(reader, &ClientType::ALL)?,
            application_type: read_one_of(reader, &ApplicationType::ALL)?,
            grant_types: read_grant_types(reader)?,
            authentication_methods: read_authentication_methods(reader)?,
            keys: reader.optional(ClientKeys::read)?,
            // An unknown algorithm was written by another release.
            signing_algorithm: reader
                .optional(|reader| SigningAlgorithm::parse(reader.text()?).ok_or(DecodeError::UnknownLayout))?,
            requires_pushed_requests: reader.flag()?,
            requires_dpop_bound_tokens: reader.flag()?,
        })
    }
}

/// The tag of the part of a client that registered itself.
const OPEN: u8 = b'O';
/// The tag of [`Privileges::ask_consent`], unless users are always asked.
const ASK_CONSENT: u8 = b'S';

fn write_open(writer: &mut Writer, open: &SelfRegistration) {
    let SelfRegistration {
        origin,
        registered,
        is_reviewed,
        default_scopes,
        resources,
        end,
        used_until,
        gone_at,
        has_foreign_links,
        looks_like_another,
        document,
    } = open;
    write_one_of(writer, &ClientOrigin::ALL, *origin);
    writer.time(*registered);
    writer.flag(*is_reviewed);
    writer.text(default_scopes.as_str());
    for time in [end, used_until, gone_at] {
        writer.optional(*time, Writer::time);
    }
    writer.flag(*has_foreign_links);
    writer.flag(*looks_like_another);
    if *origin == ClientOrigin::MetadataDocument {
        writer.optional(document.as_ref(), |writer, digest| writer.array(digest.bytes()));
    }
    if let Some(resources) = resources {
        writer.tagged(RESOURCES, |writer| write_texts(writer, resources));
    }
}

/// The tag of the protected resources that the client may reach.
const RESOURCES: u8 = b'R';

/// Writes the number of texts, and then each of them.
pub(crate) fn write_texts(
    writer: &mut Writer,
    texts: impl IntoIterator<Item: AsRef<str>, IntoIter: ExactSizeIterator>,
) {
    let texts = texts.into_iter();
    writer.count(texts.len());
    texts.for_each(|text| writer.text(text.as_ref()));
}

/// Reads the identifiers of protected resources.
pub(crate) fn read_identifiers(reader: &mut Reader<'_>) -> Result<BTreeSet<Box<str>>, DecodeError> {
    let list = reader.list(Reader::text)?;
    let identifiers: BTreeSet<Box<str>> = list.iter().map(|identifier| Box::from(*identifier)).collect();
    if identifiers.len() == list.len() { Ok(identifiers) } else { Err(DecodeError::Malformed) }
}

fn read_open(reader: &mut Reader<'_>) -> Result<SelfRegistration, DecodeError> {
    let origin = read_one_of(reader, &ClientOrigin::ALL)?;
    Ok(SelfRegistration {
        origin,
        registered: reader.time()?,
        is_reviewed: reader.flag()?,
        default_scopes: read_scopes(reader)?,
        end: reader.optional(Reader::time)?,
        used_until: reader.optional(Reader::time)?,
        gone_at: reader.optional(Reader::time)?,
        has_foreign_links: reader.flag()?,
        looks_like_another: reader.flag()?,
        document: if origin == ClientOrigin::MetadataDocument { digest(reader)? } else { None },
        resources: reader.tagged(RESOURCES, read_identifiers)?,
    })
}

/// Writes what is registered or granted: the scopes, then the resource scope.
pub(crate) fn write_scopes(writer: &mut Writer, scopes: &ScopeSet, resource_scope: &ResourceScope) {
    writer.text(scopes.as_str());
    write_resource_scope(writer, resource_scope);
}

fn write_resource_scope(writer: &mut Writer, resource_scope: &ResourceScope) {
    match resource_scope {
        ResourceScope::All => writer.byte(0),
        ResourceScope::Public => writer.byte(1),
        ResourceScope::Specified(resources) => {
            writer.byte(2);
            write_texts(writer, resources.iter());
        }
    }
}

pub(crate) fn read_scopes(reader: &mut Reader<'_>) -> Result<ScopeSet, DecodeError> {
    ScopeSet::read(reader.text()?).ok_or(DecodeError::Malformed)
}

pub(crate) fn read_resource_scope(reader: &mut Reader<'_>) -> Result<ResourceScope, DecodeError> {
    match reader.byte()? {
        0 => Ok(ResourceScope::All),
        1 => Ok(ResourceScope::Public),
        2 => {
            let list = ResourceList::from_record(reader.list(Reader::text)?).map_err(|_| DecodeError::Malformed)?;
            Ok(ResourceScope::Specified(list))
        }
        _ => Err(DecodeError::Malformed),
    }
}

pub(crate) fn read_subject(reader: &mut Reader<'_>) -> Result<Subject, DecodeError> {
    Subject::new(reader.text()?).map_err(|_| DecodeError::Malformed)
}

/// Writes the names as in a registration [RFC 7591 section 2].
pub(crate) fn write_grant_types(writer: &mut Writer, grant_types: GrantTypes) {
    write_names(writer, grant_types.iter().map(GrantType::as_str));
}

pub(crate) fn read_grant_types(reader: &mut Reader<'_>) -> Result<GrantTypes, DecodeError> {
    read_names(reader, |name| GrantType::parse(name))
}

/// Writes the names as in a registration [RFC 7591 section 2].
pub(crate) fn write_authentication_methods(writer: &mut Writer, methods: AuthenticationMethods) {
    write_names(writer, methods.iter().map(AuthenticationMethod::as_str));
}

pub(crate) fn read_authentication_methods(reader: &mut Reader<'_>) -> Result<AuthenticationMethods, DecodeError> {
    read_names(reader, |name| AuthenticationMethod::parse(name))
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

fn digest(reader: &mut Reader<'_>) -> Result<Option<Digest>, DecodeError> {
    reader.optional(|reader| reader.array().map(Digest::from_bytes))
}

fn read_rotation(reader: &mut Reader<'_>) -> Result<RefreshRotation, DecodeError> {
    Ok(if reader.flag()? { RefreshRotation::Keep } else { RefreshRotation::Rotate })
}

/// Writes the place of a value among all values of its type.
pub(crate) fn write_one_of<T: Copy + PartialEq>(writer: &mut Writer, all: &[T], value: T) {
    let place = all.iter().zip(0..).find(|(own, _)| **own == value).map(|(_, place)| place);
    writer.byte(place.unwrap_or(u8::MAX));
}

pub(crate) fn read_one_of<T: Copy>(reader: &mut Reader<'_>, all: &[T]) -> Result<T, DecodeError> {
    all.get(usize::from(reader.byte()?)).copied().ok_or(DecodeError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::Timestamp;
    use crate::model::fixtures::compared_layout;
    use crate::model::redirect_uri::RedirectUriPolicy;
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
            signing_algorithm: Some(SigningAlgorithm::EdDsa),
            requires_pushed_requests: true,
            ..client().form
        };
        Client { form, keys_of_previous_owner: ClientKeys::of_records(), ..client() }
    }

    fn at_an_address() -> Client {
        let keys = Some(ClientKeys::Url("https://app.example/jwks.json".into()));
        Client { form: CheckedForm { keys, requires_dpop_bound_tokens: true, ..client().form }, ..client() }
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

    /// What follows the grant types: two methods, then five empty fields.
    const BEHIND_GRANT_TYPES: &[u8] = b"\0\0\0\x02\0\0\0\x13client_secret_basic\0\0\0\x12client_secret_post\0\0\0\0\0";

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = client();
        let file = compared_layout("client.1", &record.encode());
        assert_eq!(Client::decode(&file), Ok(record));
    }
}
