//! What an access token grants, as the authorization server described it: in an answer to introspection [RFC 7662
//! section 2.2], or in the claims of a JWT [RFC 9068 section 2.2]. Both are read here.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, Subject};
use crate::base::json::Json;
use crate::hooks::TokenRefusal;
use crate::jose::JwkThumbprint;
use crate::jose::access_jwt::RESERVED;
use crate::scope::{ResourceList, ResourceScope, ScopeCatalog, ScopeError, ScopeSet};

/// The SHA-256 of a whole token.
pub(super) type TokenDigest = [u8; 32];

/// The most bytes that are kept for one token, on average.
pub(super) const BYTES_PER_ENTRY: usize = 1024;

/// What the authorization server said about a token.
#[derive(Debug)]
pub(crate) struct TokenFacts {
    pub(crate) client_id: ClientId,
    /// `None` if the client acts for itself.
    pub(crate) subject: Option<Subject>,
    /// The scopes as they were sent. The catalog may not have all of them.
    pub(crate) scope: Box<str>,
    pub(crate) resource_scope: ResourceScope,
    /// The key that the token is bound to.
    pub(crate) key: Option<JwkThumbprint>,
    pub(crate) issued: Option<Timestamp>,
    pub(crate) expires: Option<Timestamp>,
    pub(super) not_before: Option<Timestamp>,
    /// The members that this library does not read, as JSON, if there are any.
    pub(super) claims: Option<Arc<str>>,
}

impl TokenFacts {
    /// Returns why the token is not valid now, if it is not.
    pub(super) fn refused_at(&self, now: Timestamp) -> Option<TokenRefusal> {
        if self.expires.is_some_and(|expires| now >= expires) {
            return Some(TokenRefusal::Expired);
        }
        self.not_before.filter(|not_before| now < *not_before).map(|_| TokenRefusal::NotYetValid)
    }

    /// Returns those of the token's scopes that the catalog has.
    pub(super) fn scopes(&self, catalog: &ScopeCatalog) -> Result<ScopeSet, ScopeError> {
        Ok(catalog.read_known(self.scope.as_bytes())?.0)
    }

    /// The bytes that they take in memory.
    pub(super) fn bytes(&self) -> usize {
        let resources = match &self.resource_scope {
            ResourceScope::Specified(list) => list.iter().map(|name| size_of::<Box<str>>() + name.len()).sum(),
            ResourceScope::All | ResourceScope::Public => 0,
        };
        let subject = self.subject.as_ref().map_or(0, |subject| subject.as_str().len());
        let claims = self.claims.as_ref().map_or(0, |claims| claims.len());
        size_of::<Self>() + self.client_id.as_str().len() + subject + self.scope.len() + resources + claims
    }
}

/// The members of an answer or of a claims set. A member that has another type, such as null, is malformed, and not
/// absent.
#[derive(Clone, Copy)]
pub(super) struct Members<'a>(pub(super) &'a BTreeMap<String, Json>);

/// A member that has another type, or a value that it cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

/// What a token is bound to.
pub(super) enum Binding {
    None,
    Key(JwkThumbprint),
    Unknown,
}

impl<'a> Members<'a> {
    pub(super) fn flag(self, name: &'static str) -> Result<Option<bool>, Malformed> {
        self.read(name, Json::as_flag)
    }

    pub(super) fn text(self, name: &'static str) -> Result<Option<&'a str>, Malformed> {
        self.read(name, Json::as_text)
    }

    /// > Integer timestamp, measured in the number of seconds since January 1 1970 UTC
    ///
    /// [RFC 7662 section 2.2]
    pub(super) fn time(self, name: &'static str) -> Result<Option<Timestamp>, Malformed> {
        let seconds = self.read(name, Json::as_integer)?;
        Ok(seconds.map(|seconds| Timestamp::from_seconds(u32::try_from(seconds).unwrap_or(u32::MAX))))
    }

    pub(super) fn client_id(self) -> Result<Option<ClientId>, Malformed> {
        let id = self.text("client_id")?.map(ClientId::new);
        id.transpose().map_err(|_| Malformed("client_id"))
    }

    /// > Subject of the token […]. Usually a machine-readable identifier of the resource owner who authorized this
    /// > token.
    ///
    /// `username` is for people, and identifies no user.
    pub(super) fn subject(self) -> Result<Option<Subject>, Malformed> {
        let subject = self.text("sub")?.map(Subject::new);
        subject.transpose().map_err(|_| Malformed("sub"))
    }

    /// A text or a list of texts [RFC 7519 section 4.1.3].
    pub(super) fn audience(self) -> Result<Option<Vec<&'a str>>, Malformed> {
        self.read("aud", |value| value.as_text().map(|one| vec![one]).or_else(|| value.as_texts()))
    }

    /// The key that the token is bound to [RFC 9449 section 6]. A token that is bound in another way, such as to a
    /// certificate, must not be used as an unbound one.
    pub(super) fn binding(self) -> Result<Binding, Malformed> {
        let Some(confirmation) = self.read("cnf", Json::as_object)? else { return Ok(Binding::None) };
        let Some(thumbprint) = confirmation.get("jkt").filter(|_| confirmation.len() == 1) else {
            return Ok(Binding::Unknown);
        };
        let key = thumbprint.as_text().and_then(|text| text.parse().ok());
        key.map(Binding::Key).ok_or(Malformed("cnf"))
    }

    /// The members of this library. If they are missing or unknown, the token covers no named resource.
    pub(super) fn resource_scope(self) -> Result<ResourceScope, Malformed> {
        let names = self.read("resources", Json::as_texts)?.unwrap_or_default();
        Ok(match self.text("resource_scope")? {
            Some("all") => ResourceScope::All,
            Some("public") => ResourceScope::Public,
            Some("specified") => {
                ResourceList::from_record(names).map_or_else(|_| ResourceScope::none(), ResourceScope::Specified)
            }
            None | Some(_) => ResourceScope::none(),
        })
    }

    /// The members that this library does not read, as JSON; `None` if there are none. `json` are all members.
    pub(super) fn claims(self, json: &[u8]) -> Option<Arc<str>> {
        if self.0.keys().all(|name| RESERVED.contains(&name.as_str())) {
            return None;
        }
        let mut members: Map<String, Value> = serde_json::from_slice(json).ok()?;
        members.retain(|name, _| !RESERVED.contains(&name.as_str()));
        serde_json::to_string(&members).ok().map(Into::into)
    }

    fn read<T>(self, name: &'static str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>, Malformed> {
        let Some(value) = self.0.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or(Malformed(name))
    }
}
