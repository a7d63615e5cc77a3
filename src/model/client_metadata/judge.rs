//! Judges the metadata of one registration: a pure function from bytes to a client or an error.

use crate::base::id::ClientId;
use crate::jose::{JwkSet, JwkSetBounds, SigningAlgorithm};
use crate::model::client::form::RegistrationLimits;
use crate::model::client::{
    AuthenticationMethod, AuthenticationMethods, ClientKeys, GrantType, GrantTypes, KeyFault, KeyRules,
};
use crate::model::client_metadata::error::{METADATA_BYTES, MetadataError};
use crate::model::client_metadata::{ClientMetadata, MoreMetadata};
use crate::model::members::{ClientOptions, Members};
use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
use crate::scope::{ScopeCatalog, ScopeSet};
use crate::secret::Digest;

/// The members that an update must not have [RFC 7592 section 2.2].
const SERVER_MADE: [&str; 4] =
    ["registration_access_token", "registration_client_uri", "client_secret_expires_at", "client_id_issued_at"];

/// An update that replaces the registration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) metadata: ClientMetadata,
    /// The digest of the secret that was sent.
    pub(crate) secret: Option<Digest>,
}

/// The rules for a registration.
#[derive(Clone, Debug)]
pub(crate) struct MetadataRules {
    pub(crate) catalog: ScopeCatalog,
    pub(crate) limits: RegistrationLimits,
    pub(crate) redirect_uris: RedirectUriPolicy,
    /// The methods that the token endpoint offers.
    pub(crate) methods: Vec<AuthenticationMethod>,
    /// The method of a client that names none.
    pub(crate) omitted_method: AuthenticationMethod,
    pub(crate) keys: KeyRules,
    /// Whether a `scope` of which the catalog has nothing counts as not sent.
    pub(crate) drops_unknown_scopes: bool,
    /// The grant types that the server offers.
    pub(crate) offered: GrantTypes,
}

impl MetadataRules {
    /// Reads and checks the body of a registration [RFC 7591 section 3.1].
    ///
    /// # Errors
    ///
    /// The first [`MetadataError`], in the order: JSON, method, redirect URIs, options, keys, grant types, scope,
    /// texts, size.
    pub(crate) fn judge(&self, body: &[u8]) -> Result<ClientMetadata, MetadataError> {
        self.metadata(&Members::read(body)?)
    }

    /// Reads and checks an update that replaces the registration of a client.
    ///
    /// > This request MUST include the "client_id" field [...]. The updated client metadata fields request MUST NOT
    /// > include the "registration_access_token", "registration_client_uri", "client_secret_expires_at", or
    /// > "client_id_issued_at" fields.
    ///
    /// [RFC 7592 section 2.2]
    ///
    /// # Errors
    ///
    /// The first [`MetadataError`]: the rules of this section first, then those of a registration.
    pub(crate) fn judge_replacement(&self, client: &ClientId, body: &[u8]) -> Result<Replacement, MetadataError> {
        let members = Members::read(body)?;
        if members.text("client_id")? != Some(client.as_str()) {
            return Err(MetadataError::OtherClient);
        }
        if let Some(name) = SERVER_MADE.into_iter().find(|name| members.has(name)) {
            return Err(MetadataError::ServerMade(name));
        }
        let secret = members.text("client_secret")?.map(|secret| Digest::of(secret.as_bytes()));
        Ok(Replacement { metadata: self.metadata(&members)?, secret })
    }

    fn metadata(&self, members: &Members) -> Result<ClientMetadata, MetadataError> {
        let method = self.method(members)?;
        self.read(members, AuthenticationMethods::only(method))
    }

    /// Reads the members of a client that authenticates with one of these methods.
    pub(super) fn read(
        &self,
        members: &Members,
        authentication_methods: AuthenticationMethods,
    ) -> Result<ClientMetadata, MetadataError> {
        let grant_types = self.grant_types(members);
        let needs_uri = !matches!(&grant_types, Ok(types) if !types.redirect());
        let redirect_uris = self.redirect_uris(members, needs_uri)?;
        let mut options = ClientOptions::read(members)?;
        options.requires_pushed_requests &= self.keys.pushed_requests;
        options.requires_dpop_bound_tokens &= self.keys.dpop_bound_tokens;
        let (keys, signing_algorithm) = self.keys.read(members, authentication_methods)?;
        options.signing_algorithm = signing_algorithm;
        let mut metadata = ClientMetadata {
            claims_native: members.text("application_type")? == Some("native"),
            redirect_uris,
            authentication_methods,
            keys,
            options,
            grant_types: grant_types?,
            scopes: self.scopes(members)?,
            name: members.name("client_name", self.limits.name)?,
            client_uri: members.link("client_uri", self.limits.website)?,
            more: MoreMetadata::read(members)?,
        };
        if metadata.encode().len() > METADATA_BYTES {
            metadata.more = MoreMetadata::default();
        }
        if metadata.encode().len() > METADATA_BYTES { Err(MetadataError::TooLarge) } else { Ok(metadata) }
    }

    /// > The authorization server [...] MAY reject or replace any of the client's requested metadata values submitted
    /// > during the registration and substitute them with suitable values.
    ///
    /// [RFC 7591 section 3.2.1]
    fn redirect_uris(&self, members: &Members, needs_one: bool) -> Result<Vec<RegisteredRedirectUri>, MetadataError> {
        let sent = members.list("redirect_uris")?.unwrap_or_default();
        if sent.len() > self.limits.redirect_uris {
            return Err(MetadataError::TooManyRedirectUris(self.limits.redirect_uris));
        }
        let mut kept = Vec::<RegisteredRedirectUri>::with_capacity(sent.len());
        for text in sent {
            let uri = RegisteredRedirectUri::offered(text, &self.redirect_uris).map_err(MetadataError::RedirectUri)?;
            kept.extend(uri.filter(|uri| !kept.contains(uri)));
        }
        if kept.is_empty() && needs_one { Err(MetadataError::NoRedirectUri) } else { Ok(kept) }
    }

    /// > If unspecified or omitted, the default is "client_secret_basic".
    ///
    /// [RFC 7591 section 2]
    fn method(&self, members: &Members) -> Result<AuthenticationMethod, MetadataError> {
        let method = match members.text("token_endpoint_auth_method")? {
            None => self.omitted_method,
            Some(name) => AuthenticationMethod::parse(name).ok_or(MetadataError::Method)?,
        };
        if self.methods.contains(&method) { Ok(method) } else { Err(MetadataError::Method) }
    }

    /// Grant types that are not offered to unreviewed clients are left out.
    fn grant_types(&self, members: &Members) -> Result<GrantTypes, MetadataError> {
        let names = members.list("grant_types")?.unwrap_or_else(|| vec![GrantType::AuthorizationCode.as_str()]);
        let offered = self.offered.of_open_clients();
        let kept = offered.iter().filter(|grant_type| names.contains(&grant_type.as_str())).collect();
        check_response_types(members, kept)
    }

    /// Leaves out scopes that the catalog does not have: clients also send scopes of other servers.
    fn scopes(&self, members: &Members) -> Result<Option<ScopeSet>, MetadataError> {
        let Some(sent) = members.text("scope")? else { return Ok(None) };
        let known = sent.split(' ').filter(|token| self.catalog.read(token.as_bytes()).is_ok());
        let known = self.catalog.select(known).unwrap_or_default();
        if !known.is_empty() {
            return Ok(Some(known));
        }
        if self.drops_unknown_scopes { Ok(None) } else { Err(MetadataError::NoScope) }
    }
}

/// Grant types and response types must agree [RFC 7591 section 2.1]: a code needs `code`, a device needs none.
fn check_response_types(members: &Members, kept: GrantTypes) -> Result<GrantTypes, MetadataError> {
    if !kept.redirect() {
        return if kept.ask_users() { Ok(kept) } else { Err(MetadataError::NoGrantType) };
    }
    let response_types = members.list("response_types")?.unwrap_or_else(|| vec!["code"]);
    if response_types.contains(&"code") { Ok(kept) } else { Err(MetadataError::NoResponseType) }
}

impl KeyRules {
    /// Checks the key members of any client. Returns the keys and the algorithm of a client that authenticates with
    /// `private_key_jwt`, and nothing for any other.
    ///
    /// > The "jwks_uri" and "jwks" parameters MUST NOT both be present in the same request or response.
    ///
    /// [RFC 7591 section 2]
    pub(super) fn read(
        &self,
        members: &Members,
        methods: AuthenticationMethods,
    ) -> Result<(Option<ClientKeys>, Option<SigningAlgorithm>), MetadataError> {
        if members.has("jwks") && members.has("jwks_uri") {
            return Err(MetadataError::TwoKeySets);
        }
        if members.has_private_key("jwks")? {
            return Err(MetadataError::PrivateKey);
        }
        let (mut keys, mut signing_algorithm) = (None, None);
        if methods.contains(AuthenticationMethod::PrivateKeyJwt) {
            keys = Some(read_keys(members, self.key_set)?);
            signing_algorithm = self.signing_algorithm(members)?;
            self.judge(keys.as_ref(), signing_algorithm)?;
            if !signing_algorithm.is_none_or(|algorithm| keys.as_ref().is_some_and(|keys| keys.may_fit(algorithm))) {
                return Err(MetadataError::NoAcceptedKey);
            }
        }
        Ok((keys, signing_algorithm))
    }

    /// Reads the algorithm of the client's assertions; `None` if the member is missing.
    ///
    /// # Errors
    ///
    /// [`MetadataError::SigningAlgorithm`] if it is not accepted.
    pub(super) fn signing_algorithm(&self, members: &Members) -> Result<Option<SigningAlgorithm>, MetadataError> {
        let Some(name) = members.text("token_endpoint_auth_signing_alg")? else { return Ok(None) };
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::client::ApplicationType;
    use crate::model::client_metadata::{Admitted, RegistrationBounds};
    use crate::model::redirect_uri::RedirectUriError;
    use crate::scope::ResourceScope;

    const URI: &str = "https://app.example/cb";

    fn rules() -> MetadataRules {
        MetadataRules {
            catalog: ScopeCatalog::platform(),
            limits: RegistrationLimits::default(),
            redirect_uris: RedirectUriPolicy::default(),
            methods: AuthenticationMethod::ALL.to_vec(),
            omitted_method: AuthenticationMethod::ClientSecretBasic,
            keys: KeyRules::of_tests(),
            drops_unknown_scopes: false,
            offered: GrantTypes::default(),
        }
    }

    /// Valid metadata with the given members.
    fn judged(members: Value) -> Result<ClientMetadata, MetadataError> {
        let mut metadata = json!({"redirect_uris": [URI]});
        metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        rules().judge(metadata.to_string().as_bytes())
    }

    fn admitted(members: Value, bounds: &RegistrationBounds) -> Result<Admitted, MetadataError> {
        bounds.admit(judged(members)?, &ScopeCatalog::platform())
    }

    fn bounds() -> RegistrationBounds {
        let scopes = ScopeCatalog::platform().parse(b"repo-code:rw account-email:r").unwrap();
        RegistrationBounds::new(scopes, ResourceScope::Public)
    }

    /// 7591-2-01, 7591-2-02
    #[test]
    fn what_is_left_out_has_a_default() {
        let metadata = judged(json!({})).unwrap();
        assert_eq!(
            metadata.authentication_methods,
            AuthenticationMethods::only(AuthenticationMethod::ClientSecretBasic)
        );
        assert_eq!(metadata.grant_types, GrantTypes::CODE_ONLY);
        assert_eq!(metadata.application_type(), ApplicationType::Web);
        assert_eq!((metadata.name, metadata.client_uri, metadata.scopes), (None, None, None));
        assert_eq!(metadata.more, MoreMetadata::default());
    }

    /// 7591-5-07
    #[test]
    fn the_size_in_a_record_is_bounded() {
        let of = |size: usize| {
            let uri = |path: &str| format!("{URI}/{path}");
            judged(json!({"redirect_uris": [uri(&"a".repeat(2000)), uri(&"b".repeat(2000)), uri(&"c".repeat(1000)),
                uri(&"d".repeat(size))]}))
        };
        let rest = METADATA_BYTES - of(1).unwrap().encode().len() + 1;
        assert_eq!(of(rest).unwrap().encode().len(), METADATA_BYTES);
        assert_eq!(of(rest + 1), Err(MetadataError::TooLarge));
    }

    /// 7592-2.2-01
    #[test]
    fn a_replacement_names_its_client_and_nothing_that_the_server_makes() {
        let id = ClientId::new("own").unwrap();
        let judged = |members: Value| {
            let mut metadata = json!({"client_id": "own", "redirect_uris": [URI]});
            metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            rules().judge_replacement(&id, metadata.to_string().as_bytes())
        };
        let sound = judged(json!({"client_secret": "s"})).unwrap();
        assert_eq!((sound.secret, sound.metadata.name), (Some(Digest::of(b"s")), None));
        assert_eq!(judged(json!({"client_id_issued_at": null})).unwrap().secret, None);
        for client in [json!("other"), Value::Null, json!("")] {
            assert_eq!(judged(json!({ "client_id": client })), Err(MetadataError::OtherClient));
        }
        assert_eq!(judged(json!({"client_id": 1})), Err(MetadataError::WrongType("client_id")));
        for name in SERVER_MADE {
            for value in [json!("x"), json!(1)] {
                assert_eq!(judged(json!({ name: value })), Err(MetadataError::ServerMade(name)));
            }
        }
        assert_eq!(judged(json!({"redirect_uris": []})), Err(MetadataError::NoRedirectUri));
    }

    /// 7591-3.1-02, 7591-3.2.2-01
    #[test]
    fn each_fault_is_distinguished() {
        use MetadataError::{
            Link, Method, NoGrantType, NoKeys, NoRedirectUri, NoResponseType, NoScope, PrivateKey, RedirectUri, Text,
            TooManyRedirectUris, TwoKeySets, WrongType,
        };
        for (members, error) in [
            (json!({"redirect_uris": URI}), WrongType("redirect_uris")),
            (json!({"redirect_uris": [URI, null]}), WrongType("redirect_uris")),
            (json!({"redirect_uris": null}), NoRedirectUri),
            (json!({"redirect_uris": ["cursor://x/cb"]}), NoRedirectUri),
            (json!({"redirect_uris": ["javascript:x", URI]}), RedirectUri(RedirectUriError::Scheme)),
            (json!({"redirect_uris": vec![URI; 11]}), TooManyRedirectUris(10)),
            (json!({"jwks": {}, "jwks_uri": URI}), TwoKeySets),
            (json!({"jwks": {"keys": [{"kty": "oct", "k": "x"}]}}), PrivateKey),
            (json!({"token_endpoint_auth_method": "tls_client_auth"}), Method),
            (json!({"token_endpoint_auth_method": "private_key_jwt"}), NoKeys),
            (json!({"dpop_bound_access_tokens": "true"}), WrongType("dpop_bound_access_tokens")),
            (json!({"require_pushed_authorization_requests": 1}), WrongType("require_pushed_authorization_requests")),
            (json!({"token_endpoint_auth_method": ["none"]}), WrongType("token_endpoint_auth_method")),
            (json!({"grant_types": "authorization_code"}), WrongType("grant_types")),
            (json!({"grant_types": ["refresh_token"]}), NoGrantType),
            (json!({"response_types": ["token"]}), NoResponseType),
            (json!({"scope": ["repo-code:r"]}), WrongType("scope")),
            (json!({"scope": "unknown  \""}), NoScope),
            (json!({"client_name": " \u{3000}"}), Text("client_name")),
            (json!({"client_name": "a\u{202e}b"}), Text("client_name")),
            (json!({"client_name": format!("{}\n", "x\u{202e}".repeat(60))}), Text("client_name")),
            (json!({"client_uri": "javascript:alert(1)"}), Link("client_uri")),
            (json!({"tos_uri": " JavaScript:alert(1)"}), Link("tos_uri")),
            (json!({"logo_uri": "vbscript:x"}), Link("logo_uri")),
            (json!({"application_type": true}), WrongType("application_type")),
        ] {
            assert_eq!(judged(members.clone()), Err(error), "{members}");
        }
    }

    /// 7591-2-05, 7591-2-13
    ///
    /// It is cut or left out.
    #[test]
    fn no_decorative_member_refuses_a_client() {
        let long = |characters: usize| "x".repeat(characters);
        let web = |path: usize| json!(format!("https://a.example/{}", long(path)));
        let cut = |limit: usize| Some(format!("{}\u{2026}", long(limit - 1)));
        for (text, kept) in [(json!(7), None), (json!(["x"]), None), (json!(" App "), Some("App".to_owned()))] {
            let metadata = judged(json!({"client_name": text, "software_id": text, "software_version": text})).unwrap();
            let found = [metadata.name, metadata.more.software_id, metadata.more.software_version];
            assert_eq!(found, [kept.clone(), kept.clone(), kept], "{text}");
        }
        let texts = json!({"client_name": long(58), "software_id": long(129), "software_version": "a\u{202e}b"});
        let metadata = judged(texts).unwrap();
        assert_eq!((metadata.name, metadata.more.software_id), (cut(50), cut(128)));
        assert_eq!(metadata.more.software_version, None);
        let odd =
            ["data:text/html,x", "/policy", "https://u@a.example/", "https://a.example/\u{202e}", "http://a.example/"];
        for link in odd.into_iter().map(Value::from).chain([json!(7), json!(["https://a.example/"]), web(1007)]) {
            let metadata = judged(json!({"client_uri": link, "logo_uri": link, "tos_uri": link, "policy_uri": link}));
            let metadata = metadata.unwrap();
            assert_eq!((metadata.client_uri, metadata.more), (None, MoreMetadata::default()), "{link}");
        }
        let metadata = judged(json!({"client_uri": web(111), "tos_uri": web(1006)})).unwrap();
        assert!(metadata.client_uri.is_none() && metadata.more.tos_uri.is_some());
        for (contacts, kept) in [
            (json!({}), vec![]),
            (json!("a@a.example "), vec!["a@a.example"]),
            (json!(["a\nb", 7, long(129), "a@a.example"]), vec!["a@a.example"]),
            (json!(vec!["x"; 11]), vec!["x"; 10]),
        ] {
            assert_eq!(judged(json!({ "contacts": contacts })).unwrap().more.contacts, kept, "{contacts}");
        }
        let uris: Vec<_> = (0..3).map(|number| format!("{URI}/{number}{}", long(1800))).collect();
        let metadata = judged(json!({"redirect_uris": uris, "tos_uri": web(1006)})).unwrap();
        assert_eq!((metadata.redirect_uris.len(), metadata.more), (3, MoreMetadata::default()), "it has no room");
    }

    #[test]
    fn what_is_not_offered_is_left_out() {
        let metadata = judged(json!({
            "redirect_uris": [URI, "http://app.example/", "cursor://x/cb", URI, "com.example.app:/cb"],
            "grant_types": ["client_credentials", "refresh_token", "authorization_code", "password"],
            "response_types": ["token", "code"],
            "scope": "account-email repo-code:rw unknown repo-delete:r repo-code:r",
            "client_uri": "http://app.example/",
            "contacts": ["", "a@app.example"],
        }));
        let metadata = metadata.unwrap();
        let uris: Vec<_> = metadata.redirect_uris.iter().map(RegisteredRedirectUri::as_str).collect();
        assert_eq!(uris, [URI, "com.example.app:/cb"]);
        assert_eq!(metadata.grant_types, GrantTypes::default());
        assert_eq!(metadata.scopes.as_ref().unwrap().as_str(), "repo-code:rw account-email:r");
        assert_eq!((metadata.client_uri.as_deref(), metadata.application_type()), (None, ApplicationType::Native));
        assert_eq!(metadata.more.contacts, ["a@app.example"]);
    }

    /// 7591-2-08, 7591-5-03
    #[test]
    fn a_policy_reduces_what_is_left() {
        let scopes = |wire: &[u8]| ScopeCatalog::platform().parse(wire).unwrap();
        for (scope, default, expected) in [
            (Value::Null, None, Ok("repo-code:rw account-email:r")),
            (Value::Null, Some("repo-code:r"), Ok("repo-code:r")),
            (json!("repo-issue:rw repo-code:r"), Some("account-email:r"), Ok("repo-code:r")),
            (json!("account-email:rw"), None, Ok("account-email:r")),
            (json!("repo-issue:rw"), None, Err(MetadataError::NoScope)),
        ] {
            let bounds = match default {
                Some(default) => bounds().default_scopes(scopes(default.as_bytes())),
                None => bounds(),
            };
            let admitted = admitted(json!({ "scope": scope }), &bounds);
            let found = admitted.as_ref().map(|admitted| admitted.default_scopes.as_str()).map_err(Clone::clone);
            assert_eq!(found, expected, "{scope} {default:?}");
            if let Ok(admitted) = admitted {
                assert_eq!(admitted.form.scopes.as_str(), "repo-code:rw account-email:r", "the limit");
                assert_eq!(admitted.form.resource_scope, ResourceScope::Public);
            }
        }
        let uris = json!({"redirect_uris": [URI, "http://localhost/", "com.example.app:/cb"]});
        let kept = |bounds: RegistrationBounds| {
            let form = admitted(uris.clone(), &bounds).unwrap().form;
            (form.redirect_uris.len(), form.application_type)
        };
        assert_eq!(kept(bounds()), (3, ApplicationType::Native));
        assert_eq!(kept(bounds().without_loopback()), (2, ApplicationType::Native));
        assert_eq!(kept(bounds().without_loopback().without_private_use_schemes()), (1, ApplicationType::Web));
    }
}
