//! The responses to requests that begin an authorization without the browser: a pushed request [RFC 9126 section 2] and
//! that of a device [RFC 8628 section 3].

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::wire::message::form::{Redacted, required};

/// The response to a pushed request [RFC 9126 section 2.2].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PushedAuthorizationResponse {
    /// The `request_uri`, which represents the request at the authorization endpoint.
    #[serde(with = "required")]
    pub request_uri: String,
    /// Seconds until it expires.
    pub expires_in: u32,
}

impl fmt::Debug for PushedAuthorizationResponse {
    /// Leaves out the `request_uri`, since anyone who has it can open the request in a browser.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushedAuthorizationResponse")
            .field("request_uri", &Redacted)
            .field("expires_in", &self.expires_in)
            .finish()
    }
}

/// The response to a device authorization request [RFC 8628 section 3.2].
///
/// `Debug` shows neither code.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DeviceAuthorizationResponse {
    /// What the device polls the token endpoint with.
    pub device_code: String,
    /// What the device shows, and the user types.
    pub user_code: String,
    /// The address of the page where the user types it.
    pub verification_uri: String,
    /// The address with the code in it, for a QR code; left out if the server does not offer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification_uri_complete: Option<String>,
    /// How many seconds both codes are valid.
    pub expires_in: u32,
    /// How many seconds the device waits between two polls; 5 if left out.
    #[serde(default = "default_interval")]
    pub interval: u32,
}

const fn default_interval() -> u32 {
    5
}

impl fmt::Debug for DeviceAuthorizationResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceAuthorizationResponse")
            .field("verification_uri", &self.verification_uri)
            .field("expires_in", &self.expires_in)
            .field("interval", &self.interval)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_response_to_a_push_comes_back() {
        let json = r#"{"request_uri":"urn:ietf:params:oauth:request_uri:abc","expires_in":60}"#;
        let answer: PushedAuthorizationResponse = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&answer).unwrap(), json);
        assert!(!format!("{answer:?}").contains("abc"));
        assert!(serde_json::from_str::<PushedAuthorizationResponse>(r#"{"request_uri":"","expires_in":60}"#).is_err());
    }

    #[test]
    fn the_example_of_the_rfc_is_read_and_debug_shows_no_code() {
        let json = r#"{"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
            "verification_uri":"https://example.com/device",
            "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT",
            "expires_in":1800,"interval":5}"#;
        let answer: DeviceAuthorizationResponse = serde_json::from_str(json).unwrap();
        assert_eq!((answer.user_code.as_str(), answer.interval), ("WDJB-MJHT", 5));
        let shown = format!("{answer:?}");
        assert!(!shown.contains("WDJB") && !shown.contains("GmRh"), "{shown}");
        let bare = r#"{"device_code":"d","user_code":"u","verification_uri":"https://a.example","expires_in":60}"#;
        let answer: DeviceAuthorizationResponse = serde_json::from_str(bare).unwrap();
        assert_eq!((answer.interval, answer.verification_uri_complete.clone()), (5, None));
        assert!(!serde_json::to_string(&answer).unwrap().contains("complete"));
    }
}
