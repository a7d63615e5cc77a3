//! Whether the time of an answer reveals what was wrong: two kinds of requests in random order, each timed separately,
//! compared by Welch's t, with and without slow outliers (as dudect does).
//!
//! Run manually, on an otherwise idle machine:
//! `cargo test --release --features testing --test timing -- --ignored --nocapture --test-threads 1`.

mod directory;
mod service;
mod welch;

use std::str::FromStr;

use grantor::jose::JwkThumbprint;

use service::{Service, altered, is_refused};
use welch::{Difference, compare};

/// Above this t, dudect treats two times as different.
const CERTAIN: f64 = 4.5;

/// The method finds a difference where there is one, and none between equals.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn an_early_end_is_found_and_equals_are_not_distinguished() {
    let right = [7_u8; 32];
    let wrong_at = |place: usize| {
        let mut wrong = right.to_vec();
        wrong[place] = 8;
        vec![wrong; 61]
    };
    let until_they_differ = |sent: &[u8]| {
        let same = sent.iter().zip(&right).take_while(|(sent, right)| std::hint::black_box(sent) == right);
        assert!(same.count() < right.len());
    };
    let found = compare("a comparison that ends early, 16 bytes", [wrong_at(0), wrong_at(16)], until_they_differ);
    assert!(found.t.abs() > CERTAIN, "{found:?}");
    equal(compare("the same request twice", [wrong_at(16), wrong_at(16)], until_they_differ));
}

/// Clients whose digest is wrong in its first byte, and those whose digest is wrong in its last.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_wrong_secret_does_not_tell_how_much_of_its_digest_is_right() {
    let (server, forms) = directory::wrong_at([0, 31]);
    equal(compare("digest right in no byte before the wrong one, in 31", forms, |form| is_refused(&server, form)));
}

/// A secret that is wrong in its first character, and one that is wrong in its last.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_wrong_secret_does_not_tell_where_it_is_wrong() {
    let service = Service::new();
    let wrong_at =
        |place: usize| altered(&service.secret, place).map(|secret| service.token_form(&service.id, &secret));
    let forms = [wrong_at(0).collect(), wrong_at(42).collect()];
    equal(compare("first character wrong, last", forms, |form| service.is_refused(form)));
}

/// An unknown client, and a client with a wrong secret.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_refusal_tells_less_than_a_network_does_whether_there_is_such_a_client() {
    let service = Service::new();
    let wrong: Vec<_> = altered(&service.secret, 20).collect();
    let known = wrong.iter().map(|secret| service.token_form(&service.id, secret)).collect();
    let ids = altered(&service.id, 11);
    let unknown = ids.zip(&wrong).map(|(id, secret)| service.token_form(&id, secret)).collect();
    let found = compare("unknown client, wrong secret", [unknown, known], |form| service.is_refused(form));
    within(&found);
}

/// A token of no grant, and one that names a grant and has a wrong secret: the id of a grant is no secret.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_refused_token_tells_at_most_whether_there_is_such_a_grant() {
    let service = Service::new();
    let (of_id, of_secret) = (10, 40);
    let forms = |place: usize| altered(&service.token, place).map(|token| service.introspection_form(&token)).collect();
    let asked = compare("unknown token, wrong secret part, introspected", [forms(of_id), forms(of_secret)], |form| {
        service.is_inactive(form);
    });
    let headers = |place: usize| altered(&service.token, place).map(|token| format!("Bearer {token}").into_bytes());
    let headers = [headers(of_id).collect(), headers(of_secret).collect()];
    let opened =
        compare("unknown token, wrong secret part, at a resource", headers, |header| service.is_closed(header));
    within(&asked);
    within(&opened);
}

/// A wrong secret part of a known token, wrong in its first or in its last whole character.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_refused_token_does_not_tell_where_it_is_wrong() {
    let service = Service::new();
    let headers = |place: usize| altered(&service.token, place).map(|token| format!("Bearer {token}").into_bytes());
    let headers = [headers(25).collect(), headers(66).collect()];
    equal(compare("token wrong in its first character, last", headers, |header| service.is_closed(header)));
}

/// Thumbprints of keys that differ in the first byte, and in the last.
#[test]
#[ignore = "times a million calls: run manually, in release, on an otherwise idle machine"]
fn the_time_of_a_comparison_of_thumbprints_does_not_tell_where_they_differ() {
    let bound = JwkThumbprint::from_str(&"A".repeat(43)).unwrap();
    let others = [format!("E{}", "A".repeat(42)), format!("{}E", "A".repeat(42))];
    let others = others.map(|text| JwkThumbprint::from_str(&text).unwrap());
    let kinds = [0_u8, 1].map(|kind| vec![vec![kind]; 61]);
    equal(compare("thumbprint wrong in its first byte, last", kinds, |kind| {
        assert!(others[usize::from(kind[0])] != bound);
    }));
}

#[track_caller]
fn equal(found: Difference) {
    assert!(found.t.abs() < CERTAIN, "{found:?}");
}

/// The difference that can be measured over a local network (Crosby, Wallach and Riedi 2009), or from anywhere by two
/// requests in one packet of HTTP/2 (Van Goethem and others 2020).
#[track_caller]
fn within(found: &Difference) {
    assert!(found.nanoseconds.abs() < 100.0, "{found:?}");
}
