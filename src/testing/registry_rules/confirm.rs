//! A confirm writes a registration again as it is, and changes nothing else.

use std::sync::Arc;

use crate::model::application::LogoSlot;
use crate::store::{ClientRegistry, LogoWrite, Registration, Replacement};
use crate::testing::applications::{Applications, Whole};
use crate::testing::at_once::{MEETINGS, at_once, pause};
use crate::testing::records;
use crate::testing::rules::{CALLERS, in_turn, meetings};
use crate::testing::told::cut;

pub(in crate::testing) async fn leaves_what_is_there<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    for registration in records::registrations_of_every_kind(&records::subject()) {
        let there = store.begin(&registration).await;
        for same in of_equal_parts(&there) {
            assert_eq!(store.confirm(&same).await, Replacement::Replaced, "a confirm of {}", cut(&same));
            store.assert_there(&there, "after a confirm").await;
        }
    }
    let first = records::registration(&records::subject());
    let there = store.begin(&first).await;
    let next = records::with_new_logos(&records::changed(&first));
    let there = store.advance(&there, &next).await;
    assert_eq!(store.confirm(&next).await, Replacement::Replaced, "a confirm of the next version");
    store.assert_there(&there, "after a confirm of the next version").await;
}

/// Returns what is stored: once with both logos left out of the comparison, once with each as it is.
fn of_equal_parts(whole: &Whole) -> [Registration; 2] {
    let kept = Registration::new((*whole.client).clone(), (*whole.application).clone());
    let named = |logo: &Option<_>| logo.clone().map_or(LogoWrite::Clear, LogoWrite::Put);
    let all = Registration { logo: named(&whole.logo), proposed_logo: named(&whole.proposed_logo), ..kept.clone() };
    [kept, all]
}

pub(in crate::testing) async fn of_another_registration_is_lost<S: ClientRegistry>(store: &S) {
    let store = &Applications(store);
    let missing = records::registration(&records::subject());
    assert_eq!(store.confirm(&missing).await, Replacement::Lost, "a confirm of a client that is not there");
    assert!(store.whole(missing.client.id()).await.is_none(), "a confirm of a missing client left something");
    let logo = store.logo(missing.client.id(), LogoSlot::InForce).await;
    assert!(logo.is_none(), "a confirm of a missing client left a logo");

    let first = records::registration(&records::subject());
    let there = store.begin(&first).await;
    let same = records::approved(&first);
    let there = store.advance(&there, &same).await;
    let put = || LogoWrite::Put(Arc::new(records::logo()));
    let mut other_client = same.clone();
    other_client.client.epoch += 1;
    let mut other_application = same.clone();
    other_application.application.rejection = Some("another".into());
    let others = [
        ("an earlier version", first),
        ("the same parts under a later version", records::numbered(&same, same.client.version() + 1)),
        ("a later version", records::changed(&same)),
        ("another client", other_client),
        ("another application", other_application),
        ("another logo", Registration { logo: put(), ..same.clone() }),
        ("no logo where there is one", Registration { logo: LogoWrite::Clear, ..same.clone() }),
        ("a proposed logo where there is none", Registration { proposed_logo: put(), ..same.clone() }),
    ];
    for (what, other) in &others {
        assert_eq!(store.confirm(other).await, Replacement::Lost, "a confirm of {what}");
        store.assert_there(&there, "after a confirm that lost").await;
    }
}

pub(in crate::testing) async fn all_succeed_at_once<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in MEETINGS {
        let first = records::with_new_logos(&records::registration(&records::subject()));
        let there = store.begin(&first).await;
        let calls = in_turn(store, another).take(CALLERS).map(|handle| handle.confirm(&first));
        let answers = at_once(meeting, calls).await;
        let won = answers.iter().filter(|answer| **answer == Replacement::Replaced).count();
        assert_eq!(won, CALLERS, "all {CALLERS} callers that confirm one registration should succeed");
        another.assert_there(&there, "after many confirms").await;
        store.advance(&there, &records::changed(&first)).await;
    }
}

pub(in crate::testing) async fn undoes_no_write<S: ClientRegistry>(store: &S, another: &S) {
    let (store, another) = (&Applications(store), &Applications(another));
    for meeting in meetings() {
        let first = &records::registration(&records::subject());
        let next = &records::changed(first);
        let there = &store.begin(first).await;
        let calls = in_turn(store, another).take(CALLERS).zip(0..).map(|(handle, number)| async move {
            if number == CALLERS / 2 {
                pause().await;
                handle.advance(there, next).await;
            } else {
                let _ = handle.confirm(first).await;
            }
        });
        at_once(meeting, calls).await;
        store.assert_there(&there.followed_by(next), "after confirms beside a replace").await;
    }
}
