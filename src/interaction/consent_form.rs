//! What the form of the consent page sent.

use crate::authorization::decide::{Consent, Decision};
use crate::interaction::return_to::ReturnTo;
use crate::wire::params::Fields;

/// Why an answer had no effect: the user chose nothing that could be allowed. This is not a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConsentProblem {
    /// No scope is chosen.
    NoScope,
    /// No resource is chosen, although the page lists resources.
    NoResource,
    /// The code of a device came in a link, and the user does not say that the device shows it.
    CodeNotCompared,
}

/// The fields of the form.
#[derive(Clone, Debug)]
pub(super) struct ConsentForm {
    pub(super) ticket: String,
    pub(super) decision: Decision,
    /// The address of the request. Only one at the authorization endpoint is kept, since the form may have been
    /// altered.
    pub(super) return_to: Option<ReturnTo>,
    lists_resources: bool,
    /// The code of a device, and whether it came in a link.
    pub(super) device: Option<TypedCode>,
    /// Whether the user wants to change to another account, so that the code of the device is given back.
    pub(super) switches: bool,
}

/// The code of a device, as the form repeats it.
#[derive(Clone, Debug)]
pub(super) struct TypedCode {
    pub(super) code: String,
    pub(super) in_link: bool,
}

impl TypedCode {
    pub(super) fn of(fields: &Fields) -> Self {
        Self { code: fields.first("user_code").to_owned(), in_link: fields.first("in_link") == "yes" }
    }
}

impl ConsentForm {
    /// Reads a form; `None` if it has no ticket or no decision.
    pub(super) fn read(body: &[u8], authorization_path: &str) -> Option<Self> {
        let fields = Fields::read(body);
        let (ticket, decision) = Decision::from_fields(&fields);
        let return_to = ReturnTo::parse(fields.first("return_to")).ok();
        let return_to = return_to.filter(|return_to| return_to.query_at(authorization_path).is_some());
        let lists_resources = fields.first("lists") == "resources";
        let device = Some(TypedCode::of(&fields)).filter(|typed| !typed.code.is_empty());
        let switches = fields.first("decision") == "switch";
        (!ticket.is_empty()).then_some(Self { ticket, decision, return_to, lists_resources, device, switches })
    }

    /// Returns what the user chose, unless the answer is to deny.
    pub(super) const fn consent(&self) -> Option<&Consent> {
        match &self.decision {
            Decision::Approve(consent) => Some(consent),
            Decision::Deny => None,
        }
    }

    /// Returns what is missing, if the answer is to allow and does not say what.
    pub(super) fn problem(&self) -> Option<ConsentProblem> {
        let is_empty = |list: &Option<Vec<String>>| list.as_ref().is_none_or(Vec::is_empty);
        let consent = self.consent()?;
        if is_empty(&consent.scopes) {
            return Some(ConsentProblem::NoScope);
        }
        if self.lists_resources && is_empty(&consent.resources) {
            return Some(ConsentProblem::NoResource);
        }
        let is_uncompared = self.device.as_ref().is_some_and(|typed| typed.in_link) && !consent.device_shows_code;
        is_uncompared.then_some(ConsentProblem::CodeNotCompared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Option<ConsentForm> {
        ConsentForm::read(body.as_bytes(), "/oauth2/auth")
    }

    #[test]
    fn an_answer_that_allows_nothing_is_a_problem_and_not_a_denial() {
        for (fields, problem) in [
            ("decision=allow", Some(ConsentProblem::NoScope)),
            ("decision=allow&resource=a", Some(ConsentProblem::NoScope)),
            ("decision=allow&scope=a", None),
            ("decision=allow&scope=a&lists=resources", Some(ConsentProblem::NoResource)),
            ("decision=allow&scope=a&lists=resources&resource=b", None),
            ("decision=deny", None),
            ("decision=deny&lists=resources", None),
            ("decision=other", None),
            ("decision=allow&scope=a&user_code=B", None),
            ("decision=allow&scope=a&user_code=B&in_link=yes", Some(ConsentProblem::CodeNotCompared)),
            ("decision=allow&scope=a&user_code=B&in_link=yes&device_shows_code=yes", None),
            ("decision=deny&user_code=B&in_link=yes", None),
            ("decision=switch&user_code=B&in_link=yes", None),
        ] {
            assert_eq!(read(&format!("handle=t&{fields}")).unwrap().problem(), problem, "{fields}");
        }
    }

    #[test]
    fn a_form_without_ticket_or_decision_is_none() {
        for body in ["", "handle=t", "decision=allow", "handle=&decision=allow"] {
            assert!(read(body).is_none(), "{body}");
        }
    }

    #[test]
    fn a_form_leads_only_back_to_its_request() {
        let return_to = |path| read(&format!("handle=t&decision=deny&return_to={path}")).unwrap().return_to;
        assert_eq!(return_to("%2Foauth2%2Fauth%3Fa%3Db").unwrap().as_str(), "/oauth2/auth?a=b");
        for other in
            ["", "%2F", "%2Fsign-out%3Fa", "%2Foauth2%2Fauth", "%2F%2Fevil.example%3F", "%2Foauth2%2Fauthx%3Fa"]
        {
            assert_eq!(return_to(other), None, "{other}");
        }
    }
}
