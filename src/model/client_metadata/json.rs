//! The members of a registration or a metadata document.

use std::collections::BTreeMap;

use crate::base::json::Json;
use crate::jose::Jwk;
use crate::model::client_metadata::error::MetadataError;

/// How deep objects and arrays may be nested: one level more than any member that is read needs.
const DEPTH: usize = 16;

/// The members of one object. Members that are null, or empty texts, count as absent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members(BTreeMap<String, Json>);

impl Members {
    /// Reads a body that is one object and nothing else.
    pub(super) fn read(body: &[u8]) -> Result<Self, MetadataError> {
        let mut members = Json::read_object(body, DEPTH).ok_or(MetadataError::NotAnObject)?;
        members.retain(|_, value| !is_absent(value));
        Ok(Self(members))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, MetadataError> {
        self.typed(name, Json::as_text)
    }

    pub(super) fn list(&self, name: &'static str) -> Result<Option<Vec<&str>>, MetadataError> {
        self.typed(name, Json::as_texts)
    }

    /// The flag of that name; off if it is absent.
    pub(super) fn flag(&self, name: &'static str) -> Result<bool, MetadataError> {
        Ok(self.typed(name, Json::as_flag)?.unwrap_or_default())
    }

    pub(super) fn object(&self, name: &'static str) -> Result<Option<&BTreeMap<String, Json>>, MetadataError> {
        self.typed(name, Json::as_object)
    }

    /// Whether a key of the key set is a private or symmetric one [RFC 7518 section 6].
    pub(super) fn has_private_key(&self, name: &'static str) -> Result<bool, MetadataError> {
        let Some(set) = self.object(name)? else { return Ok(false) };
        let Some(keys) = set.get("keys") else { return Ok(false) };
        let keys = keys.as_list().ok_or(MetadataError::WrongType(name))?;
        Ok(keys.iter().filter_map(Json::as_object).any(Jwk::is_private))
    }

    fn typed<'a, T>(
        &'a self,
        name: &'static str,
        read: impl Fn(&'a Json) -> Option<T>,
    ) -> Result<Option<T>, MetadataError> {
        self.0.get(name).map(|value| read(value).ok_or(MetadataError::WrongType(name))).transpose()
    }
}

fn is_absent(value: &Json) -> bool {
    matches!(value, Json::Null) || value.as_text().is_some_and(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7591-3.1-02
    #[test]
    fn a_body_is_one_object_of_bounded_depth() {
        let deep = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        assert!(Members::read(deep(DEPTH - 1).as_bytes()).is_ok());
        for bad in [&deep(DEPTH), "[]", "{\"a\":1,\"a\":1}", "{}x"] {
            assert_eq!(Members::read(bad.as_bytes()), Err(MetadataError::NotAnObject), "{bad}");
        }
    }

    #[test]
    fn members_have_their_type_or_are_absent() {
        let members = Members::read(br#"{"n":null,"e":"","t":"x","l":["x"],"m":["x",1],"o":{},"b":true,"z":[]}"#);
        let members = members.unwrap();
        assert_eq!((members.text("n"), members.text("e"), members.text("?")), (Ok(None), Ok(None), Ok(None)));
        assert_eq!((members.list("n"), members.list("e")), (Ok(None), Ok(None)));
        assert_eq!((members.text("t"), members.list("l")), (Ok(Some("x")), Ok(Some(vec!["x"]))));
        assert_eq!(members.list("z"), Ok(Some(Vec::new())));
        for name in ["l", "o", "b"] {
            assert_eq!(members.text(name), Err(MetadataError::WrongType(name)));
        }
        for name in ["t", "m", "o", "b"] {
            assert_eq!(members.list(name), Err(MetadataError::WrongType(name)));
        }
        assert_eq!((members.flag("b"), members.flag("n")), (Ok(true), Ok(false)));
        assert!(members.flag("t").is_err() && members.object("t").is_err() && members.object("o").is_ok());
        assert!(members.has("o") && !members.has("n") && !members.has("e"));
    }
}
