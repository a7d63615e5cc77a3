//! JSON of strangers: one object, no name twice, bounded depth.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::client::metadata::error::MetadataError;

/// How deep objects and arrays may be nested: one level more than any member needs that is read.
const DEPTH: usize = 16;

/// The members that only private and symmetric keys have [RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1].
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// The members of one object. Members that are null, or empty texts, count as absent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members(BTreeMap<String, Json>);

impl Members {
    /// Reads a body that is one object and nothing else.
    pub(super) fn read(body: &[u8]) -> Result<Self, MetadataError> {
        if is_too_deep(body) {
            return Err(MetadataError::NotAnObject);
        }
        let Ok(Json::Object(mut members)) = serde_json::from_slice(body) else {
            return Err(MetadataError::NotAnObject);
        };
        members.retain(|_, value| !value.is_absent());
        Ok(Self(members))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn text(&self, name: &'static str) -> Result<Option<&str>, MetadataError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Json::Text(text)) => Ok(Some(text)),
            Some(Json::Null | Json::Other | Json::List(_) | Json::Object(_)) => Err(MetadataError::WrongType(name)),
        }
    }

    /// Whether a key of the key set has one of [`PRIVATE`] [RFC 7518 section 6].
    pub(super) fn has_private_key(&self, name: &'static str) -> Result<bool, MetadataError> {
        let set = match self.0.get(name) {
            None => return Ok(false),
            Some(Json::Object(set)) => set,
            Some(Json::Null | Json::Other | Json::Text(_) | Json::List(_)) => {
                return Err(MetadataError::WrongType(name));
            }
        };
        let keys = match set.get("keys") {
            None => return Ok(false),
            Some(Json::List(keys)) => keys,
            Some(Json::Null | Json::Other | Json::Text(_) | Json::Object(_)) => {
                return Err(MetadataError::WrongType(name));
            }
        };
        Ok(keys.iter().any(|key| key.object().is_some_and(|key| PRIVATE.iter().any(|name| key.contains_key(*name)))))
    }

    pub(super) fn list(&self, name: &'static str) -> Result<Option<Vec<&str>>, MetadataError> {
        let values = match self.0.get(name) {
            None => return Ok(None),
            Some(Json::List(values)) => values,
            Some(Json::Null | Json::Other | Json::Text(_) | Json::Object(_)) => {
                return Err(MetadataError::WrongType(name));
            }
        };
        let texts = values.iter().map(|value| match value {
            Json::Text(text) => Ok(text.as_str()),
            Json::Null | Json::Other | Json::List(_) | Json::Object(_) => Err(MetadataError::WrongType(name)),
        });
        texts.collect::<Result<_, _>>().map(Some)
    }
}

/// A value; numbers and booleans are in no member that is read.
#[derive(Debug, PartialEq, Eq)]
enum Json {
    Null,
    Other,
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl Json {
    const fn object(&self) -> Option<&BTreeMap<String, Self>> {
        match self {
            Self::Object(members) => Some(members),
            Self::Null | Self::Other | Self::Text(_) | Self::List(_) => None,
        }
    }

    fn is_absent(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Text(text) => text.is_empty(),
            Self::Other | Self::List(_) | Self::Object(_) => false,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object = BTreeMap::new();
        while let Some((name, value)) = members.next_entry::<String, Json>()? {
            if object.insert(name, value).is_some() {
                return Err(A::Error::custom("a member stands there twice"));
            }
        }
        Ok(Json::Object(object))
    }
}

/// Counts brackets outside of texts. What is no JSON is found out later.
fn is_too_deep(body: &[u8]) -> bool {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_text, mut is_escaped) = (false, false);
    for byte in body {
        match (in_text, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (true, b'"') => in_text = false,
            (true, _) => {}
            (false, b'"') => in_text = true,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (false, _) => {}
        }
    }
    deepest > DEPTH
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 7591-3.1-02
    #[test]
    fn a_body_is_one_object_without_a_name_twice() {
        let deep = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        for good in ["{}", " {\"a\":\"[[[[[[[[[[[[[[[[[[\"}\n", "{\"a\":{\"b\":1},\"b\":1.5}", &deep(DEPTH - 1)] {
            assert!(Members::read(good.as_bytes()).is_ok(), "{good}");
        }
        for bad in [
            "",
            "[]",
            "null",
            "1",
            "\"x\"",
            "{",
            "{}x",
            "{}{}",
            "{\"a\":1,\"a\":1}",
            "{\"a\":{\"b\":1,\"b\":2}}",
            "{\"a\":1,}",
            "{'a':1}",
            "\u{feff}{}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\n\"}",
            &deep(DEPTH),
            &deep(100),
            &"[".repeat(16_000),
        ] {
            assert_eq!(Members::read(bad.as_bytes()), Err(MetadataError::NotAnObject), "{bad}");
        }
        assert_eq!(Members::read(b"{\"a\":\"\xff\"}"), Err(MetadataError::NotAnObject));
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
        assert!(members.has("o") && !members.has("n") && !members.has("e"));
    }
}
