//! Texts that people see: refuses misleading characters (UTS #39, RFC 7591 section 5).

mod a_label;
mod emoji;
mod judge;

pub(crate) use a_label::{a_label_host, is_a_label};
pub(crate) use judge::{LineError, check_line, check_lines, check_shown_line, is_blank, is_invisible};
pub use judge::{TextError, TextFault};
