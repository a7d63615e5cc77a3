//! The cookie that identifies a browser, before and after the sign-in, and browsers that come back without a session.
//!
//! The session of a service cannot identify a browser: a sign-in should begin a session with a new id.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::clock::Timestamp;
use crate::base::entropy::Entropy;
use crate::base::id::{Subject, letters_and_digits};
use crate::interaction::return_to::{ReturnTo, Route};
use crate::secret::Digest;

/// Letters and digits of the cookie's value: 190 random bits.
const CHARACTERS: usize = 32;

/// A browser, by the cookie that a [`Flow`](crate::interaction::Flow) gave it.
///
/// The cookie exists before the sign-in and outlasts it: pushed requests need that [RFC 9126 section 4]. It is not the
/// session of your service. Consent tickets and form tokens are bound to its value.
#[derive(Clone)]
pub struct Browser {
    value: String,
    set_cookie: Option<String>,
}

impl Browser {
    /// Returns the `Set-Cookie` header that the response to a request with that method must have; `None` if the browser
    /// sent the cookie, or the response must have none.
    ///
    /// A form of another site comes without the cookie: a new one in the response would replace the browser's own.
    #[must_use]
    pub fn set_cookie(&self, route: Route, method: &str) -> Option<&str> {
        self.set_cookie.as_deref().filter(|_| route.has_visitor() && method != "POST")
    }

    /// Returns the value that the flow binds requests to. A sign-in page that names the client of the request that
    /// continues after it passes the value to [`Request::session`](crate::wire::Request::session).
    #[must_use]
    pub fn session(&self) -> &[u8] {
        self.value.as_bytes()
    }

    /// Whether it sent no cookie.
    pub(super) const fn is_new(&self) -> bool {
        self.set_cookie.is_some()
    }

    /// Returns the token that a form of this browser and user must contain. Another site can read neither the cookie
    /// nor this token, so it cannot forge the form.
    pub(super) fn form_token(&self, subject: &Subject) -> String {
        self.token("form", subject)
    }

    /// Returns a token of this browser and user for a fixed purpose.
    pub(super) fn token(&self, purpose: &str, subject: &Subject) -> String {
        // The value has a fixed length, so that no other pair gives the same bytes.
        let digest = Digest::of(format!("grantor token, {purpose}: {}{subject}", self.value).as_bytes());
        URL_SAFE_NO_PAD.encode(digest.bytes())
    }

    /// Whether a form has the token of this browser and user.
    pub(super) fn accepts(&self, token: &str, subject: &Subject) -> bool {
        Digest::of(token.as_bytes()) == Digest::of(self.form_token(subject).as_bytes())
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser").field("is_new", &self.set_cookie.is_some()).finish_non_exhaustive()
    }
}

/// The name of the cookie and its attributes.
///
/// The name has a part of the issuer's digest, since browsers send cookies to every port of a host. With the prefix
/// `__Host-`, no other host and no plain connection can set it [RFC 6265bis section 4.1.3.2]. An issuer with plain
/// `http`, in development, goes without.
#[derive(Clone, Debug)]
pub(super) struct BrowserCookie {
    name: String,
    is_secure: bool,
}

impl BrowserCookie {
    pub(super) fn of(issuer: &str) -> Self {
        let digest = Digest::of(issuer.as_bytes());
        let part: String = digest.bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let is_secure = issuer.starts_with("https://");
        let prefix = if is_secure { "__Host-" } else { "" };
        Self { name: format!("{prefix}grantor-{part}"), is_secure }
    }

    /// Returns the header that removes the cookie.
    pub(super) fn removal(&self) -> String {
        format!("{}; Max-Age=0", self.set(""))
    }

    fn set(&self, value: &str) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        // `Strict` would withhold it from users who arrive from a client.
        format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{secure}", self.name)
    }

    /// Reads the browser from the values of its `Cookie` headers, or draws a new one.
    pub(super) fn read<'c>(&self, cookies: impl IntoIterator<Item = &'c [u8]>, entropy: &dyn Entropy) -> Browser {
        // Only a space is cut off: a name after any other blank is another name, which every host of the domain can
        // set.
        let pairs = cookies.into_iter().flat_map(|line| line.split(|byte| *byte == b';'));
        let values = pairs.filter_map(|pair| {
            let pair = pair.strip_prefix(b" ").unwrap_or(pair);
            pair.strip_prefix(self.name.as_bytes())?.strip_prefix(b"=")
        });
        // A value of another form is ignored. Without the prefix, a server at another port of the host may have set it.
        let is_sound = |value: &&[u8]| value.len() == CHARACTERS && value.iter().all(u8::is_ascii_alphanumeric);
        if let Some(value) = values.filter(is_sound).find_map(|value| str::from_utf8(value).ok()) {
            return Browser { value: value.to_owned(), set_cookie: None };
        }
        let value = letters_and_digits::<CHARACTERS>(entropy);
        let set_cookie = Some(self.set(&value));
        Browser { value, set_cookie }
    }
}

/// The visit of one browser to one address that ends the loop. Browsers give up after 20 redirects, at least two for a
/// visit.
const VISITS: usize = 5;
/// Seconds within which the visits are. No user signs in so often.
const WITHIN: u32 = 10;
/// How many visits are remembered.
const MAX: usize = 1024;

/// The latest visits that were sent to the sign-in.
#[derive(Debug, Default)]
pub(super) struct SignInLoops(Mutex<VecDeque<(Digest, Timestamp)>>);

impl SignInLoops {
    /// Records a visit, and returns whether it is one too many. A browser that keeps no cookie is not recognized.
    pub(super) fn is_one(&self, browser: &Browser, return_to: &ReturnTo, now: Timestamp) -> bool {
        if browser.is_new() {
            return false;
        }
        let visit = Digest::of(&[browser.session(), return_to.as_str().as_bytes()].concat());
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        visits.truncate(MAX - 1);
        visits.push_front((visit, now));
        let recent = visits.iter().take_while(|(_, at)| now.seconds_since(*at) <= WITHIN);
        let is_one = recent.filter(|(own, _)| *own == visit).count() >= VISITS;
        if is_one {
            // The next attempt of the user is not the end of this loop.
            visits.retain(|(own, _)| *own != visit);
        }
        is_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::SystemEntropy;

    fn read(cookie: &BrowserCookie, lines: &[&str]) -> Browser {
        cookie.read(lines.iter().map(|line| line.as_bytes()), &SystemEntropy)
    }

    #[test]
    fn the_cookies_name_has_the_issuers_digest() {
        let one = BrowserCookie::of("https://auth.example");
        // printf https://auth.example | sha256sum
        assert_eq!(one.name, "__Host-grantor-644d89f1");
        assert_ne!(one.name, BrowserCookie::of("https://auth.example:8443").name);
        let attributes = read(&one, &[]).set_cookie.unwrap().split_once("; ").unwrap().1.to_owned();
        assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Secure");
        let plain = read(&BrowserCookie::of("http://127.0.0.1:8080"), &[]).set_cookie.unwrap();
        assert!(plain.starts_with("grantor-") && !plain.contains("Secure"), "{plain}");
    }

    #[test]
    fn a_browser_keeps_its_value_and_any_other_value_is_replaced() {
        let cookie = BrowserCookie::of("https://auth.example");
        let first = read(&cookie, &["theme=dark"]);
        let sent = first.set_cookie.as_deref().unwrap().split(';').next().unwrap();
        for lines in [&[sent][..], &["theme=dark", sent], &[&format!("a=b; {sent}; c=d")], &[&format!("a=b;{sent}")]] {
            let again = read(&cookie, lines);
            assert_eq!((again.session(), again.set_cookie.as_deref()), (first.session(), None), "{lines:?}");
        }
        let (name, value) = sent.split_once('=').unwrap();
        for other in [format!("{name}="), format!("{name}={value}x"), format!("{name}=\"{}", &value[1..]), value.into()]
        {
            let new = read(&cookie, &[&other]);
            assert!(new.set_cookie.is_some() && new.session() != first.session(), "{other}");
        }
        let after_a_forged_one = read(&cookie, &[&format!("{name}=short; {sent}")]);
        assert_eq!(after_a_forged_one.session(), first.session());
        assert!(!format!("{first:?}").contains(value));
        let removed = cookie.removal();
        assert_eq!(removed, format!("{name}=; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=0"));
    }

    /// A host below the same domain can set a cookie whose name begins with a blank that some parsers cut off.
    #[test]
    fn a_name_after_a_blank_is_another_name_and_bytes_that_are_no_text_hide_nothing() {
        let cookie = BrowserCookie::of("https://auth.example");
        let (own, forged) = (read(&cookie, &[]), "A".repeat(CHARACTERS));
        let sent = own.set_cookie.as_deref().unwrap().split(';').next().unwrap();
        for blank in ["\u{2000}", "\u{3000}", "\u{85}", "\u{a0}", "\t", "\u{c}", "  "] {
            let again = read(&cookie, &[&format!("{blank}{}={forged}; {sent}", cookie.name)]);
            assert_eq!(again.session(), own.session(), "{blank:?}");
        }
        let line = [b"x=\xff; ", sent.as_bytes()].concat();
        assert_eq!(cookie.read([&*line], &SystemEntropy).session(), own.session());
    }

    #[test]
    fn a_form_token_belongs_to_one_browser_and_one_user() {
        let cookie = BrowserCookie::of("https://auth.example");
        let (one, other) = (read(&cookie, &[]), read(&cookie, &[]));
        let (alice, bob) = (Subject::new("alice").unwrap(), Subject::new("bob").unwrap());
        let token = one.form_token(&alice);
        assert!(one.accepts(&token, &alice));
        assert!(!one.accepts(&token, &bob) && !other.accepts(&token, &alice));
        assert!(!one.accepts("", &alice) && !one.accepts(&token[1..], &alice));
        assert!(!token.contains(str::from_utf8(one.session()).unwrap()));
    }

    #[test]
    fn the_fifth_visit_in_ten_seconds_is_one_too_many() {
        let cookie = BrowserCookie::of("https://auth.example");
        let known = |letter: char| {
            let value = letter.to_string().repeat(32);
            cookie.read([format!("__Host-grantor-644d89f1={value}").as_bytes()], &SystemEntropy)
        };
        let (one, other, new) = (known('a'), known('b'), cookie.read([], &SystemEntropy));
        let [page, device] = ["/oauth2/auth?a", "/device"].map(|path| ReturnTo::parse(path).unwrap());
        let loops = SignInLoops::default();
        let at = |browser, to, seconds| loops.is_one(browser, to, Timestamp::from_seconds(seconds));
        let visits = |seconds: [u32; 5]| seconds.map(|second| at(&one, &page, second));
        assert_eq!(visits([100, 100, 102, 105, 110]), [false, false, false, false, true]);
        // It begins anew, also where the visits are slower.
        assert_eq!(visits([111, 111, 111, 111, 122]), [false; 5]);
        assert!((0..20).all(|_| !at(&new, &page, 200)), "there is no cookie to know it by");
        assert!((0..4).all(|_| !at(&one, &page, 300) && !at(&other, &page, 300) && !at(&one, &device, 300)));
        assert!(at(&one, &page, 300) && at(&other, &page, 300) && at(&one, &device, 300));
    }
}
