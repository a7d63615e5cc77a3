//! How a URL library reads a value, as browsers do.

use url::Url;

use crate::client::redirect_uri::{error::RedirectUriError, web::WebUri};

/// Refuses a value that the URL library reads differently.
pub(crate) fn confirm(text: &str, uri: &WebUri<&str>) -> Result<(), RedirectUriError> {
    let opinion = parse(text)?;
    let agrees = opinion.scheme() == uri.scheme.as_str()
        && opinion.host_str().is_some_and(|host| host.eq_ignore_ascii_case(uri.host))
        && opinion.port_or_known_default() == Some(uri.port);
    if !agrees {
        return Err(RedirectUriError::SecondOpinion);
    }
    Ok(())
}

/// Refuses a private-use value in which the URL library finds a host or another scheme.
pub(crate) fn confirm_private_use(text: &str, scheme: &str) -> Result<(), RedirectUriError> {
    let opinion = parse(text)?;
    if opinion.has_host() || !opinion.scheme().eq_ignore_ascii_case(scheme) {
        return Err(RedirectUriError::SecondOpinion);
    }
    Ok(())
}

fn parse(text: &str) -> Result<Url, RedirectUriError> {
    let url = Url::parse(text).map_err(|_| RedirectUriError::SecondOpinion)?;
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err(RedirectUriError::SecondOpinion);
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use crate::client::redirect_uri::{
        error::RedirectUriError,
        second_opinion::{confirm, confirm_private_use},
        web::{WebScheme, WebUri},
    };

    #[test]
    fn every_difference_refuses() {
        let uri = WebUri {
            scheme: WebScheme::Https,
            scheme_text: "https",
            host: "a.example",
            port: 443,
            path_and_query: "/",
        };
        assert_eq!(confirm("https://a.example/", &uri), Ok(()));
        for text in [
            "http://a.example:443/",
            "https://b.example/",
            "https://a.example:444/",
            "https://u@a.example/",
            "https://:p@a.example/",
            "https://a.example/#",
            "https://a.example:x/",
            "/",
        ] {
            assert_eq!(confirm(text, &uri), Err(RedirectUriError::SecondOpinion), "{text}");
        }
    }

    #[test]
    fn a_private_use_value_has_no_host() {
        assert_eq!(confirm_private_use("com.example.app:/cb", "com.example.app"), Ok(()));
        for text in ["com.example.app://cb", "com.example.other:/cb", "cb"] {
            let opinion = confirm_private_use(text, "com.example.app");
            assert_eq!(opinion, Err(RedirectUriError::SecondOpinion), "{text}");
        }
    }
}
