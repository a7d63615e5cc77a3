//! The members of a registration or a metadata document, and those that applications, clients and metadata keep as they
//! are sent: one row each.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::base::codec::{DecodeError, Reader, Writer};
use crate::base::field::{Codec, Tagged};
use crate::base::json::Json;
use crate::jose::{Jwk, SigningAlgorithm};
use crate::model::client_metadata::error::MetadataError;
use crate::model::redirect_uri::web_link;
use crate::text::{check_line, check_shown_line};

// A member that only people read does not refuse a whole client: it is cut or left out, and the response has what was
// kept. Only a name that could mislead and a link that is a program are refused.
//
// > The authorization server MAY reject or replace any of the client's requested metadata values submitted during the
// > registration and substitute them with suitable values.
//
// RFC 7591 section 3.2.1

/// Defines a struct of such members. A row has the field, its type, its name on the wire, the function that reads it,
/// and the tag that it is stored with if it has a value.
///
/// A later release may add rows after the others. It reads what an earlier one stored; an earlier one refuses a member
/// that it does not know, and reads the client as long as that has no value.
macro_rules! members {
    ($(#[$docs:meta])* $name:ident {
        $($(#[$doc:meta])* $field:ident: $type:ty = $member:literal, $read:expr, $tag:literal;)*
    }) => {
        $(#[$docs])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl Codec for $name {
            fn write(&self, writer: &mut Writer) {
                writer.block(|writer| {
                    $(self.$field.write_tagged($tag, writer);)*
                });
            }

            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                // The fields of a struct are evaluated in the order in which they stand here.
                reader.block(|reader| Ok(Self { $($field: Tagged::read_tagged($tag, reader)?,)* }))
            }
        }

        impl $name {
            pub(crate) fn read(members: &Members) -> Result<Self, MetadataError> {
                Ok(Self { $($field: $read(members, $member)?,)* })
            }

            /// Shows the members in the response to a registration. Those without a value are left out.
            pub(crate) fn show(&self, response: &mut Map<String, Value>) {
                $(response.extend(self.$field.shown().map(|value| ($member.to_owned(), value)));)*
            }
        }
    };
}

members! {
    /// What a client registers about its own requests and tokens. A request reads them.
    ClientOptions {
        /// The only algorithm that the client signs its assertions with, `token_endpoint_auth_signing_alg`; by default
        /// the keys decide [RFC 7591 section 2].
        signing_algorithm: Option<SigningAlgorithm> = "token_endpoint_auth_signing_alg", algorithm, 1;
        /// Whether the client must push its authorization requests, `require_pushed_authorization_requests`; off by
        /// default [RFC 9126 section 6].
        requires_pushed_requests: bool = "require_pushed_authorization_requests", Members::flag, 2;
        /// Whether the client gets only tokens that are bound to a key, `dpop_bound_access_tokens`; off by default
        /// [RFC 9449 section 5.2].
        requires_dpop_bound_tokens: bool = "dpop_bound_access_tokens", Members::flag, 3;
    }
}

members! {
    /// Metadata of a client that no request needs: for a reviewer and for pages [RFC 7591 section 2].
    MoreMetadata {
        /// `logo_uri`. It is never fetched. A page that loads it reveals its visitors to a third party's server.
        logo_uri: Option<String> = "logo_uri", long_link, 1;
        /// `tos_uri`, the terms of service; plain text, to be escaped by a page.
        tos_uri: Option<String> = "tos_uri", long_link, 2;
        /// `policy_uri`, the privacy policy; plain text, to be escaped by a page.
        policy_uri: Option<String> = "policy_uri", long_link, 3;
        /// `software_id`; plain text, to be escaped by a page.
        software_id: Option<String> = "software_id", short_line, 4;
        /// `software_version`; plain text, to be escaped by a page.
        software_version: Option<String> = "software_version", short_line, 5;
        /// `contacts`; plain text, to be escaped by a page.
        contacts: Vec<String> = "contacts", contacts, 6;
    }
}

impl MoreMetadata {
    /// The links that a page may show.
    pub(crate) fn links(&self) -> impl Iterator<Item = &str> {
        [&self.tos_uri, &self.policy_uri].into_iter().flatten().map(AsRef::as_ref)
    }
}

/// A value of a member in a response; `None` if it is left out.
trait Shown {
    fn shown(&self) -> Option<Value>;
}

impl Shown for bool {
    fn shown(&self) -> Option<Value> {
        self.then_some(Value::Bool(true))
    }
}

impl Shown for Option<String> {
    fn shown(&self) -> Option<Value> {
        self.clone().map(Value::String)
    }
}

impl Shown for Vec<String> {
    fn shown(&self) -> Option<Value> {
        (!self.is_empty()).then(|| self.clone().into())
    }
}

impl Shown for Option<SigningAlgorithm> {
    fn shown(&self) -> Option<Value> {
        self.map(|algorithm| algorithm.as_str().into())
    }
}

/// The most characters of a text that no request needs, and the most contacts.
const SHORT_TEXT: usize = 128;
const CONTACTS: usize = 10;
/// The most characters of a link that no request needs.
const LONG_LINK: usize = 1024;

/// An algorithm that is not known counts as none. Whether the server accepts it is checked for clients that use a key.
fn algorithm(members: &Members, name: &'static str) -> Result<Option<SigningAlgorithm>, MetadataError> {
    members.text(name).map(|name| name.and_then(SigningAlgorithm::parse))
}

fn short_line(members: &Members, name: &'static str) -> Result<Option<String>, MetadataError> {
    Ok(members.shown(name).and_then(|text| shown_line(text, SHORT_TEXT)))
}

fn long_link(members: &Members, name: &'static str) -> Result<Option<String>, MetadataError> {
    members.link(name, LONG_LINK)
}

/// One text counts as a list. An address that is cut leads nowhere, so one that is too long is left out.
fn contacts(members: &Members, name: &'static str) -> Result<Vec<String>, MetadataError> {
    let Some(sent) = members.0.get(name) else { return Ok(Vec::new()) };
    let sent = sent.as_list().unwrap_or_else(|| std::slice::from_ref(sent));
    let texts = sent.iter().filter_map(Json::as_text).map(str::trim);
    Ok(texts.filter(|text| check_shown_line(text, SHORT_TEXT).is_ok()).take(CONTACTS).map(Into::into).collect())
}

/// Returns a text as it may be shown: without needless blanks, and if it is too long, its beginning with an ellipsis.
/// `None` if it is blank or has characters that could mislead.
fn shown_line(text: &str, limit: usize) -> Option<String> {
    let words: Vec<_> = text.trim().split(' ').filter(|word| !word.is_empty()).collect();
    let text = words.join(" ");
    if text.chars().nth(limit).is_none() {
        return check_shown_line(&text, limit).is_ok().then_some(text);
    }
    check_line(&text).ok()?;
    // A cut through an emoji of several characters can leave a part that is no text.
    (1..limit).rev().take(8).find_map(|characters| {
        let beginning: String = text.chars().take(characters).collect();
        let beginning = beginning.trim_end();
        check_shown_line(beginning, limit).is_ok().then(|| format!("{beginning}\u{2026}"))
    })
}

/// Whether a browser would run a link as a program.
fn is_program(link: &str) -> bool {
    let scheme = link.split_once(':').map_or("", |(scheme, _)| scheme);
    ["javascript", "vbscript"].iter().any(|program| scheme.eq_ignore_ascii_case(program))
}

/// How deep objects and arrays may be nested: one level more than any member that is read needs.
const DEPTH: usize = 16;

/// The members of one object. Members that are null, or empty texts, count as absent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Members(BTreeMap<String, Json>);

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

    /// The name that users see, cut to the limit.
    ///
    /// # Errors
    ///
    /// [`MetadataError::Text`] if it is blank or has characters that could mislead.
    pub(super) fn name(&self, name: &'static str, limit: usize) -> Result<Option<String>, MetadataError> {
        self.shown(name).map(|text| shown_line(text, limit).ok_or(MetadataError::Text(name))).transpose()
    }

    /// A link that users see; `None` unless it is a plain https address. No link is ever fetched.
    ///
    /// # Errors
    ///
    /// [`MetadataError::Link`] if it is a program.
    pub(super) fn link(&self, name: &'static str, limit: usize) -> Result<Option<String>, MetadataError> {
        let Some(link) = self.shown(name).map(str::trim) else { return Ok(None) };
        if is_program(link) { Err(MetadataError::Link(name)) } else { Ok(web_link(link, limit)) }
    }

    /// A text that only people read. One of another JSON type counts as absent.
    fn shown(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_text()
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
    use crate::base::field::{decode, encode};

    members! {
        /// The members of one release.
        #[expect(unreachable_pub, reason = "the macro defines public structs")]
        Earlier {
            links: Vec<String> = "links", contacts, 1;
        }
    }
    members! {
        /// Those of the next one.
        #[expect(unreachable_pub, reason = "the macro defines public structs")]
        Later {
            links: Vec<String> = "links", contacts, 1;
            is_new: bool = "is_new", Members::flag, 2;
        }
    }

    /// A struct that has members before its other fields.
    #[derive(Debug, PartialEq)]
    struct Holder<T> {
        members: T,
        after: u32,
    }

    impl<T: Codec> Codec for Holder<T> {
        fn write(&self, writer: &mut Writer) {
            self.members.write(writer);
            self.after.write(writer);
        }

        fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
            Ok(Self { members: Codec::read(reader)?, after: Codec::read(reader)? })
        }
    }

    #[test]
    fn a_release_reads_the_members_that_it_knows() {
        const KIND: u8 = b'X';
        let sent = |body: &[u8]| Members::read(body).unwrap();
        let earlier = Holder { members: Earlier::read(&sent(br#"{"links":["a"]}"#)).unwrap(), after: 7 };
        let later = |is_new: bool| {
            let body = format!(r#"{{"links":["a"],"is_new":{is_new}}}"#);
            Holder { members: Later::read(&sent(body.as_bytes())).unwrap(), after: 7 }
        };
        assert_eq!(decode(KIND, &encode(KIND, &earlier)), Ok(later(false)), "a client that was stored before");
        assert_eq!(decode(KIND, &encode(KIND, &later(true))), Ok(later(true)));
        assert_eq!(
            decode(KIND, &encode(KIND, &later(false))),
            Ok(Holder { members: earlier.members.clone(), after: 7 }),
            "nothing new is stored"
        );
        let unknown = decode::<Holder<Earlier>>(KIND, &encode(KIND, &later(true)));
        assert_eq!(unknown, Err(DecodeError::UnknownLayout), "a member that would be lost at the next write");
        let (mut shown_earlier, mut shown_later) = (Map::new(), Map::new());
        earlier.members.show(&mut shown_earlier);
        later(false).members.show(&mut shown_later);
        assert_eq!(shown_earlier, shown_later);
    }

    #[test]
    fn a_text_is_cut_between_characters_that_belong_together() {
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f466}";
        for (text, limit, expected) in [
            (" App\t", 3, Some("App")),
            ("Applet", 5, Some("Appl\u{2026}")),
            ("App  let", 5, Some("App\u{2026}")),
            ("a  b", 3, Some("a b")),
            (&format!("ab{family}"), 5, Some("ab\u{1f468}\u{2026}")),
            ("App\u{202e}let", 5, None),
            ("a\nb", 5, None),
            (" \u{3000}", 5, None),
        ] {
            assert_eq!(shown_line(text, limit).as_deref(), expected, "{text:?}");
        }
    }

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
