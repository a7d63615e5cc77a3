//! The page for the code that a device shows.

use askama::Template;
use grantor::interaction::{DeviceOutcome, DevicePage, UserCodeProblem};

use crate::Brand;
use crate::sentence::{Part, Sentence};
use crate::texts::Texts;

#[derive(Template)]
#[template(path = "device.html")]
struct Device<'a> {
    brand: &'a Brand,
    texts: &'a Texts,
    title: &'a str,
    /// What the user has decided. There is then no form.
    outcome: Option<&'a str>,
    to_service: String,
    signed_in: Sentence<'a>,
    action: &'a str,
    form_token: &'a str,
    user_code: &'a str,
    is_in_link: bool,
    problem: Option<String>,
}

pub(crate) fn render(brand: &Brand, texts: &Texts, page: &DevicePage<'_>) -> String {
    let outcome = page.outcome.map(|outcome| match outcome {
        DeviceOutcome::Allowed => texts.device_connected,
        DeviceOutcome::Denied => texts.device_not_connected,
    });
    let device = Device {
        brand,
        texts,
        title: outcome.map_or(texts.connect_device, |[title, _]| title),
        outcome: outcome.map(|[_, text]| text),
        to_service: Sentence::new(texts.to_service, &[("service", &brand.name)]).plain(),
        signed_in: Sentence::new(texts.signed_in, &[("user", page.user.shown_name())]),
        action: page.action,
        form_token: page.form_token,
        user_code: page.user_code,
        is_in_link: page.is_in_link,
        problem: page.problem.map(|problem| said(texts, problem)),
    };
    device.render().unwrap_or_default()
}

fn said(texts: &Texts, problem: UserCodeProblem) -> String {
    match problem {
        UserCodeProblem::TooMany { retry_after } => {
            let minutes = (texts.minutes)(retry_after.div_ceil(60).max(1));
            Sentence::new(texts.too_many_codes, &[("minutes", &minutes)]).plain()
        }
        _ => texts.unknown_code.to_owned(),
    }
}
