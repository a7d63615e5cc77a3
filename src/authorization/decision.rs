//! What the user decided, and how much the user agrees to.

use crate::base::codec::kind;
use crate::base::entropy::Entropy;
use crate::base::field::{self, fields, variants};
use crate::model::GivenAnswer;
use crate::model::grant_data::GrantData;
use crate::secret::derive::CodeSeed;
use crate::secret::{Digest, MintedOpaque};
use crate::wire::params::Fields;

/// What the user decided.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// The user agrees to all or to a part.
    Approve(Consent),
    /// The user refuses.
    Deny,
}

impl Decision {
    /// Reads the submitted form of a consent page, and returns the ticket and the decision.
    ///
    /// The form has the fields `handle` and `decision` (`allow`; any other value denies), and a field `scope` or
    /// `resource` for each chosen box. For a device whose code came in a link, `device_shows_code` is `yes`. If
    /// `handle` or `decision` is missing, the returned ticket is empty, and
    /// [`AuthorizationServer::decide`](crate::AuthorizationServer::decide) refuses it as unknown.
    ///
    /// ```
    /// # use grantor::{Consent, Decision};
    /// let (ticket, decision) = Decision::from_form(b"handle=ah_1&decision=allow&scope=repo-code%3Ar");
    /// assert_eq!(ticket, "ah_1");
    /// assert_eq!(decision, Decision::Approve(Consent::chosen(["repo-code:r"], [])));
    /// ```
    #[must_use]
    pub fn from_form(body: &[u8]) -> (String, Self) {
        Self::from_fields(&Fields::read(body))
    }

    pub(crate) fn from_fields(fields: &Fields) -> (String, Self) {
        let Some(decision) = fields.all("decision").next() else { return (String::new(), Self::Deny) };
        let chosen = Consent::chosen(fields.all("scope"), fields.all("resource"));
        let device_shows_code = fields.first("device_shows_code") == "yes";
        let approval = Self::Approve(Consent { device_shows_code, ..chosen });
        (fields.first("handle").to_owned(), if decision == "allow" { approval } else { Self::Deny })
    }
}

// An answer that is sent again is compared by the digest of these fields.
variants! { Decision { 0 => Approve(consent), 1 => Deny } }
fields! { Consent { scopes, resources, device_shows_code } }

/// A decision with what was sent beside it.
#[derive(Clone, Copy)]
pub(crate) struct Submitted<'a> {
    /// The ticket of the page, or the secret in its place.
    pub(crate) ticket: &'a str,
    pub(crate) session: &'a [u8],
    pub(crate) decision: &'a Decision,
    /// What the service keeps with the grant.
    pub(crate) data: Option<&'a GrantData>,
    pub(crate) basis: Basis,
}

impl Submitted<'_> {
    /// Returns what is kept of the answer.
    pub(crate) fn given(&self, entropy: &dyn Entropy) -> GivenAnswer {
        GivenAnswer { decision: self.digest(), seed: CodeSeed::random(entropy), repeated: None }
    }

    /// Returns a digest of the decision. One without a page differs from the same one on a page, since its code derives
    /// from another secret.
    pub(crate) fn digest(&self) -> Digest {
        let mut decision = field::encode(kind::AUTHORIZATION, self.decision);
        decision.extend((self.basis == Basis::NoPage).then_some(0));
        Digest::of(&decision)
    }

    /// Returns the code that these bytes lead to.
    pub(crate) fn code(&self, seed: &CodeSeed) -> MintedOpaque {
        seed.code(self.ticket.as_bytes(), self.session)
    }
}

/// Why a request is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// The user answered a page.
    Page,
    /// An earlier consent stands in for the answer, or the client needs none.
    NoPage,
}

/// How much the user agrees to: by default, all that was asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consent {
    pub(crate) scopes: Option<Vec<String>>,
    pub(crate) resources: Option<Vec<String>>,
    /// Whether the user says that the device shows the code.
    pub(crate) device_shows_code: bool,
}

impl Consent {
    /// Agrees to the boxes that the user checked, and to nothing else.
    ///
    /// `resources` counts only if the application asked for specified ones, so it can always be passed as received. In
    /// that case, an empty list of resources means a refusal. An empty list of scopes always does.
    ///
    /// ```
    /// # use grantor::Consent;
    /// let account_alone = Consent::chosen(["account-profile:r"], []);
    /// let form: Vec<String> = vec!["repo-code:r".into()];
    /// let from_a_form = Consent::chosen(form.iter().map(String::as_str), []);
    /// ```
    #[must_use]
    pub fn chosen<'s, 'r>(
        scopes: impl IntoIterator<Item = &'s str>,
        resources: impl IntoIterator<Item = &'r str>,
    ) -> Self {
        Self::to_everything().scopes(scopes).resources(resources)
    }

    /// Agrees to all that was asked.
    #[must_use]
    pub fn to_everything() -> Self {
        Self::default()
    }

    /// Agrees only to these scopes, given as the tokens of the form. An empty list means a refusal.
    #[must_use]
    pub fn scopes<'s>(mut self, tokens: impl IntoIterator<Item = &'s str>) -> Self {
        self.scopes = Some(tokens.into_iter().map(Into::into).collect());
        self
    }

    /// Agrees only to these of the resources that the application specified. An empty list means a refusal.
    ///
    /// If the application did not ask for specified resources, an empty list changes nothing. If it asked for all
    /// resources, any may be named, up to 256 bytes in total, counting 4 extra bytes for each.
    #[must_use]
    pub fn resources<'r>(mut self, resources: impl IntoIterator<Item = &'r str>) -> Self {
        self.resources = Some(resources.into_iter().map(Into::into).collect());
        self
    }

    /// Says that the user compared the code of the page with the one that the device shows. A device whose code came in
    /// a link is approved only with this [RFC 8628 section 5.4].
    #[must_use]
    pub fn device_shows_code(mut self) -> Self {
        self.device_shows_code = true;
        self
    }
}
