//! Client, application and logos change together, are read back equal, and are found by all callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::application::LogoSlot;
use crate::store::{ClientRegistry, LogoWrite, Registration};
use crate::testing::applications::{Applications, Whole};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::records;
use crate::testing::rules::{CALLERS, in_turn};

/// How many versions a writer makes while others read.
const VERSIONS: u32 = 24;

/// Every change of both logos, from each of their states.
pub(in crate::testing) async fn change_together<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let mut registration = records::registration(&records::subject());
    let mut there = store.begin(&registration).await;
    store.assert_there(&there, "after the insert").await;
    let put_or_clear = [put, clear];
    let writes = [put, clear, keep];
    for before in pairs(&put_or_clear) {
        for write in pairs(&writes) {
            for [logo, proposed_logo] in [before, write] {
                registration =
                    Registration { logo: logo(), proposed_logo: proposed_logo(), ..records::changed(&registration) };
                there = store.advance(&there, &registration).await;
                let Registration { logo, proposed_logo, .. } = &registration;
                let when = format!("after {logo:?} of the logo and {proposed_logo:?} of the proposed one");
                store.assert_there(&there, &when).await;
            }
        }
    }
    for write in [keep, clear] {
        let bare = Registration { logo: write(), proposed_logo: write(), ..records::registration(&records::subject()) };
        let there = store.begin(&bare).await;
        store.assert_there(&there, "after an insert without a logo").await;
    }
}

fn put() -> LogoWrite {
    LogoWrite::Put(Arc::new(records::logo()))
}

fn clear() -> LogoWrite {
    LogoWrite::Clear
}

fn keep() -> LogoWrite {
    LogoWrite::Keep
}

fn pairs(writes: &[fn() -> LogoWrite]) -> impl Iterator<Item = [fn() -> LogoWrite; 2]> {
    writes.iter().flat_map(|one| writes.iter().map(|other| [*one, *other]))
}

/// Client, application and logo contain the same number. A reader reads them one after the other, so each is at least
/// as new as the one before.
pub(in crate::testing) async fn are_never_seen_in_halves<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in MEETINGS {
        let mut first = records::registration(&records::subject());
        first.logo = LogoWrite::Put(Arc::new(records::numbered_logo(first.client.version())));
        store.begin(&first).await;
        let written = &AtomicBool::new(false);
        let first = &first;
        let calls = in_turn(store, another).take(CALLERS / 2).zip(0..).map(|(handle, number)| async move {
            if number == 0 {
                write_versions(handle, first).await;
                written.store(true, Ordering::SeqCst);
            } else {
                read_versions(handle, first, written).await;
            }
        });
        at_once(meeting, calls).await;
    }
}

async fn write_versions<S: ClientRegistry>(store: &Applications<'_, S>, first: &Registration) {
    let mut there = Whole::first(first);
    for version in (first.client.version() + 1..).take(usize::try_from(VERSIONS).unwrap_or_default()) {
        let mut next = records::numbered(first, version);
        next.logo = LogoWrite::Put(Arc::new(records::numbered_logo(version)));
        there = store.advance(&there, &next).await;
        pause().await;
    }
}

async fn read_versions<S: ClientRegistry>(store: &Applications<'_, S>, first: &Registration, written: &AtomicBool) {
    let id = first.client.id();
    let mut seen = first.client.version();
    loop {
        let is_last = written.load(Ordering::SeqCst);
        let client = store.current(id).await;
        let application = store.application(id).await;
        let logo = store.logo(id, LogoSlot::InForce).await;
        let after = store.current(id).await;
        let versions = [
            client.map(|client| client.version()),
            application.map(|application| application.version()),
            logo.map(|logo| records::number_of(&logo)),
            after.map(|client| client.version()),
        ];
        let mut before = seen;
        for version in versions {
            assert!(
                version.is_some_and(|version| version >= before),
                "client, application, logo and client, read in turn, had the versions {versions:?} after {seen}"
            );
            before = version.unwrap_or_default();
        }
        seen = before;
        if is_last {
            break;
        }
        pause().await;
    }
    assert_eq!(seen, first.client.version() + VERSIONS, "the last version is seen after it was acknowledged");
}

pub(in crate::testing) async fn are_found_everywhere<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in MEETINGS {
        let calls = in_turn(store, another).take(CALLERS).map(|handle| async {
            let mut registration = records::registration(&records::subject());
            let mut there = handle.begin(&registration).await;
            for round in 0..4 {
                store.assert_there(&there, "at once after the write").await;
                another.assert_there(&there, "at once after the write, by another handle").await;
                registration = records::with_new_logos(&records::changed(&registration));
                let writer = if round % 2 == 0 { another } else { store };
                there = writer.advance(&there, &registration).await;
            }
            handle.assert_there(&there, "at once after the last write").await;
        });
        at_once(meeting, calls).await;
    }
}

pub(in crate::testing) async fn of_every_kind_come_back<S: ClientRegistry>(store: &S) {
    for registration in records::registrations_of_every_kind(&records::subject()) {
        come_back(store, &registration).await;
    }
}

pub(in crate::testing) async fn of_the_largest_size_come_back<S: ClientRegistry>(store: &S) {
    come_back(store, &records::huge_registration(&records::long_subject())).await;
}

/// Writes the registration by an insert, then by a replace of a smaller one, which is then written back.
async fn come_back<S: ClientRegistry>(store: &S, registration: &Registration) {
    let store = &Applications(store);
    let there = store.begin(registration).await;
    store.assert_there(&there, "after its insert").await;

    let plain = records::registration(&records::subject());
    let copy = records::under(registration, plain.client.id());
    let there = store.begin(&plain).await;
    let there = store.advance(&there, &copy).await;
    store.assert_there(&there, "after a replace").await;
    let there = store.advance(&there, &plain).await;
    store.assert_there(&there, "after another replace").await;
}
