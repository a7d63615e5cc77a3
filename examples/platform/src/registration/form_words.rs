//! A registration form in words, alone or compared with the previous one.

use std::collections::BTreeSet;

use grantor::Config;
use grantor::client::CheckedForm;

use crate::words::{self, Resources, ScopeGroup};

/// A form as people read it.
#[derive(Clone, Debug)]
pub(crate) struct FormWords {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) website: String,
    pub(crate) client_type: &'static str,
    pub(crate) application_type: &'static str,
    pub(crate) authentication: Vec<String>,
    pub(crate) redirect_uris: Vec<String>,
    /// Where answers can go, as users see it.
    pub(crate) hosts: BTreeSet<String>,
    pub(crate) scopes: Vec<ScopeGroup>,
    pub(crate) resources: Resources,
    /// What else a reviewer of a change must see.
    more: Vec<String>,
}

impl FormWords {
    pub(crate) fn new(form: &CheckedForm, config: &Config) -> Self {
        let uris = &form.redirect_uris;
        let accepted = uris.iter().filter_map(|uri| uri.stand_in(&config.redirect_uris).ok());
        let hosts: BTreeSet<_> = accepted.map(|uri| uri.host().to_ascii_lowercase()).collect();
        Self {
            name: form.name.clone(),
            description: form.description.clone(),
            website: form.website.clone(),
            client_type: words::client_type(form.client_type),
            application_type: words::application_type(form),
            authentication: words::authentication(form),
            redirect_uris: uris.iter().map(|uri| uri.as_str().to_owned()).collect(),
            hosts,
            scopes: words::scope_groups(&config.scopes, &form.scopes),
            resources: words::resources(&form.resource_scope),
            more: more(form),
        }
    }

    fn rows(&self) -> [(&'static str, Vec<String>); 9] {
        let resources = std::iter::once(self.resources.summary.to_owned()).chain(self.resources.names.iter().cloned());
        [
            ("Name", vec![self.name.clone()]),
            ("Description", self.description.iter().cloned().collect()),
            ("Website", vec![self.website.clone()]),
            ("Type", vec![self.client_type.to_owned(), self.application_type.to_owned()]),
            ("Authentication", self.authentication.clone()),
            ("Redirect URIs", self.redirect_uris.clone()),
            ("Scopes", scope_lines(&self.scopes)),
            ("Resources", resources.collect()),
            ("Protocol", self.more.clone()),
        ]
    }
}

/// The grant types of a form, its signature algorithm, and what its requests and tokens must have.
fn more(form: &CheckedForm) -> Vec<String> {
    let mut more: Vec<_> = form.grant_types.iter().map(|own| format!("Grant type {}", own.as_str())).collect();
    more.extend(form.options.signing_algorithm.map(|own| format!("Signs with {}", own.as_str())));
    more.extend(form.options.requires_pushed_requests.then(|| "Requests must be pushed".to_owned()));
    more.extend(form.options.requires_dpop_bound_tokens.then(|| "Tokens must be bound to a key".to_owned()));
    more
}

/// Scopes as people read them, one a line.
pub(crate) fn scope_lines(groups: &[ScopeGroup]) -> Vec<String> {
    let lines = groups.iter().flat_map(|group| {
        let line = |scope: &words::ScopeWords| {
            format!("{}, {}: {} ({})", group.title, scope.title, scope.permission.to_lowercase(), scope.token)
        };
        group.scopes.iter().map(line)
    });
    lines.collect()
}

/// One field of a change, in force and proposed.
#[derive(Debug)]
pub(crate) struct Difference {
    pub(crate) label: &'static str,
    pub(crate) in_force: Vec<Line>,
    pub(crate) proposed: Vec<Line>,
}

impl Difference {
    /// Compares the lines of both sides.
    pub(crate) fn new(label: &'static str, in_force: &[String], proposed: &[String]) -> Self {
        let side = |own: &[String], other: &[String]| {
            let line = |text: &String| Line { text: text.clone(), is_only_here: !other.contains(text) };
            own.iter().map(line).collect()
        };
        Self { label, in_force: side(in_force, proposed), proposed: side(proposed, in_force) }
    }

    pub(crate) fn is_change(&self) -> bool {
        self.in_force.iter().chain(&self.proposed).any(|line| line.is_only_here)
    }
}

/// One line of one side.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) text: String,
    pub(crate) is_only_here: bool,
}

/// Compares two forms.
pub(crate) fn differences(in_force: &FormWords, proposed: &FormWords) -> Vec<Difference> {
    let pairs = in_force.rows().into_iter().zip(proposed.rows());
    pairs.map(|((label, old), (_, new))| Difference::new(label, &old, &new)).collect()
}
