//! The user who is signed in, as your service says.

use crate::base::id::Subject;
use crate::model::grant_data::GrantData;
use crate::model::sign_in::SignIn;

/// The user who is signed in to your service in this browser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    subject: Subject,
    name: Option<String>,
    data: Option<GrantData>,
    sign_in: Option<SignIn>,
    has_several_accounts: bool,
}

impl SignedIn {
    /// Creates a signed-in user by the subject, to which the grants will belong.
    #[must_use]
    pub const fn new(subject: Subject) -> Self {
        Self { subject, name: None, data: None, sign_in: None, has_several_accounts: false }
    }

    /// Sets the name by which users know the account, such as an e-mail address. The pages show it, so that a user with
    /// several accounts sees which one is meant. By default it is the subject.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what your service keeps with the grant that this user gives, such as the tenant of the session. What counts
    /// is the sign-in with which the user decides, and not the one with which the page was shown. A consent that
    /// [`AskConsent::Once`](crate::client::AskConsent::Once) remembers holds for other data too.
    #[must_use]
    pub fn data(mut self, data: GrantData) -> Self {
        self.data = Some(data);
        self
    }

    /// Sets when and how the user signed in. What counts is what was true when the page was shown. A request of OpenID
    /// Connect passes it on to the client.
    #[must_use]
    pub fn sign_in(mut self, sign_in: SignIn) -> Self {
        self.sign_in = Some(sign_in);
        self
    }

    /// Says that the user is signed in with several accounts, of which one must be chosen. A request that permits no
    /// page is then refused with `account_selection_required` [OpenID Connect Core section 3.1.2.6].
    #[must_use]
    pub fn with_several_accounts(mut self) -> Self {
        self.has_several_accounts = true;
        self
    }

    /// Returns your service's name for the user.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns the name that the pages show.
    #[must_use]
    pub fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or_else(|| self.subject.as_str())
    }
}

/// The user who is asked or decides: a [`SignedIn`], or a [`Subject`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecidingUser<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) data: Option<&'a GrantData>,
    pub(crate) sign_in: Option<&'a SignIn>,
    pub(crate) has_several_accounts: bool,
}

impl<'a> From<&'a SignedIn> for DecidingUser<'a> {
    fn from(user: &'a SignedIn) -> Self {
        let SignedIn { subject, data, sign_in, has_several_accounts, .. } = user;
        let has_several_accounts = *has_several_accounts;
        Self { subject, data: data.as_ref(), sign_in: sign_in.as_ref(), has_several_accounts }
    }
}

impl<'a> From<&'a Subject> for DecidingUser<'a> {
    fn from(subject: &'a Subject) -> Self {
        Self { subject, data: None, sign_in: None, has_several_accounts: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_without_a_name_is_shown_by_the_subject() {
        let alice = SignedIn::new(Subject::new("user-1").unwrap());
        assert_eq!(alice.shown_name(), "user-1");
        assert_eq!(alice.name("alice@example.com").shown_name(), "alice@example.com");
    }
}
