//! The rules for redirect URIs: at registration, and at every authorization request.

use std::hint::black_box;

use grantor::{Config, RedirectUriError, RedirectUriPolicy, RegisteredRedirectUri};

use crate::measure::{Contender, interleaved};
use crate::options::Options;
use crate::report::{Figure, Report, Unit};

/// Short and long: a callback, and one whose path and query fill 1,000 octets.
pub(crate) fn measure(options: &Options, report: &mut Report) {
    let domain = Config::platform().redirect_uris;
    let exact = Config::strict().redirect_uris;
    let long = format!("https://app.example.com/{}?{}=1", "callback/".repeat(60), "state".repeat(86));
    let cases = [
        Case::new("domain/same text", &domain, "https://app.example.com/cb", "https://app.example.com/cb"),
        Case::new("domain/other path", &domain, "https://app.example.com/cb", "https://app.example.com/other?x=1"),
        Case::new("domain/1000 octets", &domain, "https://app.example.com/cb", &long),
        Case::new("domain/free port", &domain, "http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
        Case::new("domain/other host", &domain, "https://app.example.com/cb", "https://app.example.org/cb"),
        Case::new("exact/same text", &exact, "https://app.example.com/cb", "https://app.example.com/cb"),
        Case::new("exact/other path", &exact, "https://app.example.com/cb", "https://app.example.com/other?x=1"),
    ];
    let count = options.operations() as u64;
    let mut rounds: Vec<_> = cases.iter().map(|case| (case.name, || case.round(count))).collect();
    let parse = || {
        for _ in 0..count {
            assert!(RegisteredRedirectUri::parse(black_box("https://app.example.com/cb"), &domain).is_ok());
        }
        count
    };
    let mut parse = parse;
    let mut contenders: Vec<_> = rounds.iter_mut().map(|(name, round)| Contender { name, round }).collect();
    contenders.push(Contender { name: "registration/parse", round: &mut parse });
    let names: Vec<_> = contenders.iter().map(|contender| contender.name).collect();
    for (name, time) in names.into_iter().zip(interleaved(options.short_rounds(), &mut contenders)) {
        report.add(Figure::new(format!("redirect_uri/{name}"), time, Unit::Nanoseconds));
    }
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
    fn new(name: &'static str, policy: &'a RedirectUriPolicy, registered: &str, requested: &'a str) -> Self {
        let registered = RegisteredRedirectUri::parse(registered, policy).expect("it may be registered");
        let admitted = !matches!(name, "domain/other host" | "exact/other path");
        Self { name, policy, registered, requested, admitted }
    }

    fn round(&self, count: u64) -> u64 {
        for _ in 0..count {
            let matched = self.registered.matches(black_box(self.requested.as_bytes()), self.policy);
            match matched {
                Ok(accepted) => assert!(self.admitted && accepted.as_str() == self.requested),
                Err(error) => assert!(!self.admitted && error == RedirectUriError::Mismatch),
            }
        }
        count
    }
}
