//! The ways to a token. Each is look, judge, claim: read the record, decide by a pure function, write
//! the outcome with one insert or one compare-and-swap.

pub(crate) mod authorization_code;
pub(crate) mod issue;
pub(crate) mod list;
pub(crate) mod refresh_token;
pub(crate) mod withdraw;
