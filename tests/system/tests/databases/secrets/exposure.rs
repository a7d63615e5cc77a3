//! What others may see, and the secrets that must not be in it.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::fmt::Debug;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use grantor::wire::Response;

use crate::secrets::forms::{Pieces, listed, written};
use support::world::Pair;

/// Everything that was shown, and every secret that there was.
#[derive(Debug, Default)]
pub(crate) struct Exposure {
    secrets: Vec<Secret>,
    numbers: HashMap<Vec<u8>, usize>,
    /// A piece of a text is shorter than any that is shown of it by chance.
    texts: Pieces<16>,
    /// The bytes of sixteen characters of Base64.
    bytes: Pieces<12>,
    shown: HashMap<Vec<u8>, Place>,
    answers: Vec<(String, Vec<u8>)>,
}

#[derive(Debug)]
struct Secret {
    what: String,
    /// The answers in which it must be.
    carriers: BTreeSet<usize>,
    /// Whether stores keep it as it is: the client's `state` must come back.
    stored: bool,
}

#[derive(Debug)]
struct Place {
    name: String,
    in_store: bool,
}

impl Exposure {
    // What is secret.

    /// A text, of which no sixteen characters may show; `carrier` is the answer that gave it away.
    pub(crate) fn secret(&mut self, what: &str, text: &str, carrier: Option<usize>) {
        let number = self.number(what, text.as_bytes(), carrier);
        self.texts.add(text.as_bytes(), number);
        written(text.as_bytes()).iter().for_each(|form| self.texts.add(form, number));
    }

    /// A text that the server returns to its client, so a store keeps it.
    pub(crate) fn returned(&mut self, what: &str, text: &str, carrier: usize) {
        self.secret(what, text, Some(carrier));
        self.secrets[self.numbers[text.as_bytes()]].stored = true;
    }

    /// A handle, code or access token: all behind the id, which is none, as text and as bytes.
    pub(crate) fn token(&mut self, what: &str, text: &str, carrier: Option<usize>) {
        self.decoded(what, &text["xx_".len() + 22..], carrier);
    }

    /// All but the end and the number of a refresh token; its front is in all of its grant.
    pub(crate) fn refresh_token(&mut self, text: &str, carrier: Option<usize>) {
        let secret = &text["xx_".len() + 22..];
        self.decoded("family id of a grant", &secret[..20], carrier);
        self.decoded("refresh token", &secret[32..], carrier);
    }

    pub(crate) fn pair(&mut self, pair: &Pair, carrier: usize) {
        self.token("access token", &pair.access, Some(carrier));
        self.refresh_token(&pair.refresh, Some(carrier));
    }

    fn decoded(&mut self, what: &str, text: &str, carrier: Option<usize>) {
        self.secret(what, text, carrier);
        let number = self.numbers[text.as_bytes()];
        let bytes = URL_SAFE_NO_PAD.decode(text).unwrap();
        self.bytes.add(&bytes, number);
        written(&bytes).iter().for_each(|form| self.texts.add(form, number));
    }

    fn number(&mut self, what: &str, text: &[u8], carrier: Option<usize>) -> usize {
        let Self { secrets, numbers, .. } = self;
        let number = *numbers.entry(text.to_vec()).or_insert_with(|| {
            secrets.push(Secret { what: what.to_owned(), carriers: BTreeSet::new(), stored: false });
            secrets.len() - 1
        });
        secrets[number].carriers.extend(carrier);
        number
    }

    // What is shown.

    pub(crate) fn debug(&mut self, name: &str, value: &impl Debug) {
        self.text(name, format!("{value:?} {value:#?}"));
    }

    /// An error with its whole chain.
    pub(crate) fn error(&mut self, name: &str, error: &(dyn Error + 'static)) {
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.text(name, format!("{error} {error:?} {error:#?}"));
            cause = error.source();
        }
    }

    pub(crate) fn text(&mut self, name: &str, text: String) {
        // A store may keep the same text, but this output is not a store.
        self.shown.insert(text.into_bytes(), Place { name: name.to_owned(), in_store: false });
    }

    pub(crate) fn stored(&mut self, name: &str, bytes: Vec<u8>) {
        self.shown.entry(bytes).or_insert_with(|| Place { name: name.to_owned(), in_store: true });
    }

    /// An answer with its headers; returns its number, by which secrets name it as their carrier.
    pub(crate) fn answer(&mut self, what: &str, response: &Response) -> usize {
        self.debug(what, response);
        let mut bytes = Vec::new();
        for (name, value) in response.headers() {
            bytes.extend_from_slice(format!("{name}: {value}\n").as_bytes());
        }
        bytes.extend_from_slice(response.body());
        self.result(what, &bytes)
    }

    /// A result that a caller got in another way than by HTTP.
    pub(crate) fn result(&mut self, what: &str, bytes: &[u8]) -> usize {
        self.answers.push((what.to_owned(), bytes.to_vec()));
        self.answers.len() - 1
    }

    // The search.

    #[track_caller]
    pub(crate) fn check(&self) {
        let leaks = self.leaks();
        assert!(leaks.is_empty(), "{leaks:#?}");
    }

    /// The found secrets, and where they were.
    fn leaks(&self) -> Vec<String> {
        let mut leaks = Vec::new();
        let mut note = |number: usize, place: &str, bytes: &[u8]| {
            let part = bytes[..bytes.len().min(2_000)].escape_ascii();
            leaks.push(format!("the {} is in {place}: {part}", self.secrets[number].what));
        };
        for (bytes, place) in &self.shown {
            let found = self.found(bytes).into_iter();
            let found = found.filter(|&number| !(place.in_store && self.secrets[number].stored));
            found.for_each(|number| note(number, &place.name, bytes));
        }
        for (answer, (what, bytes)) in self.answers.iter().enumerate() {
            let found = self.found(bytes);
            let leaked = found.iter().filter(|&&number| !self.secrets[number].carriers.contains(&answer));
            leaked.for_each(|&number| note(number, what, bytes));
            // The search finds what is there.
            for (number, secret) in self.secrets.iter().enumerate() {
                let is_carried = secret.carriers.contains(&answer);
                assert!(!is_carried || found.contains(&number), "no {} was found in {what}", secret.what);
            }
        }
        leaks
    }

    fn found(&self, shown: &[u8]) -> BTreeSet<usize> {
        let listed = listed(shown);
        let views = [shown, &listed];
        views.iter().flat_map(|view| self.texts.found_in(view).chain(self.bytes.found_in(view))).collect()
    }
}

/// HTTP-04
///
/// The search finds a whole secret and a piece of it, in each form and place.
#[test]
fn a_secret_in_the_open_would_be_found() {
    let token = "at_0123456789abcdefghijkl0-_defghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP0";
    let secret = &token[25..];
    let bytes = URL_SAFE_NO_PAD.decode(secret).unwrap();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for shown in [
        token.to_owned(),
        secret[3..19].to_owned(),
        format!("{:?}", secret.as_bytes()),
        format!("{bytes:#?}"),
        STANDARD.encode(format!("client:{secret}")),
        STANDARD.encode(format!("a-client:{secret}")),
        STANDARD.encode(format!("the-client:{secret}")),
        STANDARD.encode(&bytes),
        hex(secret.as_bytes()),
        hex(&bytes).to_uppercase(),
        hex(&bytes[7..15]),
        secret.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        format!("a=1&token={}", &secret[..16]),
        bytes.escape_ascii().to_string(),
    ] {
        let shown = format!("before {shown} after");
        let mut exposure = Exposure::default();
        exposure.token("token", token, None);
        assert!(exposure.leaks().is_empty());
        exposure.text("a log", shown.clone());
        assert_eq!(exposure.leaks().len(), 1, "{shown}");
        let mut exposure = Exposure::default();
        exposure.token("token", token, None);
        exposure.stored("a table", shown.clone().into_bytes());
        assert_eq!(exposure.leaks().len(), 1, "{shown}");
        let mut exposure = Exposure::default();
        let carrier = exposure.result("its answer", token.as_bytes());
        exposure.token("token", token, Some(carrier));
        assert!(exposure.leaks().is_empty());
        exposure.result("another answer", shown.as_bytes());
        assert_eq!(exposure.leaks().len(), 1, "{shown}");
    }
}
