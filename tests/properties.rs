//! Properties, on random cases: the whole server against a model of its description, and single rules against
//! what others make of the same input.

#[path = "properties/action.rs"]
mod action;
#[path = "properties/altered_secrets.rs"]
mod altered_secrets;
#[path = "properties/cases.rs"]
mod cases;
#[path = "protocol/claimed.rs"]
mod claimed;
#[path = "properties/form_codec.rs"]
mod form_codec;
#[path = "properties/model/mod.rs"]
mod model;
#[path = "properties/play/mod.rs"]
mod play;
#[path = "properties/redirect_uris.rs"]
mod redirect_uris;
#[path = "properties/scope_algebra.rs"]
mod scope_algebra;
#[path = "properties/sequences.rs"]
mod sequences;
#[expect(dead_code, reason = "the fixture has more than these tests need")]
#[path = "protocol/world.rs"]
mod world;
