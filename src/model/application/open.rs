//! The additional part of the application of a client that registered itself.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::model::client::encoding::{read_identifiers, read_scopes, write_texts};
use crate::model::client_metadata::encoding::{read_bounds, read_more, write_bounds, write_more};
use crate::model::client_metadata::{MoreMetadata, RegistrationBounds};
use crate::model::codec::{DecodeError, Reader, Writer};
use crate::scope::ScopeSet;
use crate::secret::Digest;

/// The part of an application whose client registered itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenApplication {
    /// Its place among the unreviewed clients; `None` once it is reviewed.
    pub(crate) slot: Option<u32>,
    pub(crate) more: MoreMetadata,
    /// Set while the client may manage its registration.
    pub(crate) management: Option<Box<Management>>,
}

/// The part of a client that may manage its registration [RFC 7592].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Management {
    /// The digest of its registration access token.
    pub(crate) token: Digest,
    /// The bounds of its registration, which no update extends.
    pub(crate) bounds: RegistrationBounds,
    /// Whether a person has approved or reduced the client: every update then awaits review, even if the policy
    /// approves it.
    pub(crate) updates_await_review: bool,
    /// The members of an update that awaits review, except those of its form.
    pub(crate) proposed: Option<ProposedUpdate>,
}

/// The members of an update that are not part of an application's form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProposedUpdate {
    pub(crate) default_scopes: ScopeSet,
    pub(crate) resources: Option<BTreeSet<Box<str>>>,
    pub(crate) end: Option<Timestamp>,
    pub(crate) has_foreign_links: bool,
    pub(crate) looks_like_another: bool,
    pub(crate) more: MoreMetadata,
}

/// The tag of the part for management.
const MANAGEMENT: u8 = b'M';

pub(super) fn write_open(writer: &mut Writer, open: &OpenApplication) {
    let OpenApplication { slot, more, management } = open;
    writer.optional(*slot, Writer::number);
    write_more(writer, more);
    if let Some(management) = management {
        writer.tagged(MANAGEMENT, |writer| write_management(writer, management));
    }
}

pub(super) fn read_open(reader: &mut Reader<'_>) -> Result<OpenApplication, DecodeError> {
    Ok(OpenApplication {
        slot: reader.optional(Reader::number)?,
        more: read_more(reader)?,
        management: reader.tagged(MANAGEMENT, read_management)?.map(Box::new),
    })
}

fn write_management(writer: &mut Writer, management: &Management) {
    let Management { token, bounds, updates_await_review, proposed } = management;
    writer.array(token.bytes());
    write_bounds(writer, bounds);
    writer.flag(*updates_await_review);
    writer.optional(proposed.as_ref(), write_proposed);
}

fn read_management(reader: &mut Reader<'_>) -> Result<Management, DecodeError> {
    Ok(Management {
        token: reader.array().map(Digest::from_bytes)?,
        bounds: read_bounds(reader)?,
        updates_await_review: reader.flag()?,
        proposed: reader.optional(read_proposed)?,
    })
}

fn write_proposed(writer: &mut Writer, proposed: &ProposedUpdate) {
    let ProposedUpdate { default_scopes, resources, end, has_foreign_links, looks_like_another, more } = proposed;
    writer.text(default_scopes.as_str());
    writer.optional(resources.as_ref(), write_texts);
    writer.optional(*end, Writer::time);
    writer.flag(*has_foreign_links);
    writer.flag(*looks_like_another);
    write_more(writer, more);
}

fn read_proposed(reader: &mut Reader<'_>) -> Result<ProposedUpdate, DecodeError> {
    Ok(ProposedUpdate {
        default_scopes: read_scopes(reader)?,
        resources: reader.optional(read_identifiers)?,
        end: reader.optional(Reader::time)?,
        has_foreign_links: reader.flag()?,
        looks_like_another: reader.flag()?,
        more: read_more(reader)?,
    })
}
