//! A secret works only as a whole: nothing that is made of parts of secrets is one.

use std::ops::Range;

use grantor::store::{Grant, Page, Record, RecordStore};
use proptest::prelude::*;

use crate::properties::cases::{block_on, check, holds};
use support::world::{Pair, World, pair};

const CASES: u32 = 1500;

/// How a text is made of two secrets of one kind.
#[derive(Clone, Debug)]
enum Alteration {
    /// Its beginning, not all of it.
    Prefix(usize),
    Suffix(usize),
    FlippedBit(usize, u8),
    /// The other's bytes in a part of it.
    Spliced(usize, usize),
    Inserted(usize, char),
    /// Two bytes change places.
    Swapped(usize, usize),
    OtherKind(&'static str),
}

fn alteration() -> impl Strategy<Value = Alteration> {
    let place = || 0..200_usize;
    prop_oneof![
        place().prop_map(Alteration::Prefix),
        place().prop_map(Alteration::Suffix),
        (place(), 0..7_u8).prop_map(|(place, bit)| Alteration::FlippedBit(place, bit)),
        (place(), place()).prop_map(|(from, to)| Alteration::Spliced(from, to)),
        (place(), prop::sample::select(vec!['A', '_', '=', ' ', '+', '\u{e9}', '\0']))
            .prop_map(|(place, character)| Alteration::Inserted(place, character)),
        (place(), place()).prop_map(|(one, other)| Alteration::Swapped(one, other)),
        prop::sample::select(vec!["ac_", "at_", "rt_", "ah_", ""]).prop_map(Alteration::OtherKind),
    ]
}

fn altered(secret: &str, other: &str, alteration: &Alteration) -> String {
    let count = secret.len();
    let mut bytes = secret.as_bytes().to_vec();
    match alteration {
        Alteration::Prefix(end) => bytes.truncate(end % count),
        Alteration::Suffix(start) => drop(bytes.drain(..=start % count)),
        Alteration::FlippedBit(place, bit) => bytes[place % count] ^= 1 << bit,
        Alteration::Spliced(one, two) => {
            let part = between(one % count, two % count);
            bytes[part.clone()].copy_from_slice(&other.as_bytes()[part]);
        }
        Alteration::Inserted(place, character) => {
            let mut text = secret.to_owned();
            text.insert(place % (count + 1), *character);
            bytes = text.into_bytes();
        }
        Alteration::Swapped(one, two) => bytes.swap(one % count, two % count),
        Alteration::OtherKind(prefix) => bytes = [prefix.as_bytes(), &secret.as_bytes()[3..]].concat(),
    }
    String::from_utf8(bytes).unwrap()
}

fn between(one: usize, two: usize) -> Range<usize> {
    one.min(two)..one.max(two) + 1
}

/// Two grants of one user, each with a code, an old pair and a live one.
struct Grants {
    world: World,
    codes: [String; 2],
    old: [Pair; 2],
    live: [Pair; 2],
}

impl Grants {
    async fn new() -> Self {
        let world = World::platform().await;
        let (first, second) = (world.pair().await, world.pair().await);
        let live = [pair(&world.refresh(&first.refresh).await), pair(&world.refresh(&second.refresh).await)];
        // Old enough that its use counts as reuse.
        world.advance(360);
        let codes = [world.code().await, world.code().await];
        world.events.take();
        Self { world, codes, old: [first, second], live }
    }

    fn secrets(&self) -> Vec<[&str; 2]> {
        let [code, other_code] = &self.codes;
        let ([old, other_old], [live, other_live]) = (&self.old, &self.live);
        vec![
            [code, other_code],
            [&live.access, &other_live.access],
            [&live.refresh, &other_live.refresh],
            [&old.refresh, &other_old.refresh],
            [&old.refresh, &live.refresh],
        ]
    }

    fn is_genuine(&self, text: &str) -> bool {
        let pairs = || self.old.iter().chain(&self.live);
        self.codes.iter().any(|code| code == text) || pairs().any(|pair| pair.access == text || pair.refresh == text)
    }

    async fn records(&self) -> Vec<Vec<u8>> {
        let grants =
            RecordStore::<Grant>::list(&self.world.store, self.world.alice.as_str(), Page::first(10)).await.unwrap();
        grants.iter().map(|grant| grant.encode()).collect()
    }
}

#[test]
fn nothing_made_of_secrets_is_a_secret_or_accuses_anybody() {
    let grants = block_on(Grants::new());
    let world = &grants.world;
    let before = block_on(grants.records());
    check(CASES, &(0..5_usize, alteration()), |(kind, alteration)| {
        let [secret, other] = grants.secrets()[kind];
        let text = altered(secret, other, &alteration);
        if grants.is_genuine(&text) {
            return Ok(());
        }
        block_on(async {
            holds(world.refresh(&text).await.status() == 400, || format!("{text:?} is refreshed"))?;
            holds(world.exchange(&text).await.status() == 400, || format!("{text:?} is exchanged"))?;
            // The value of a header has no blanks at its ends.
            let works = world.opens(&text).await && !grants.is_genuine(text.trim());
            holds(!works, || format!("{text:?} grants access"))?;
            let revoked = world.revoke(&text).await.status();
            holds(revoked == if text.is_empty() { 400 } else { 200 }, || format!("{text:?}: {revoked}"))?;
            if !text.is_empty() {
                let shown = world.introspect_as(&world.client, &text).await;
                holds(shown == serde_json::json!({"active": false}), || format!("{text:?}: {shown}"))?;
            }
            let events = world.events.take();
            let refusals = ["Refused", "AccessTokenRefused", "CheckRefused"];
            let is_refusal = |event: &String| refusals.iter().any(|refusal| event.starts_with(refusal));
            holds(events.iter().all(is_refusal), || format!("{text:?}: {events:?}"))?;
            holds(grants.records().await == before, || format!("{text:?} changed a record"))
        })
    });
    for live in &grants.live {
        assert!(block_on(world.opens(&live.access)));
        pair(&block_on(world.refresh(&live.refresh)));
    }
    for code in &grants.codes {
        pair(&block_on(world.exchange(code)));
    }
}
