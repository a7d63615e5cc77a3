//! Compares encoded records with the files that every later release must read.

use std::path::Path;
use std::{env, fs};

/// Compares a known record, as it is encoded now, with its file, and returns the file's bytes.
///
/// `GRANTOR_WRITE_LAYOUTS=1 cargo test --all-features --lib layout_` rewrites the files. Use it only until a release
/// has written the records: later changes are optional fields.
pub(crate) fn compared_layout(name: &str, encoded: &[u8]) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/layouts").join(format!("{name}.bin"));
    if env::var_os("GRANTOR_WRITE_LAYOUTS").is_some() {
        fs::write(&path, encoded).unwrap();
    }
    let file = fs::read(&path).unwrap();
    assert_eq!(encoded.escape_ascii().to_string(), file.escape_ascii().to_string(), "{}", path.display());
    file
}
