//! The rules of [`Engine`](crate::store::Engine#contract), one function each.
//!
//! Each covers all tables of which it holds. A rule that races calls takes two handles on the same contents.

mod lists;
mod purges;
mod reads;
mod writes;

pub use lists::*;
pub use purges::*;
pub use reads::*;
pub use writes::*;
