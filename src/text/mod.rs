//! Texts that people see: refuses misleading characters, and finds names that look alike (UTS #39, RFC 7591 section 5).

mod a_label;
mod emoji;
mod judge;
mod look_alike;

pub(crate) use a_label::{a_label_host, is_a_label};
pub use judge::{TextError, TextFault};
pub(crate) use judge::{check_line, check_lines, is_blank, is_invisible};
pub use look_alike::LookAlikeKey;
