//! When users are asked for consent, and which clients may do without.

/// When the users of a client are asked for consent.
///
/// [`Once`](Self::Once) and [`Never`](Self::Never) are for clients that a person approved or your service describes:
/// web applications, public ones too, whose redirect URIs are all `https` addresses with a domain name. PKCE and the
/// exact comparison of redirect URIs, which they need too, come with every profile but the platform's: that one asks
/// each time. [`MustAsk`] lists what a client lacks.
///
/// Even then, the page is shown if the request has a `prompt` other than `none`, if no user navigates to it, and beyond
/// the bounds on consent requests and grants.
///
/// # Security
///
/// Leave it at [`Always`](Self::Always) for a client that lets others register with *it*, such as a proxy or a gateway:
/// a program that registered there would get access without a click.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AskConsent {
    /// Each time.
    #[default]
    Always,
    /// Until the user has agreed. Later requests get a code without a page if a live grant of the user covers them: its
    /// scopes, resources and redirect URI, while the registration is unchanged. 180 days after the last page, the user
    /// is asked again.
    Once,
    /// Never: for your service's own applications.
    Never,
}

/// Why the users of a client must be asked for consent each time [RFC 8252 section 8.6].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MustAsk {
    /// The server has the platform profile, in which each code needs the user's consent.
    #[error("the platform profile asks users for consent each time: choose AskConsent::Always, or another profile")]
    PlatformProfile,
    /// The client registered itself or has a metadata document.
    #[error("users must be asked each time about a client that registered itself or has a metadata document")]
    SelfRegistered,
    /// The application runs on its user's device, where other programs can claim to be it, or on devices without a
    /// browser.
    #[error(
        "users must be asked each time about a native application or one of devices: only a web application may do without"
    )]
    Native,
    /// This redirect URI does not prove who gets the code.
    #[error("users must be asked each time because of the redirect URI {0}: https and a domain name would be accepted")]
    RedirectUri(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::ClientId;
    use crate::model::client::{ApplicationType, Client, ClientType};
    use crate::model::redirect_uri::RegisteredRedirectUri;

    #[test]
    fn every_redirect_uri_must_prove_who_gets_the_code() {
        let client = |uris: &[&str]| {
            let uris = uris.iter().map(|uri| RegisteredRedirectUri::from_record(uri));
            uris.fold(Client::builder(ClientId::new("id").unwrap()), |builder, uri| builder.redirect_uri(uri))
        };
        for good in
            ["https://app.example/cb", "HTTPS://app.example:8443", "https://xn--bcher-kva.example/", "https://a"]
        {
            assert_eq!(client(&[good]).build().check_identity(), Ok(()), "{good}");
            assert_eq!(client(&[good]).client_type(ClientType::Public).build().check_identity(), Ok(()), "{good}");
            let native = client(&[good]).application_type(ApplicationType::Native).build();
            assert_eq!(native.check_identity(), Err(MustAsk::Native));
        }
        for weak in [
            "http://127.0.0.1/cb",
            "http://localhost:3000/cb",
            "http://app.example/cb",
            "https://127.0.0.1/cb",
            "https://192.0.2.7:8443/cb",
            "https://[2001:db8::1]/cb",
            "https://localhost/cb",
            "https://LocalHost./cb",
            "https://app.localhost/cb",
            "com.example.app:/cb",
            "cursor://app.example/cb",
            "",
        ] {
            let refused = client(&["https://app.example/cb", weak]).build().check_identity();
            assert_eq!(refused, Err(MustAsk::RedirectUri(weak.to_owned())));
        }
    }
}
