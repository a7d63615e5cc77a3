//! What a user sees: the pages, and the flow between them, for every web framework.
//!
//! You say who is signed in and where users sign in. A [`Flow`] does the rest: it answers the authorization endpoint,
//! shows the consent page, takes the decision, and lists and revokes what a user has authorized. The adapters mount it
//! in one call. The package `grantor-pages` draws the pages; your own pages are another [`Pages`].
//!
//! A flow of your own needs none of this: see [`writing_an_adapter`](crate::guide::writing_an_adapter).

mod applications;
mod browser;
mod consent_form;
mod device;
mod flow;
mod page;
mod preview;
mod return_to;

pub use self::browser::Browser;
pub use self::consent_form::ConsentProblem;
pub use self::flow::{Flow, Step, Visitor};
pub use self::page::{
    ApplicationsPage, ConnectedApplication, ConsentPage, DeviceOutcome, DevicePage, ErrorLink, ErrorPage, Reviewed,
    UserCodeProblem,
};
pub use self::return_to::ReturnTo;
pub use crate::authorization::signed_in::SignedIn;
pub use crate::model::sign_in::SignIn;
pub use crate::wire::page::ErrorKind;
use crate::wire::page::missing_device_page;
pub use return_to::Route;

/// Draws the pages of a [`Flow`].
///
/// Each method returns a whole HTML document. It must escape every text of the page: names, websites and descriptions
/// come from applications.
pub trait Pages: Send + Sync + 'static {
    /// Asks the user for a decision. [`ConsentPage`] lists the fields of the form.
    fn consent(&self, page: &ConsentPage<'_>) -> String;

    /// Asks for the code that a device shows, or shows what the user decided [RFC 8628 section 3.3]. [`DevicePage`]
    /// lists the fields of the form.
    ///
    /// It is needed only with [`Config::devices.on`](crate::Config::devices), which also adds
    /// [`device`](ConsentPage::device) to consent pages. By default it says that it is missing.
    fn device(&self, page: &DevicePage<'_>) -> String {
        let _ = page;
        missing_device_page()
    }

    /// Explains an error.
    fn error(&self, page: &ErrorPage<'_>) -> String;

    /// Lists the applications that the user has authorized, each with a form that revokes it.
    fn applications(&self, page: &ApplicationsPage<'_>) -> String;

    /// Returns what the pages load, as directives of a Content-Security-Policy; by default style sheets and images of
    /// this service.
    ///
    /// The flow adds `default-src 'none'`, so that scripts, fonts and frames are refused unless a directive allows
    /// them. It sets `form-action`, `frame-ancestors` and `base-uri` itself, before these. Characters that a header
    /// cannot have are left out.
    fn sources(&self) -> &str {
        "style-src 'self'; img-src 'self'"
    }
}
