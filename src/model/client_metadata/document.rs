//! Judges a metadata document: pure functions from a response to metadata or an error.

use crate::model::client::{AuthenticationMethod, AuthenticationMethods};
use crate::model::client_metadata::ClientMetadata;
use crate::model::client_metadata::error::{DocumentError, DocumentUrl, MetadataError};
use crate::model::client_metadata::judge::MetadataRules;
use crate::model::members::Members;
use crate::wire::fetch::{DOCUMENT_BYTES, FetchResponse};

/// The rules for metadata documents.
#[derive(Clone, Debug)]
pub(crate) struct DocumentRules {
    /// The rules that also apply to clients that register themselves.
    pub(crate) metadata: MetadataRules,
    pub(crate) none_beside_private_key_jwt: bool,
}

impl DocumentRules {
    /// Checks a fetcher's response [draft-ietf-oauth-client-id-metadata-document section 4].
    ///
    /// # Errors
    ///
    /// The first [`DocumentError`], in the order: status, type, size, JSON, client id, secrets and keys, method, then
    /// as for a registration, and the name.
    pub(crate) fn judge(
        &self,
        url: DocumentUrl<'_>,
        response: &FetchResponse,
    ) -> Result<ClientMetadata, DocumentError> {
        // > [...] the authorization server MUST treat any other status code as a failure [...] and MUST NOT
        // > automatically follow HTTP redirects.
        if response.status != 200 {
            return Err(DocumentError::Status(response.status));
        }
        if !response.is_json() {
            return Err(DocumentError::MediaType);
        }
        if response.body.len() > DOCUMENT_BYTES {
            return Err(DocumentError::TooLarge);
        }
        let members = Members::read(&response.body)?;
        // > The client_id in the metadata document MUST match the URL of the document using simple string comparison.
        if members.text("client_id")? != Some(url.as_str()) {
            return Err(DocumentError::ClientId);
        }
        if members.has("client_secret") || members.has("client_secret_expires_at") {
            return Err(DocumentError::SharedSecret);
        }
        if members.has_private_key("jwks")? {
            return Err(DocumentError::PrivateKey);
        }
        let methods = self.methods(&members)?;
        let mut metadata = self.metadata.read(&members, methods)?;
        if metadata.name.is_none() {
            return Err(DocumentError::NoName);
        }
        // A pushed request never fetches a document, so a client that must push its requests could never be stored.
        metadata.options.requires_pushed_requests = false;
        Ok(metadata)
    }

    /// > The token_endpoint_auth_method property MUST NOT include client_secret_post, client_secret_basic,
    /// > client_secret_jwt, or any other method based around a shared symmetric secret.
    ///
    /// [draft-ietf-oauth-client-id-metadata-document section 4.1]
    fn methods(&self, members: &Members) -> Result<AuthenticationMethods, DocumentError> {
        let method = match members.text("token_endpoint_auth_method")? {
            // RFC 7591's default is a method with a secret, and a document cannot have a secret.
            None | Some("none") => AuthenticationMethod::None,
            Some(secret) if secret.starts_with("client_secret_") => return Err(DocumentError::SharedSecret),
            Some("private_key_jwt") => AuthenticationMethod::PrivateKeyJwt,
            Some(_) => return Err(MetadataError::Method.into()),
        };
        let beside = members.list("token_endpoint_auth_methods_supported")?.unwrap_or_default();
        let methods = match self.offered(method, members) {
            // The client is public, and the key that it has for other servers protects nothing.
            Ok(key) if key == AuthenticationMethods::KEY && beside.contains(&"none") => {
                key.with(AuthenticationMethod::None)
            }
            Err(_) if self.none_beside_private_key_jwt && beside.contains(&"none") => AuthenticationMethods::PUBLIC,
            methods => methods?,
        };
        if methods.contains(AuthenticationMethod::None) {
            self.offered(AuthenticationMethod::None, members)?;
        }
        Ok(methods)
    }

    /// Returns the method, if the server offers it. For `private_key_jwt`, it must also accept the algorithm that the
    /// document names. Whether the keys are valid is checked later: a document with a key that cannot be used never
    /// makes a public client.
    fn offered(&self, method: AuthenticationMethod, members: &Members) -> Result<AuthenticationMethods, MetadataError> {
        if !self.metadata.methods.contains(&method) {
            return Err(MetadataError::Method);
        }
        if method == AuthenticationMethod::PrivateKeyJwt {
            self.metadata.keys.signing_algorithm(members)?;
        }
        Ok(AuthenticationMethods::only(method))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::jose::{JwkSetError, SigningAlgorithm};
    use crate::model::client::form::RegistrationLimits;
    use crate::model::client::{ApplicationType, GrantTypes, KeyRules};
    use crate::model::redirect_uri::{RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri};
    use crate::scope::ScopeCatalog;

    const URL: &str = "https://client.example/oauth/client.json";
    const URI: &str = "https://client.example/cb";

    fn rules() -> DocumentRules {
        let metadata = MetadataRules {
            catalog: ScopeCatalog::platform(),
            limits: RegistrationLimits::default(),
            redirect_uris: RedirectUriPolicy::default(),
            methods: vec![AuthenticationMethod::None],
            omitted_method: AuthenticationMethod::None,
            keys: KeyRules::of_tests(),
            drops_unknown_scopes: false,
            offered: GrantTypes::default(),
        };
        DocumentRules { metadata, none_beside_private_key_jwt: false }
    }

    /// A valid document with the given members. Null removes a member.
    fn document(members: Value) -> Value {
        let mut document = json!({"client_id": URL, "client_name": "App", "redirect_uris": [URI]});
        document.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        document
    }

    fn response(body: impl Into<Vec<u8>>) -> FetchResponse {
        let mut response = FetchResponse::new(200, body);
        response.content_type = Some("application/json".to_owned());
        response
    }

    fn judge(rules: &DocumentRules, response: &FetchResponse) -> Result<ClientMetadata, String> {
        rules.judge(DocumentUrl::parse(URL).unwrap(), response).map_err(|error| format!("{error:?}"))
    }

    fn judged(members: Value) -> Result<ClientMetadata, String> {
        judge(&rules(), &response(document(members).to_string()))
    }

    fn padded(length: usize) -> String {
        let document = document(json!({})).to_string();
        format!("{document}{}", " ".repeat(length - document.len()))
    }

    /// CIMD-4-01
    #[test]
    fn only_a_whole_answer_with_status_200_is_read() {
        for status in [100, 201, 203, 204, 206, 301, 302, 304, 307, 400, 404, 410, 500, 503] {
            let answer = FetchResponse { status, ..response(document(json!({})).to_string()) };
            assert_eq!(judge(&rules(), &answer), Err(format!("Status({status})")));
        }
        assert!(judge(&rules(), &response(padded(5120))).is_ok());
        assert_eq!(judge(&rules(), &response(padded(5121))), Err("TooLarge".to_owned()));
    }

    /// CIMD-4-02
    #[test]
    fn the_type_is_json() {
        for (media_type, is_accepted) in [
            (Some("application/json"), true),
            (Some("application/json; charset=utf-8"), true),
            (Some("Application/JSON ;x=y"), true),
            (Some("application/ld+json"), true),
            (Some("application/cimd+JSON;v=1"), true),
            (Some("text/plain"), false),
            (Some("text/html"), false),
            (Some("text/json"), false),
            (Some("application/jsonp"), false),
            (Some("application/+json"), false),
            (Some("application/json, text/html"), false),
            (Some("text/html;application/json"), false),
            (Some("application"), false),
            (Some(""), false),
            (None, false),
        ] {
            let answer = FetchResponse {
                content_type: media_type.map(str::to_owned),
                ..response(document(json!({})).to_string())
            };
            let expected = if is_accepted { Ok(()) } else { Err("MediaType".to_owned()) };
            assert_eq!(judge(&rules(), &answer).map(|_| ()), expected, "{media_type:?}");
        }
    }

    /// CIMD-4.1-01
    #[test]
    fn a_document_names_its_own_url_and_no_secret() {
        let key = |member: &str| json!({"jwks": {"keys": [{"kty": "EC"}, {"kty": "RSA", member: "x"}]}});
        for (members, error) in [
            (json!({"client_id": null}), "ClientId"),
            (json!({"client_id": "https://client.example:443/oauth/client.json"}), "ClientId"),
            (json!({"client_id": "https://Client.example/oauth/client.json"}), "ClientId"),
            (json!({"client_id": "https://client.example/oauth/client%2ejson"}), "ClientId"),
            (json!({"client_id": 1}), r#"Metadata(WrongType("client_id"))"#),
            (json!({"client_secret": "x"}), "SharedSecret"),
            (json!({"client_secret_expires_at": 0}), "SharedSecret"),
            (json!({"token_endpoint_auth_method": "client_secret_basic"}), "SharedSecret"),
            (json!({"token_endpoint_auth_method": "client_secret_post"}), "SharedSecret"),
            (json!({"token_endpoint_auth_method": "client_secret_jwt"}), "SharedSecret"),
            (json!({"token_endpoint_auth_method": "client_secret_other"}), "SharedSecret"),
            (json!({"token_endpoint_auth_method": "tls_client_auth"}), "Metadata(Method)"),
            (json!({"jwks": []}), r#"Metadata(WrongType("jwks"))"#),
            (json!({"jwks": {}, "jwks_uri": URI}), "Metadata(TwoKeySets)"),
            (key("d"), "PrivateKey"),
            (key("p"), "PrivateKey"),
            (key("q"), "PrivateKey"),
            (key("dp"), "PrivateKey"),
            (key("dq"), "PrivateKey"),
            (key("qi"), "PrivateKey"),
            (key("oth"), "PrivateKey"),
            (key("k"), "PrivateKey"),
        ] {
            assert_eq!(judged(members.clone()), Err(error.to_owned()), "{members}");
        }
        assert!(judged(key("n")).is_ok());
        assert!(judged(json!({"jwks_uri": "https://10.0.0.1/keys"})).is_ok(), "it is not fetched");
    }

    /// CIMD-4-03
    #[test]
    fn members_are_taken_as_at_registration() {
        let scheme = format!("Metadata(RedirectUri({:?}))", RedirectUriError::Scheme);
        for (members, error) in [
            (json!({"redirect_uris": null}), "Metadata(NoRedirectUri)"),
            (json!({"redirect_uris": []}), "Metadata(NoRedirectUri)"),
            (json!({"client_name": null}), "NoName"),
            (json!({"client_name": ""}), "NoName"),
            (json!({"client_name": " "}), r#"Metadata(Text("client_name"))"#),
            (json!({"client_name": 7}), "NoName"),
            (json!({"grant_types": ["refresh_token"]}), "Metadata(NoGrantType)"),
            (json!({"scope": "unknown"}), "Metadata(NoScope)"),
            (json!({"redirect_uris": ["javascript:x"]}), &scheme),
        ] {
            assert_eq!(judged(members.clone()), Err(error.to_owned()), "{members}");
        }
        for bad in ["", "[]", "null", "{}x", r#"{"client_id":1,"client_id":1}"#] {
            assert_eq!(judge(&rules(), &response(bad)), Err("Metadata(NotAnObject)".to_owned()), "{bad}");
        }
        let metadata = judged(json!({
            "redirect_uris": [URI, "cursor://x/cb", "http://localhost/callback"],
            "grant_types": ["authorization_code", "urn:ietf:params:oauth:grant-type:device_code", "refresh_token"],
            "client_secret": null,
            "logo_uri": "https://10.0.0.1/logo.png",
        }));
        let metadata = metadata.unwrap();
        let uris: Vec<_> = metadata.redirect_uris.iter().map(RegisteredRedirectUri::as_str).collect();
        assert_eq!(uris, [URI, "http://localhost/callback"]);
        assert_eq!(metadata.grant_types, GrantTypes::default());
        assert_eq!(metadata.authentication_methods, AuthenticationMethods::PUBLIC);
        assert_eq!(metadata.application_type(), ApplicationType::Native);
    }

    /// CIMD-8.2-02, RC-GPT-01
    #[test]
    fn private_key_jwt_is_refused_unless_none_beside_it_counts() {
        let document = |beside: Value, more: Value| {
            let mut document = document(json!({
                "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_signing_alg": "RS256",
                "jwks_uri": "https://client.example/keys",
                "token_endpoint_auth_methods_supported": beside,
            }));
            document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            response(document.to_string())
        };
        let with_keys = |none_beside_private_key_jwt, rs256: bool| {
            let mut rules = DocumentRules { none_beside_private_key_jwt, ..rules() };
            rules.metadata.methods.push(AuthenticationMethod::PrivateKeyJwt);
            rules.metadata.keys.algorithms.extend(rs256.then_some(SigningAlgorithm::Rs256));
            rules
        };
        let without_keys = |none_beside_private_key_jwt| DocumentRules { none_beside_private_key_jwt, ..rules() };
        let method = |rules: &DocumentRules, document: &FetchResponse| {
            judge(rules, document).map(|metadata| metadata.authentication_methods)
        };
        let beside = document(json!(["none", "private_key_jwt"]), json!({}));
        let refused = |error: &str| Err(format!("Metadata({error})"));
        let (key, none) = (AuthenticationMethods::KEY, Ok(AuthenticationMethods::PUBLIC));
        let both = Ok(key.with(AuthenticationMethod::None));
        for (rules, expected) in [
            (without_keys(false), refused("Method")),
            (without_keys(true), none.clone()),
            (with_keys(false, false), refused("SigningAlgorithm")),
            (with_keys(true, false), none),
            (with_keys(false, true), both.clone()),
            (with_keys(true, true), both),
        ] {
            assert_eq!(method(&rules, &beside), expected, "{rules:?}");
        }
        for beside in [json!(["private_key_jwt"]), Value::Null] {
            let document = document(beside, json!({}));
            assert_eq!(method(&without_keys(true), &document), refused("Method"));
            assert_eq!(method(&with_keys(true, true), &document), Ok(key));
        }
        // A server without public clients has no use for a client that is public.
        let mut confidential = with_keys(true, true);
        confidential.metadata.methods.retain(|method| *method != AuthenticationMethod::None);
        assert_eq!(method(&confidential, &beside), refused("Method"));
        // Keys that cannot be used do not make it a public client.
        let no_key = if crate::jose::IS_AVAILABLE { JwkSetError::NoUsableKey } else { JwkSetError::NotAvailable };
        let no_key = format!("KeySet({no_key:?})");
        for (more, error) in [
            (json!({"jwks_uri": null}), "NoKeys"),
            (json!({"jwks_uri": "http://client.example/keys"}), r#"Link("jwks_uri")"#),
            (json!({"jwks_uri": null, "jwks": {"keys": []}}), &no_key),
        ] {
            let document = document(json!(["none"]), more);
            assert_eq!(method(&with_keys(true, true), &document), refused(error));
        }
    }

    /// CIMD-5-05
    #[test]
    fn no_document_demands_that_requests_are_pushed() {
        let members = json!({"require_pushed_authorization_requests": true, "dpop_bound_access_tokens": true});
        let metadata = judged(members).unwrap();
        let options = metadata.options;
        assert!(!options.requires_pushed_requests && options.requires_dpop_bound_tokens);
    }

    #[test]
    fn the_digest_changes_with_every_member_that_users_rely_on() {
        let digest = |members: Value| judged(members).unwrap().digest();
        let same = digest(json!({}));
        assert_eq!(digest(json!({"unknown": 1, "grant_types": ["authorization_code"]})), same);
        for members in [
            json!({"redirect_uris": [URI, "http://localhost/"]}),
            json!({"redirect_uris": ["https://client.example/cb2"]}),
            json!({"client_name": "Other"}),
            json!({"client_uri": "https://client.example/"}),
            json!({"tos_uri": "https://client.example/"}),
            json!({"policy_uri": "https://client.example/"}),
            json!({"logo_uri": "https://client.example/"}),
            json!({"grant_types": ["authorization_code", "refresh_token"]}),
            json!({"scope": "repo-code:r"}),
            json!({"application_type": "native"}),
            json!({"contacts": ["a@client.example"]}),
            json!({"software_id": "x"}),
            json!({"software_version": "x"}),
            json!({"dpop_bound_access_tokens": true}),
        ] {
            assert_ne!(digest(members.clone()), same, "{members}");
        }
    }
}
