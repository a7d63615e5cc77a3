//! A valid form can be shown to a user, and reads back the same.
//!
//! An input has one line each for the name, the website, the redirect URIs separated by blanks, the scopes, and the
//! resources separated by blanks. The rest is the description.

use grantor::ApplicationForm;
use grantor::application::LookAlikeKey;
use grantor::application::RegistrationLimits;
use grantor::redirect_uri::RedirectUriPolicy;
use grantor::scope::{ResourceScope, ScopeCatalog};
use url::Url;

use super::redirect_uri::{leads_nowhere, place};

pub(super) fn check(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.splitn(6, '\n');
    let mut next = || lines.next().unwrap_or_default();
    let (name, website, redirect_uris, scopes, resources) = (next(), next(), next(), next(), next());
    let mut form = ApplicationForm::new(name, website);
    form.redirect_uris = redirect_uris.split(' ').filter(|uri| !uri.is_empty()).map(str::to_owned).collect();
    form.scopes = scopes.to_owned();
    form.resource_scope = match resources {
        "" => None,
        "all" => Some(ResourceScope::All),
        list => ResourceScope::specified(list.split(' ')).ok(),
    };
    form.description = Some(next().to_owned());

    let (limits, catalog) = (RegistrationLimits::default(), ScopeCatalog::platform());
    let checked = match form.check(&limits, &catalog, &RedirectUriPolicy::default()) {
        Ok(checked) => checked,
        Err(errors) => {
            let fields: Vec<_> = errors.iter().map(|error| error.field().as_str()).collect();
            assert!(!fields.is_empty() && errors.iter().all(|error| !error.to_string().is_empty()));
            return fields.join(", ");
        }
    };
    assert!(checked.name.chars().count() <= 50 && !checked.name.trim().is_empty());
    assert!(checked.description.as_ref().is_none_or(|text| text.chars().count() <= 350 && !text.contains('\r')));
    assert!(checked.website.chars().count() <= 128);
    for text in [&*checked.name, &*checked.website] {
        assert!(!text.chars().any(|own| own.is_control() || matches!(own, '\u{202a}'..='\u{202e}')), "{text:?}");
    }
    let hidden = |own: char| matches!(own, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{feff}');
    assert!(!checked.name.contains(hidden) && !checked.website.contains(hidden), "{:?}", checked.name);
    assert!(LookAlikeKey::of(&checked.name).eq(LookAlikeKey::of(&format!("{} ", checked.name))));
    if !leads_nowhere(&checked.website) {
        let website = Url::parse(&checked.website).unwrap();
        assert!(matches!(website.scheme(), "http" | "https") && website.username().is_empty(), "{website}");
        let host = website.host_str().unwrap();
        assert!(checked.website.to_ascii_lowercase().contains(host), "{website} has its host as it is written");
    }
    let is_address = |uri: &str| place(uri).is_ok() || leads_nowhere(uri);
    assert!(checked.redirect_uris.iter().all(|uri| is_address(uri.as_str())) && !checked.scopes.is_empty());

    let again = checked.to_form(&catalog).check(&limits, &catalog, &RedirectUriPolicy::default());
    assert_eq!(again, Ok(checked));
    "sound".to_owned()
}
