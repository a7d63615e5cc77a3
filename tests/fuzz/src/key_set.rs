//! A key set that is accepted holds public keys of the three kinds alone, and is read again as it is written.
//!
//! An input is the JSON of a set.

use std::collections::BTreeSet;

use grantor::jose::{JwkSet, JwkSetError};
use serde_json::Value;

/// The members that a kept key may have.
const PUBLIC: [&str; 8] = ["alg", "crv", "e", "kid", "kty", "n", "x", "y"];

pub(super) fn check(input: &[u8]) -> String {
    match JwkSet::parse(input) {
        Ok(set) => is_public(&set, input),
        Err(JwkSetError::Key(number, error)) => {
            let sent: Value = serde_json::from_slice(input).unwrap();
            assert!((1..=sent["keys"].as_array().unwrap().len()).contains(&number));
            // The name of the variant, without what is in it.
            format!("key, {}", format!("{error:?}").split('(').next().unwrap_or_default())
        }
        Err(JwkSetError::NotASet) => "NotASet".to_owned(),
        Err(JwkSetError::NoUsableKey) => "NoUsableKey".to_owned(),
        Err(JwkSetError::KeyIdTwice) => "KeyIdTwice".to_owned(),
        Err(_) => "bounds".to_owned(),
    }
}

fn is_public(set: &JwkSet, input: &[u8]) -> String {
    let again = JwkSet::parse(set.as_str()).unwrap();
    assert_eq!((&again, again.as_str()), (set, set.as_str()));
    let sent: Value = serde_json::from_slice(input).unwrap();
    let sent = sent["keys"].as_array().unwrap();
    let kept: Value = serde_json::from_str(set.as_str()).unwrap();
    let kept = kept["keys"].as_array().unwrap();
    assert!(!kept.is_empty() && kept.len() <= sent.len());
    let mut key_ids = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for key in kept {
        let members = key.as_object().unwrap();
        assert!(members.keys().all(|name| PUBLIC.contains(&name.as_str())), "{key}");
        // What is kept was sent; `alg` may be the other name of EdDSA.
        let is_as_sent =
            |sent: &Value| members.iter().all(|(name, value)| name == "alg" || sent.get(name) == Some(value));
        assert!(sent.iter().any(is_as_sent), "{key}");
        assert!(members.get("kid").is_none_or(|key_id| key_ids.insert(key_id.as_str().unwrap())), "{key}");
        kinds.insert(members["kty"].as_str().unwrap());
    }
    kinds.into_iter().collect::<Vec<_>>().join(" ")
}
