//! Properties, on random cases: the whole server against a model of its description, and single rules against what
//! other libraries make of the same input.

mod action;
mod altered_secrets;
mod cases;
mod dpop_bound_tokens;
mod form_codec;
mod model;
mod open_clients;
mod play;
mod pushed_requests;
mod redirect_uris;
mod scope_algebra;
mod sequences;
mod thefts;
