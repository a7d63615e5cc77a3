//! The rules for redirect URIs: at registration, and at every authorization request.

use std::hint::black_box;

use grantor::Config;
use grantor::redirect_uri::{RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri};

use crate::measure::{Contender, interleaved};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};

const REGISTERED: &str = "https://app.example.com/cb";

/// The rule of the platform profile, and that of the strict one.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    let (domain, exact) =
        (Config::platform("https://auth.example").redirect_uris, Config::strict("https://auth.example").redirect_uris);
    let long = format!("https://app.example.com/{}?{}=1", "callback/".repeat(60), "state".repeat(86));
    let admitted = |name, registered, requested| Case::new(name, &domain, registered, requested, true);
    let cases = [
        admitted("domain/same text", REGISTERED, REGISTERED),
        admitted("domain/other path", REGISTERED, "https://app.example.com/other?x=1"),
        admitted("domain/1000 bytes", REGISTERED, &long),
        admitted("domain/free port", "http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
        Case::new("domain/other host", &domain, REGISTERED, "https://app.example.org/cb", false),
        Case::new("exact/same text", &exact, REGISTERED, REGISTERED, true),
        Case::new("exact/other path", &exact, REGISTERED, "https://app.example.com/other?x=1", false),
    ];
    let count = options.operations() as u64;
    let mut parse = || parse(count, &domain);
    let mut rounds: Vec<_> = cases.iter().map(|case| (case.name, || case.compare(count))).collect();
    let mut contenders = vec![Contender { name: "registration/parse", round: &mut parse }];
    contenders.extend(rounds.iter_mut().map(|(name, round)| Contender { name, round }));
    let times = interleaved(options.short_rounds(), &mut contenders);
    for (contender, time) in contenders.iter().zip(times) {
        report.add(Figure::new(format!("redirect_uri/{}", contender.name), time, Unit::Nanoseconds));
    }
}

/// Reads a URI that is to be registered.
fn parse(count: u64, policy: &RedirectUriPolicy) -> u64 {
    for _ in 0..count {
        assert!(RegisteredRedirectUri::parse(black_box(REGISTERED), policy).is_ok());
    }
    count
}

/// A registered URI and a requested one.
struct Case<'a> {
    name: &'static str,
    policy: &'a RedirectUriPolicy,
    registered: RegisteredRedirectUri,
    requested: &'a str,
    admitted: bool,
}

impl<'a> Case<'a> {
    fn new(
        name: &'static str,
        policy: &'a RedirectUriPolicy,
        registered: &str,
        requested: &'a str,
        admitted: bool,
    ) -> Self {
        let registered = RegisteredRedirectUri::parse(registered, policy).expect("it may be registered");
        Self { name, policy, registered, requested, admitted }
    }

    /// Compares them, and takes over what is admitted.
    fn compare(&self, count: u64) -> u64 {
        for _ in 0..count {
            match self.registered.matches(black_box(self.requested.as_bytes()), self.policy) {
                Ok(accepted) => assert!(self.admitted && accepted.as_str() == self.requested),
                Err(error) => assert!(!self.admitted && error == RedirectUriError::Mismatch),
            }
        }
        count
    }
}
