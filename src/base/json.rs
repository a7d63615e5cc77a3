//! JSON from outside: one object, no member twice at any level, bounded depth.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The largest integer up to which all integers are exact in every implementation [RFC 8259 section 6].
const MOST: u64 = 1 << 53;

/// A JSON value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Boolean(bool),
    /// An integer, if it is from 0 to 2^53.
    Number(Option<u64>),
    /// A number that is written with a fraction or an exponent: its whole part, if it is from 0 to 2^53.
    Fraction(Option<u64>),
    Text(String),
    List(Vec<Self>),
    Object(BTreeMap<String, Self>),
}

impl Json {
    /// Reads a body that is one object and nothing else. Objects and lists are nested at most `depth` levels deep,
    /// including the object itself.
    pub(crate) fn read_object(body: &[u8], depth: usize) -> Option<BTreeMap<String, Self>> {
        if is_deeper(body, depth) {
            return None;
        }
        match serde_json::from_slice(body) {
            Ok(Self::Object(members)) => Some(members),
            Ok(_) | Err(_) => None,
        }
    }

    pub(crate) const fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text.as_str()) } else { None }
    }

    pub(crate) const fn as_flag(&self) -> Option<bool> {
        if let Self::Boolean(flag) = self { Some(*flag) } else { None }
    }

    pub(crate) const fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(values) = self { Some(values.as_slice()) } else { None }
    }

    /// The texts of a list that holds nothing else.
    pub(crate) fn as_texts(&self) -> Option<Vec<&str>> {
        self.as_list()?.iter().map(Self::as_text).collect()
    }

    pub(crate) const fn as_object(&self) -> Option<&BTreeMap<String, Self>> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }

    /// The whole part of a number from 0 to 2^53.
    pub(crate) const fn as_number(&self) -> Option<u64> {
        if let Self::Number(number) | Self::Fraction(number) = self { *number } else { None }
    }

    /// An integer from 0 to 2^53, written without a fraction and an exponent.
    pub(crate) const fn as_integer(&self) -> Option<u64> {
        if let Self::Number(number) = self { *number } else { None }
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

    fn visit_bool<E>(self, flag: bool) -> Result<Json, E> {
        Ok(Json::Boolean(flag))
    }

    /// A negative number; others arrive as `u64`.
    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        Ok(Json::Number(u64::try_from(number).ok().filter(|number| *number <= MOST)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(Some(number).filter(|number| *number <= MOST)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        let whole = Duration::try_from_secs_f64(number.trunc()).ok().map(|duration| duration.as_secs());
        Ok(Json::Fraction(whole.filter(|number| *number <= MOST)))
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
                return Err(A::Error::custom("a member is repeated"));
            }
        }
        Ok(exact_number(&object).unwrap_or(Json::Object(object)))
    }
}

/// Reads a number from the object in which serde_json passes it if any crate of the build enables its feature
/// `arbitrary_precision`.
fn exact_number(members: &BTreeMap<String, Json>) -> Option<Json> {
    let text = members.get(EXACT_NUMBER).filter(|_| members.len() == 1)?.as_text()?;
    match text.parse::<u64>() {
        Ok(number) => JsonVisitor.visit_u64::<serde_json::Error>(number).ok(),
        Err(_) => JsonVisitor.visit_f64::<serde_json::Error>(text.parse().ok()?).ok(),
    }
}

/// The name of the only member of that object.
const EXACT_NUMBER: &str = "$serde_json::private::Number";

/// Counts brackets outside of strings. Invalid JSON is detected later.
pub(crate) fn is_deeper(body: &[u8], max: usize) -> bool {
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
    deepest > max
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: usize = 8;

    /// 7515-4-01, 7591-3.1-02, NEG-JOSE-03
    #[test]
    fn a_body_is_one_object_without_a_name_twice() {
        let deep = |depth: usize| format!("{{\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        for good in ["{}", " {\"a\":\"[[[[[[[[[[[[[[[[[[\"}\n", "{\"a\":{\"b\":1},\"b\":1.5}", &deep(DEPTH - 1)] {
            assert!(Json::read_object(good.as_bytes(), DEPTH).is_some(), "{good}");
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
            "{\"a\":1,\"\\u0061\":1}",
            "{\"a\":{\"b\":1,\"b\":2}}",
            "{\"a\":[{\"b\":1,\"b\":2}]}",
            "{\"a\":1,}",
            "{'a':1}",
            "\u{feff}{}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\n\"}",
            "{\"a\":01}",
            "{\"a\":+1}",
            "{\"a\":NaN}",
            "{\"a\":1e400}",
            &deep(DEPTH),
            &deep(10_000),
            &"[".repeat(16_000),
            &"{\"a\":".repeat(10_000),
        ] {
            assert_eq!(Json::read_object(bad.as_bytes(), DEPTH), None, "{bad}");
        }
        assert_eq!(Json::read_object(b"{\"a\":\"\xff\"}", DEPTH), None);
    }

    /// 7519-4.1-01: numbers in the form of serde_json's feature `arbitrary_precision` are read as all others.
    #[test]
    fn exact_numbers_are_numbers() {
        let read = |text: &str| {
            let body = format!("{{\"n\":{{\"{EXACT_NUMBER}\":\"{text}\"}}}}");
            Json::read_object(body.as_bytes(), DEPTH).unwrap().remove("n").unwrap()
        };
        for (text, number) in [
            ("1999999999", Some(1_999_999_999)),
            ("1999999999.5", Some(1_999_999_999)),
            ("1e9", Some(1_000_000_000)),
            ("-0", Some(0)),
            ("-1", None),
            ("1e400", None),
            ("9007199254740992", Some(1 << 53)),
            ("9007199254740993", None),
            ("18446744073709551616", None),
            ("NaN", None),
        ] {
            let read = read(text);
            assert!(matches!(read, Json::Number(_) | Json::Fraction(_)), "{text}");
            assert_eq!(read.as_number(), number, "{text}");
            assert_eq!(read.as_integer(), number.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())), "{text}");
        }
        assert!(read("x").as_object().is_some());
    }

    /// 7519-4.1-01
    #[test]
    fn numbers_are_whole_and_from_0_to_2_53() {
        let number = |text: &str| {
            let members = Json::read_object(format!("{{\"n\":{text}}}").as_bytes(), DEPTH).unwrap();
            members.get("n").and_then(Json::as_number)
        };
        for (text, read) in [
            ("0", 0),
            ("-0", 0),
            ("0.0", 0),
            ("0.999", 0),
            ("1999999999", 1_999_999_999),
            ("1999999999.5", 1_999_999_999),
            ("1999999999.999", 1_999_999_999),
            ("1e9", 1_000_000_000),
            ("1.9999999995E9", 1_999_999_999),
            ("9007199254740992", 1 << 53),
        ] {
            assert_eq!(number(text), Some(read), "{text}");
        }
        for text in [
            "-1",
            "-1.5",
            "-1e300",
            "9007199254740993",
            "9007199254740994",
            "18446744073709551615",
            "18446744073709551616",
            "1e16",
            "1e308",
            "\"1\"",
            "null",
            "true",
            "[1]",
            "{\"n\":1}",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
