//! A browser that comes back from the sign-in without a session, again and again.
//!
//! It happens if the session cookie of the service has `SameSite=Strict`: after a link of another site, the browser
//! sends it with none of the redirects that follow. Without an end, the user reads an error of the browser.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::base::clock::Timestamp;
use crate::interaction::browser::Browser;
use crate::interaction::return_to::ReturnTo;
use crate::secret::Digest;

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
    use crate::interaction::browser::BrowserCookie;
    use crate::secret::SystemEntropy;

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
