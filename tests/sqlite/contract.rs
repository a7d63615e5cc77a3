//! The contract of the stores where a file could break it.

use std::sync::Barrier;
use std::thread;

use futures::executor::block_on;
use grantor::store::{
    Authorization, ClientRegistry, ClientStore, CodeStore, Insertion, LogoWrite, Page, Registration, Replacement,
    TokenStore,
};
use grantor::{
    ApplicationFilter, Client, ClientId, ClientState, GrantId, Logo, LogoSlot, MemoryStore, RegistrationLimits,
    SqliteProblem, SqliteStore, Subject,
};

use crate::flow::move_to;
use crate::folder::Folder;
use crate::records::{Template, find, id, insert, other_connection, problem, replace};
use crate::world::{PKCE, PNG, Reviewer as _, SESSION, World, form, logo};

const CALLERS: u32 = 16;

#[test]
fn one_of_all_callers_inserts_and_one_replaces() {
    let store = SqliteStore::temporary().unwrap();
    let template = Template::new();
    let at_once = |act: &(dyn Fn(u32) -> bool + Sync)| {
        let barrier = Barrier::new(usize::try_from(CALLERS).unwrap());
        thread::scope(|scope| {
            let caller = |mark| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    act(mark)
                })
            };
            let callers: Vec<_> = (0..CALLERS).map(caller).collect();
            let won = callers.into_iter().map(|caller| caller.join().unwrap());
            won.zip(0..).filter(|(won, _)| *won).map(|(_, mark)| mark).collect::<Vec<u32>>()
        })
    };
    for number in 0..20 {
        let inserted =
            at_once(&|mark| insert(&store, template.marked(id(number), 1, mark)).unwrap() == Insertion::Inserted);
        assert_eq!(inserted.len(), 1);
        assert_eq!(find(&store, id(number)), Some(template.marked(id(number), 1, inserted[0])));
        let replaced = at_once(&|mark| {
            let answer = replace(&store, 1, template.marked(id(number), 2, mark)).unwrap();
            // What one caller was told, every other finds.
            assert_eq!(find(&store, id(number)).unwrap().version(), 2);
            answer == Replacement::Replaced
        });
        assert_eq!(replaced.len(), 1);
        assert_eq!(find(&store, id(number)), Some(template.marked(id(number), 2, replaced[0])));
    }
}

#[test]
fn versions_are_compared_over_their_whole_range() {
    let store = SqliteStore::temporary().unwrap();
    let template = Template::new();
    assert_eq!(replace(&store, 1, template.grant(id(1), 2)).unwrap(), Replacement::Lost, "there is no row");
    let _ = insert(&store, template.grant(id(1), u32::MAX - 1)).unwrap();
    for version in [0, 1, u32::MAX >> 1, u32::MAX] {
        assert_eq!(replace(&store, version, template.grant(id(1), 9)).unwrap(), Replacement::Lost, "{version}");
    }
    assert_eq!(replace(&store, u32::MAX - 1, template.grant(id(1), u32::MAX)).unwrap(), Replacement::Replaced);
    assert_eq!(find(&store, id(1)).unwrap().version(), u32::MAX);
}

#[test]
fn lists_are_ordered_as_ids_are_and_come_in_pages() {
    let store = SqliteStore::temporary().unwrap();
    let template = Template::new();
    let edge = |octets: [u8; 16]| GrantId::from_octets(octets);
    let mut ids: Vec<_> = (0..25).map(id).collect();
    ids.extend([edge([0; 16]), edge([0xff; 16]), edge([0x80; 16]), edge([0x7f; 16])]);
    for id in ids.iter().rev() {
        let _ = insert(&store, template.grant(*id, 1)).unwrap();
    }
    ids.sort();
    let alice = Subject::new("alice").unwrap();
    for limit in [1, 4, 29, 30, usize::MAX] {
        let mut found = Vec::new();
        let mut page = Page::first(limit);
        loop {
            let rows = block_on(store.grants_of(&alice, page)).unwrap();
            found.extend(rows.iter().map(|row| row.id()));
            match rows.last().filter(|_| rows.len() == limit) {
                Some(last) => page = Page::after(last.id(), limit),
                None => break,
            }
        }
        assert_eq!(found, ids, "in pages of {limit}");
    }
}

#[test]
fn subjects_are_told_apart_by_every_octet() {
    let names = ["a", "A", "a ", "a\0", "\0a", "a\0b", "\u{e9}", "e\u{301}", "1", "01", "1.0", "%", "'", "\u{1f600}"];
    let mut world = block_on(World::platform());
    let store = SqliteStore::temporary().unwrap();
    move_to(&mut world, store.clone());
    let client = block_on(world.register(form()));
    let mut held: Vec<(Subject, String)> = Vec::new();
    for name in names {
        world.alice = Subject::new(name).unwrap();
        let pending = block_on(world.authorize(&world.query_of(&client, &PKCE))).unwrap();
        let handle = block_on(world.server.hold(&pending, &world.alice, SESSION)).unwrap();
        held.push((world.alice.clone(), handle.expose().to_owned()));
    }
    for (subject, handle) in &held {
        let found = block_on(store.authorizations_of(subject, Page::first(10))).unwrap();
        assert_eq!(found.len(), 1, "{subject:?}");
        assert_eq!(found[0].subject(), subject);
        assert!(handle.contains(&found[0].id().to_string()));
        let again = block_on(CodeStore::find(&store, &found[0].id())).unwrap().unwrap();
        assert_eq!(again.encode(), found[0].encode());
    }
}

/// Every state of a registration, as a server writes them.
fn versions() -> Vec<Registration> {
    let world = block_on(World::platform());
    let registrar = world.server.registrar().unwrap();
    let mut versions = Vec::new();
    let mut keep = |id: &ClientId, logo: LogoWrite, proposed: LogoWrite| {
        let client = Client::clone(&block_on(world.store.current(id)).unwrap().unwrap());
        let application = block_on(world.store.application(id)).unwrap().unwrap();
        let mut registration = Registration::new(client, (*application).clone());
        registration.logo = logo;
        registration.proposed_logo = proposed;
        versions.push(registration);
    };
    let id = block_on(registrar.submit(Subject::new("developer").unwrap(), form(), Some(logo()))).unwrap();
    keep(&id, LogoWrite::Put(logo().into()), LogoWrite::Clear);
    block_on(registrar.approve_now(&id, grantor::Approval::default())).unwrap();
    keep(&id, LogoWrite::Keep, LogoWrite::Keep);
    block_on(registrar.change(&id, form(), Some(other_logo()))).unwrap();
    keep(&id, LogoWrite::Keep, LogoWrite::Put(other_logo().into()));
    block_on(registrar.approve_now(&id, grantor::Approval::default())).unwrap();
    keep(&id, LogoWrite::Put(other_logo().into()), LogoWrite::Clear);
    block_on(registrar.suspend(&id)).unwrap();
    keep(&id, LogoWrite::Keep, LogoWrite::Keep);
    versions
}

fn other_logo() -> Logo {
    logo_of(100_000, 0)
}

fn logo_of(octets: usize, fill: u8) -> Logo {
    Logo::new([PNG, &vec![fill; octets - PNG.len()]].concat(), &RegistrationLimits::default()).unwrap()
}

/// A submission and its approval, each with a logo of so many octets, unlike that of the other.
pub(crate) fn two_versions_with_logos(octets: usize) -> [Registration; 2] {
    let mut versions = versions();
    versions.truncate(2);
    for (registration, fill) in versions.iter_mut().zip(0..) {
        registration.logo = LogoWrite::Put(logo_of(octets, fill).into());
    }
    versions.try_into().unwrap()
}

#[test]
fn a_registration_goes_the_same_way_as_in_memory() {
    let versions = versions();
    let id = versions[0].client.id().clone();
    let file = SqliteStore::temporary().unwrap();
    let memory = MemoryStore::new();
    let states = [ClientState::Pending, ClientState::Approved, ClientState::Rejected, ClientState::Suspended];
    let owners = ["developer", "nobody"].map(|name| ApplicationFilter::OwnedBy(Subject::new(name).unwrap()));
    let filters: Vec<_> = [ApplicationFilter::All, ApplicationFilter::AwaitingReview]
        .into_iter()
        .chain(states.map(ApplicationFilter::InState))
        .chain(owners)
        .collect();
    for (number, registration) in versions.iter().enumerate() {
        match number.checked_sub(1) {
            None => {
                let _ = block_on(ClientRegistry::insert(&memory, registration.clone())).unwrap();
                let answer = block_on(ClientRegistry::insert(&file, registration.clone())).unwrap();
                assert_eq!(answer, Insertion::Inserted);
            }
            Some(before) => {
                let version = versions[before].client.version();
                let _ = block_on(ClientRegistry::replace(&memory, version, registration.clone())).unwrap();
                let answer = block_on(ClientRegistry::replace(&file, version, registration.clone())).unwrap();
                assert_eq!(answer, Replacement::Replaced);
                let again = block_on(ClientRegistry::replace(&file, version, versions[before].clone())).unwrap();
                assert_eq!(again, Replacement::Lost);
                assert_eq!(block_on(ClientRegistry::insert(&file, versions[0].clone())).unwrap(), Insertion::Exists);
            }
        }
        assert_eq!(block_on(ClientStore::find(&file, &id)).unwrap().as_deref(), Some(&registration.client));
        assert_eq!(block_on(file.current(&id)).unwrap(), block_on(memory.current(&id)).unwrap());
        assert_eq!(block_on(file.application(&id)).unwrap(), block_on(memory.application(&id)).unwrap());
        for slot in [LogoSlot::InForce, LogoSlot::Proposed] {
            let expected = block_on(memory.logo(&id, slot)).unwrap();
            assert_eq!(block_on(file.logo(&id, slot)).unwrap(), expected, "{slot:?} of {number}");
        }
        for filter in &filters {
            let expected = block_on(memory.list(filter, Page::first(10))).unwrap();
            assert_eq!(block_on(file.list(filter, Page::first(10))).unwrap(), expected, "{filter:?} of {number}");
            let behind = block_on(file.list(filter, Page::after(id.clone(), 10))).unwrap();
            assert!(behind.is_empty());
        }
    }
    let nobody = ClientId::new("nobody").unwrap();
    assert_eq!(block_on(ClientStore::find(&file, &nobody)).unwrap(), None);
    assert_eq!(block_on(file.application(&nobody)).unwrap(), None);
    assert_eq!(block_on(file.logo(&nobody, LogoSlot::InForce)).unwrap(), None);
    let empty = SqliteStore::temporary().unwrap();
    assert_eq!(block_on(ClientRegistry::replace(&empty, 1, versions[1].clone())).unwrap(), Replacement::Lost);
    assert!(block_on(empty.list(&ApplicationFilter::All, Page::first(1))).unwrap().is_empty());
}

/// Its three tables and its lists change together or not at all, whichever of the statements fails.
#[test]
fn a_registration_that_fails_half_way_leaves_no_trace() {
    let versions = versions();
    let folder = Folder::new("half-way");
    let store = SqliteStore::open(folder.file()).unwrap();
    let template = Template::new();
    let client = versions[0].client.id();
    let fails = other_connection(&folder.file());
    let fail_on = |table: &str, when: &str| {
        let sql = format!("CREATE TRIGGER fails BEFORE {when} ON {table} BEGIN SELECT RAISE(ABORT, 'no'); END");
        fails.execute_batch(&sql).unwrap();
    };
    for table in ["applications", "application_lists", "logos"] {
        fail_on(table, "INSERT");
        let error = block_on(ClientRegistry::insert(&store, versions[0].clone())).unwrap_err();
        assert!(!error.is_transient());
        assert_eq!(problem(&error), SqliteProblem::Refused);
        assert_eq!(block_on(store.current(client)).unwrap(), None, "{table}");
        assert_eq!(block_on(store.application(client)).unwrap(), None, "{table}");
        assert!(block_on(store.list(&ApplicationFilter::All, Page::first(1))).unwrap().is_empty(), "{table}");
        fails.execute_batch("DROP TRIGGER fails").unwrap();
    }
    let _ = block_on(ClientRegistry::insert(&store, versions[0].clone())).unwrap();
    let before = block_on(store.current(client)).unwrap();
    for (table, when) in [("applications", "UPDATE"), ("application_lists", "INSERT"), ("application_lists", "DELETE")]
    {
        fail_on(table, when);
        let version = versions[0].client.version();
        let error = block_on(ClientRegistry::replace(&store, version, versions[1].clone())).unwrap_err();
        assert_eq!(problem(&error), SqliteProblem::Refused);
        assert_eq!(block_on(store.current(client)).unwrap(), before, "{table}");
        let listed = block_on(store.list(&ApplicationFilter::AwaitingReview, Page::first(1))).unwrap();
        assert_eq!(listed.len(), 1, "{table}");
        fails.execute_batch("DROP TRIGGER fails").unwrap();
    }
    let _ = insert(&store, template.grant(id(1), 1)).unwrap();
}

#[test]
fn everything_acknowledged_is_there_after_the_file_is_opened_again() {
    let folder = Folder::new("again");
    let template = Template::new();
    let world = block_on(World::platform());
    block_on(world.code());
    let authorization = block_on(world.store.authorizations_of(&world.alice, Page::first(1))).unwrap().remove(0);
    let registration = versions().remove(0);
    for round in 0..3 {
        let store = SqliteStore::open(folder.file()).unwrap();
        for number in 0..10 {
            let number = round * 10 + number;
            assert_eq!(insert(&store, template.grant(id(number), 1)).unwrap(), Insertion::Inserted);
            assert_eq!(replace(&store, 1, template.grant(id(number), 2)).unwrap(), Replacement::Replaced);
        }
        if round == 0 {
            let _ = block_on(CodeStore::insert(&store, authorization.clone())).unwrap();
            let _ = block_on(ClientRegistry::insert(&store, registration.clone())).unwrap();
        }
    }
    let store = SqliteStore::open(folder.file()).unwrap();
    for number in 0..30 {
        assert_eq!(find(&store, id(number)), Some(template.grant(id(number), 2)));
    }
    let found = block_on(CodeStore::find(&store, &authorization.id())).unwrap();
    assert_eq!(found.as_deref().map(Authorization::encode), Some(authorization.encode()));
    let client = block_on(ClientStore::find(&store, registration.client.id())).unwrap();
    assert_eq!(client.as_deref(), Some(&registration.client));
}

#[test]
fn clones_share_their_contents_and_two_stores_share_a_file() {
    let folder = Folder::new("clones");
    let template = Template::new();
    let store = SqliteStore::open(folder.file()).unwrap();
    let others = [store.clone(), SqliteStore::open(folder.file()).unwrap()];
    for (number, other) in (0..).zip(&others) {
        for round in 0..20 {
            let id = id(number * 100 + round);
            assert_eq!(insert(&store, template.grant(id, 1)).unwrap(), Insertion::Inserted);
            assert_eq!(insert(other, template.grant(id, 1)).unwrap(), Insertion::Exists);
            assert_eq!(replace(other, 1, template.grant(id, 2)).unwrap(), Replacement::Replaced);
            assert_eq!(find(&store, id), Some(template.grant(id, 2)));
            assert_eq!(replace(&store, 1, template.grant(id, 2)).unwrap(), Replacement::Lost);
        }
    }
    assert_eq!(find(&SqliteStore::temporary().unwrap(), id(0)), None, "another store is another");
}
