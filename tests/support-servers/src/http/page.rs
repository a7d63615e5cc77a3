//! What a browser and its user do: open a link, sign in, press a button, follow the redirect.

use url::Url;

use crate::http::answer::Answer;
use crate::http::request::Request;

/// A page with a form, and the cookies of the browser that shows it.
#[derive(Clone, Debug)]
pub struct Page {
    pub url: Url,
    pub html: String,
    pub cookies: String,
}

impl Page {
    /// Opens the link, or the sign-in that it leads to.
    pub async fn open(link: &Url, cookies: &str) -> Self {
        let mut url = link.clone();
        let mut answer = Request::to("GET", &url).cookies(cookies).send().await;
        let mut cookies = answer.cookies_after(cookies);
        if answer.status == 303 {
            url = answer.location(&url);
            answer = Request::to("GET", &url).cookies(&cookies).send().await;
            cookies = answer.cookies_after(&cookies);
        }
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        Self { url, html: answer.text(), cookies }
    }

    /// Signs in and goes where that leads.
    pub async fn sign_in(&self, username: &str, password: &str) -> Self {
        let answer = self.submit(&[("username", username), ("password", password)]).await;
        assert_eq!(answer.status, 303, "{answer:?}");
        Self::open(&answer.location(&self.url), &answer.cookies_after(&self.cookies)).await
    }

    /// Presses a button of the consent page, with what is chosen; returns the URL of the client's callback.
    pub async fn decide(&self, entered: &[(&str, &str)]) -> Url {
        let answer = self.submit(entered).await;
        assert_eq!(answer.status, 302, "{answer:?}");
        answer.location(&self.url)
    }

    /// Sends the form with what it holds already and what the user enters.
    pub async fn submit(&self, entered: &[(&str, &str)]) -> Answer {
        let wanted = format!("name=\"{}\"", entered[0].0);
        let form = self.html.split("<form ").find(|form| form.contains(&wanted)).expect("a form");
        let inputs = form.split("<input ").skip(1).map(|rest| rest.split('>').next().unwrap());
        let held = inputs.filter_map(|input| Some((attribute(input, "name")?, attribute(input, "value")?)));
        let is_kept = |(name, _): &(&str, &str)| entered.iter().all(|(own, _)| own != name);
        let held = held.filter(is_kept).map(|(name, value)| (name, value.replace("&#38;", "&").replace("&amp;", "&")));
        let held: Vec<_> = held.collect();
        let held = held.iter().map(|(name, value)| (*name, value.as_str()));
        let fields: Vec<_> = held.chain(entered.iter().copied()).collect();
        let target = self.url.join(attribute(form, "action").expect("where it goes")).unwrap();
        Request::to("POST", target).cookies(&self.cookies).fields(&fields).send().await
    }
}

/// The value of the control that has this attribute.
pub fn value_after<'a>(html: &'a str, control: &str) -> &'a str {
    let (_, rest) = html.split_once(control).unwrap_or_else(|| panic!("{html}"));
    attribute(rest, "value").unwrap()
}

/// The value of the first attribute of that name.
fn attribute<'a>(html: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = html.split_once(&format!("{name}=\""))?;
    rest.split('"').next()
}
