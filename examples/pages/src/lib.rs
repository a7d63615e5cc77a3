#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod applications;
mod colour;
mod consent;
mod device;
mod error;
mod language;
mod sentence;
mod sign_in;
mod texts;

pub use crate::colour::AccentError;
pub use crate::sign_in::SignInPage;
pub use crate::texts::Texts;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::Client;
use grantor::authorization::RequestedScope;
use grantor::client::ClientState;
use grantor::interaction::{ApplicationsPage, ConsentPage, DevicePage, ErrorPage, Reviewed};
use grantor::scope::{Permission, ResourceScope};
use sha2::{Digest, Sha256};

/// The pages of one service.
///
/// Pass it to the interaction of your adapter, or to a [`Flow`](grantor::interaction::Flow).
///
/// ```
/// # fn main() -> Result<(), grantor_pages::AccentError> {
/// let pages = grantor_pages::Pages::new("Notes").accent("#0b6e4f")?.logo("/logo.svg");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Pages {
    brand: Brand,
    languages: Vec<Texts>,
    sources: String,
}

/// How the pages show the service.
#[derive(Clone, Debug)]
struct Brand {
    name: String,
    initial: String,
    /// The address of the logo.
    logo: Option<String>,
    /// The address of the start page.
    home: Option<String>,
    style: String,
}

const ACCENT: &str = "#2456c7";

impl Pages {
    /// Creates the pages of a service with that name, in English and German.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let brand = Brand { initial: initial(&name), name, logo: None, home: None, style: String::new() };
        let pages = Self { brand, languages: vec![Texts::ENGLISH, Texts::GERMAN], sources: String::new() };
        pages.styled(&colour::properties(ACCENT).unwrap_or_default())
    }

    /// Sets the colour of buttons and links, as `#` and six hexadecimal digits. It is darkened in the light theme and
    /// lightened in the dark one, as far as readers need the contrast [WCAG 2.2 section 1.4.3].
    ///
    /// # Errors
    ///
    /// [`AccentError`] if the text is not such a colour.
    pub fn accent(self, colour: &str) -> Result<Self, AccentError> {
        Ok(self.styled(&colour::properties(colour)?))
    }

    /// Sets the address of your logo. It must be at this service, such as `/logo.svg`, since the pages load nothing
    /// from elsewhere. It is the icon of the pages too. By default the pages show the first letter of the name.
    #[must_use]
    pub fn logo(mut self, address: impl Into<String>) -> Self {
        self.brand.logo = Some(address.into());
        self
    }

    /// Sets the address of your start page, such as `/`. The list of authorized applications links to it, and so do the
    /// error page and the page after a device was allowed or denied. By default they have no link.
    #[must_use]
    pub fn home(mut self, address: impl Into<String>) -> Self {
        self.brand.home = Some(address.into());
        self
    }

    /// Sets the languages, the default one first. Without any, the pages are in English and German.
    #[must_use]
    pub fn languages(mut self, languages: impl IntoIterator<Item = Texts>) -> Self {
        self.languages = languages.into_iter().collect();
        self
    }

    /// Returns the sign-in page, a whole HTML document. Your service checks the password: the guide "Sign-in and
    /// sessions" has the handlers.
    ///
    /// Send it with `page` of your adapter, which adds the [headers](grantor::wire::protective_headers) that keep it
    /// out of frames, caches and referrers. The document itself contains the Content-Security-Policy that forbids
    /// scripts and everything from elsewhere.
    ///
    /// ```
    /// use grantor::interaction::ReturnTo;
    /// use grantor_pages::{Pages, SignInPage};
    ///
    /// let return_to = ReturnTo::parse("/oauth2/auth?client_id=1")?;
    /// let html = Pages::new("Notes").sign_in(&SignInPage::new("/sign-in", &return_to).languages("de, en;q=0.5"));
    /// assert!(html.contains("<button>Anmelden</button>"));
    /// # Ok::<(), grantor::error::ValueError>(())
    /// ```
    #[must_use]
    pub fn sign_in(&self, page: &SignInPage<'_>) -> String {
        sign_in::render(&self.brand, self.texts(page.languages), &self.sources, page)
    }

    /// The style sheet is in the page, and the policy names its digest. A page then needs no second request.
    fn styled(mut self, properties: &str) -> Self {
        self.brand.style = format!("{STYLE}{properties}");
        let digest = STANDARD.encode(Sha256::digest(&self.brand.style));
        self.sources = format!("style-src 'sha256-{digest}'; img-src 'self'");
        self
    }

    fn texts(&self, languages: &str) -> &Texts {
        language::choose(&self.languages, languages)
    }
}

impl grantor::interaction::Pages for Pages {
    fn consent(&self, page: &ConsentPage<'_>) -> String {
        consent::render(&self.brand, self.texts(page.languages), page)
    }

    fn device(&self, page: &DevicePage<'_>) -> String {
        device::render(&self.brand, self.texts(page.languages), page)
    }

    fn error(&self, page: &ErrorPage<'_>) -> String {
        error::render(&self.brand, self.texts(page.languages), page)
    }

    fn applications(&self, page: &ApplicationsPage<'_>) -> String {
        applications::render(&self.brand, self.texts(page.languages), page)
    }

    fn sources(&self) -> &str {
        &self.sources
    }
}

const STYLE: &str = include_str!("style.css");

fn initial(name: &str) -> String {
    name.chars().next().map_or_else(String::new, |first| first.to_uppercase().collect())
}

/// The picture of a client.
#[derive(Clone, Debug)]
enum Mark {
    Logo(String),
    Initial(String),
    /// Of a client that no person has reviewed, or that was removed.
    Unknown,
}

impl Mark {
    fn of(client: &Client, reviewed: Option<&Reviewed>) -> Self {
        match reviewed {
            Some(Reviewed { logo: Some(logo), .. }) => Self::Logo(logo.clone()),
            Some(_) if client.state() != ClientState::Deleted => Self::Initial(initial(&client.form().name)),
            _ => Self::Unknown,
        }
    }
}

/// What a client may do with a scope, in the language of the page.
fn verbs(texts: &Texts, scope: &RequestedScope<'_>) -> String {
    let (definition, permission) = (scope.definition(), scope.permission());
    if let Some(verbs) = (texts.verbs)(definition.name(), permission) {
        return verbs.to_owned();
    }
    if let Some(verbs) = definition.verbs(permission) {
        return verbs.to_owned();
    }
    let text = match permission {
        Some(Permission::Read) => texts.read,
        Some(Permission::ReadWrite) => texts.read_and_change,
        None => "{title}",
    };
    sentence::Sentence::new(text, &[("title", definition.title())]).plain()
}

/// The line that says on which resources; `None` if they are listed.
fn whereabouts(texts: &Texts, resources: &ResourceScope) -> Option<&'static str> {
    match resources {
        ResourceScope::All => Some(texts.all_resources),
        ResourceScope::Public => Some(texts.public_resources),
        ResourceScope::Specified(_) => None,
    }
}

#[cfg(test)]
mod tests;
