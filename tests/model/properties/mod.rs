//! Properties, on random cases: the whole server against a model of its description, and single rules against
//! what others make of the same input.

mod action;
mod altered_secrets;
mod cases;
mod form_codec;
mod model;
mod open_clients;
mod play;
mod redirect_uris;
mod scope_algebra;
mod sequences;
