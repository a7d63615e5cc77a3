//! The consent page.

use askama::Template;
use grantor::PendingAuthorization;
use grantor::authorization::AskingDevice;
use grantor::interaction::{ConsentPage, ConsentProblem};
use grantor::redirect_uri::RedirectUri;
use grantor::scope::ResourceScope;

use crate::sentence::{Part, Sentence};
use crate::texts::Texts;
use crate::{Brand, Mark, verbs, whereabouts};

#[derive(Template)]
#[template(path = "consent.html")]
struct Consent<'a> {
    brand: &'a Brand,
    texts: &'a Texts,
    title: Sentence<'a>,
    mark: Mark,
    publisher: Option<Sentence<'a>>,
    description: Option<Sentence<'a>>,
    device: Option<Device<'a>>,
    unreviewed: Option<Unreviewed<'a>>,
    signed_in: Sentence<'a>,
    switch_account: Option<&'a str>,
    warning: Option<&'a str>,
    is_warning_for_developer: bool,
    action: &'a str,
    handle: &'a str,
    /// `None` if a device asks.
    return_to: Option<&'a str>,
    problem: Option<&'a str>,
    /// Whether the problem is the box that says that the device shows the code.
    is_code_problem: bool,
    allows: Sentence<'a>,
    scopes: Vec<Choice>,
    /// Whether there are scopes to choose from.
    is_choice: bool,
    where_: Option<&'static str>,
    resources: Vec<Choice>,
    apis: Vec<(&'a str, &'a str)>,
    goes_to: Sentence<'a>,
}

/// A box of the form.
struct Choice {
    value: String,
    text: String,
    is_chosen: bool,
    /// Whether there is no box: the user agrees to it with the rest.
    is_fixed: bool,
}

/// The device that asks: what the user can compare [RFC 8628 section 5.4].
struct Device<'a> {
    user_code: &'a str,
    facts: Vec<Sentence<'a>>,
    /// The text of the box that the user must check if the code came in a link.
    shows_code: Option<Sentence<'a>>,
}

/// What is known about a client that no person has reviewed. Several owners may share a host by path, so the page shows
/// the whole id.
struct Unreviewed<'a> {
    introduction: Sentence<'a>,
    document: Option<(Sentence<'a>, &'a str)>,
    /// `None` if a device asks: no browser goes to it.
    answer_goes_to: Option<Sentence<'a>>,
    name: Sentence<'a>,
    looks_like_another: bool,
    first_seen: Sentence<'a>,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, page: &ConsentPage<'_>) -> String {
    let pending = page.pending;
    let client = pending.client();
    let open = client.open().filter(|_| page.reviewed.is_none());
    // Hyphens that no line ends at.
    let day = open.map(|open| open.registered.to_string().replace('-', "\u{2011}"));
    let day = day.as_deref().and_then(|time| time.split('T').next()).unwrap_or_default();
    let name = if page.reviewed.is_some() { client.form().name.as_str() } else { texts.this_application };
    let title = match (page.device, page.reviewed) {
        (None, Some(_)) => texts.consent_title,
        (None, None) => texts.unreviewed_title,
        (Some(_), Some(_)) => texts.device_title,
        (Some(_), None) => texts.unreviewed_device_title,
    };
    let ago = page.device.map(|device| (texts.ago)(device.age())).unwrap_or_default();
    let network = page.device.and_then(AskingDevice::network).map(|network| network.to_string());
    let has_permissions = pending.requested().any(|scope| scope.permission().is_some());
    let scopes: Vec<_> = pending
        .requested()
        .map(|scope| Choice {
            value: scope.token().to_owned(),
            text: verbs(texts, &scope),
            is_chosen: page.is_scope_chosen(&scope),
            is_fixed: scope.is_fixed(),
        })
        .collect();
    let resources = match pending.resource_scope() {
        ResourceScope::Specified(list) => list.iter().map(|name| resource(page, name)).collect(),
        ResourceScope::All | ResourceScope::Public => Vec::new(),
    };
    let publisher = page.reviewed.and_then(|reviewed| reviewed.publisher.as_deref());
    let description = page.reviewed.and_then(|reviewed| reviewed.description.as_deref());
    let consent = Consent {
        brand,
        texts,
        title: Sentence::new(title, &[("client", name), ("service", &brand.name)]),
        mark: Mark::of(client, page.reviewed),
        publisher: publisher.map(|name| Sentence::new(texts.publisher, &[("publisher", name)])),
        description: description.map(|text| Sentence::new(texts.description, &[("description", text)])),
        device: page.device.map(|asking| device(texts, asking, &ago, network.as_deref())),
        unreviewed: open.map(|open| Unreviewed {
            introduction: Sentence::new(texts.unreviewed, &[("service", &brand.name)]),
            document: pending
                .client_id_host()
                .map(|host| (Sentence::new(texts.described_at, &[("host", host)]), client.id().as_str())),
            answer_goes_to: (!pending.is_for_device())
                .then(|| Sentence::new(texts.answer_goes_to, &[("host", pending.redirect_host())])),
            name: match client.form().name.as_str() {
                "" => Sentence::new(texts.no_name, &[]),
                name => Sentence::new(texts.calls_itself, &[("name", name)]),
            },
            looks_like_another: open.looks_like_another,
            first_seen: Sentence::new(texts.first_seen, &[("date", day)]),
        }),
        signed_in: Sentence::new(texts.signed_in, &[("user", page.user.shown_name())]),
        switch_account: page.switch_account,
        warning: warning(texts, pending),
        is_warning_for_developer: page.is_in_development
            && page.reviewed.is_some()
            && pending.redirect_uri().is_some_and(RedirectUri::is_loopback),
        action: page.action,
        handle: page.ticket.expose(),
        return_to: page.device.is_none().then(|| page.return_to.as_str()),
        problem: page.problem.map(|problem| match problem {
            ConsentProblem::NoResource => texts.no_resource_chosen,
            ConsentProblem::CodeNotCompared => texts.code_not_compared,
            _ => texts.no_scope_chosen,
        }),
        is_code_problem: page.problem == Some(ConsentProblem::CodeNotCompared),
        allows: Sentence::new(texts.allows, &[("client", name)]),
        is_choice: scopes.len() > 1,
        scopes,
        where_: whereabouts(texts, pending.resource_scope()).filter(|_| has_permissions),
        resources,
        apis: pending.protected_resources().map(|api| (api.shown_name(), api.identifier.as_str())).collect(),
        goes_to: goes_to(texts, pending),
    };
    consent.render().unwrap_or_default()
}

fn resource(page: &ConsentPage<'_>, name: &str) -> Choice {
    Choice { value: name.to_owned(), text: name.to_owned(), is_chosen: page.is_resource_chosen(name), is_fixed: false }
}

fn device<'a>(texts: &'a Texts, device: &'a AskingDevice, ago: &'a str, network: Option<&'a str>) -> Device<'a> {
    let fact = |text, name, value| Sentence::new(text, &[(name, value)]);
    let asked = fact(texts.device_asked, "ago", ago);
    let network = network.map(|network| fact(texts.device_network, "network", network));
    let agent = device.user_agent().map(|agent| Sentence::modest(texts.device_agent, "agent", agent));
    Device {
        user_code: device.user_code(),
        facts: [Some(asked), network, agent].into_iter().flatten().collect(),
        shows_code: device.is_in_link().then(|| fact(texts.device_shows_code, "code", device.user_code())),
    }
}

fn goes_to<'a>(texts: &'a Texts, pending: &'a PendingAuthorization) -> Sentence<'a> {
    let text = match pending.redirect_uri() {
        None => texts.back_to_device,
        Some(uri) if uri.is_loopback() => texts.goes_to_device,
        Some(uri) if uri.is_private_use() => texts.goes_to_app,
        Some(_) => texts.goes_to,
    };
    Sentence::new(text, &[("host", pending.redirect_host())])
}

/// Why the service cannot be sure which program asks [RFC 8252 section 8.6].
fn warning<'a>(texts: &'a Texts, pending: &PendingAuthorization) -> Option<&'a str> {
    let uri = pending.redirect_uri().filter(|_| !pending.is_client_identity_assured())?;
    if pending.is_client_unreviewed() && pending.is_loopback_only() {
        Some(texts.warning_any_program)
    } else if uri.is_loopback() || uri.is_private_use() {
        Some(texts.warning_device)
    } else {
        Some(texts.warning_no_secret)
    }
}
