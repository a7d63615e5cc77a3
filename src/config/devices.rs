//! The settings of devices without a browser [RFC 8628].

use std::time::Duration;

pub use crate::model::user_code::UserCodeFormat;
use crate::wire::Cors;

/// The settings of devices without a browser [RFC 8628].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceSettings {
    /// Whether devices may ask for access while their users decide in a browser elsewhere; off. The FAPI profile
    /// accepts only `false`.
    ///
    /// Each client must also be registered for [`GrantType::DeviceCode`](crate::client::GrantType::DeviceCode). It
    /// needs a [`derivation key`](crate::Config::refresh), a [`throttle`](crate::server::Builder::throttle) and a
    /// [`verification_uri`](Self::verification_uri).
    pub on: bool,
    /// The address of the page where users type the code that their device shows [RFC 8628 section 3.2]; empty. It must
    /// be an https URL without query, fragment and user. Keep it short, since people type it.
    ///
    /// An [interaction](crate::interaction) serves the page at the path of this URL, if the URL has a path, and the
    /// scheme, host and port of the issuer. Otherwise its page is at `{issuer}/oauth2/auth/device`: serve a page
    /// yourself, or redirect to that one.
    pub verification_uri: String,
    /// Whether devices also get the address with the code in it, for a QR code or a link [RFC 8628 section 3.3.1]; off.
    ///
    /// A link saves typing, also to an attacker who sends it to a user. The user must therefore confirm that the device
    /// shows the code.
    pub complete_uri: bool,
    /// How long both codes are valid; 600 s. 120 to 1800 s are accepted: RFC 8628 section 3.2 shows 1800 s, and a user
    /// needs some time to find the page and to sign in.
    pub lifetime: Duration,
    /// The pages that may ask for access and read the response, such as an application for televisions that is a web
    /// page; [`Off`](Cors::Off). Requests of all other pages are refused, so [`AnyOrigin`](Cors::AnyOrigin) is not
    /// accepted: any page could ask in the network of its visitor, whose consent page would then show that network.
    pub cors: Cors,
    /// Which characters a user code has; 8 letters, as in the example of RFC 8628 section 6.1.
    pub user_code: UserCodeFormat,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self {
            on: false,
            verification_uri: String::new(),
            complete_uri: false,
            lifetime: Duration::from_secs(600),
            cors: Cors::Off,
            user_code: UserCodeFormat::Letters(8),
        }
    }
}

impl DeviceSettings {
    /// How many seconds a device waits between two polls [RFC 8628 section 3.2].
    pub(crate) const INTERVAL: u32 = 5;
    /// How long before the end a user may no longer decide: two intervals, in which the device can still fetch its
    /// tokens.
    pub(crate) const LAST_DECISION: Duration = Duration::from_secs(10);
}
