//! What people see of an application: texts, pictures, and names that look like another's.

use std::slice::from_ref;

use grantor::application::{Field, Problem};
use grantor::scope::{
    Permissions, ResourceScope, ResourceScopeError, ScopeCatalog, ScopeCatalogError, ScopeDefinition,
};
use grantor::text::TextFault;
use grantor::{ClientId, Subject};

use crate::registration::{fields, refused_text, registrar};
use support::world::{Reviewer as _, With as _, World, form, logo};

/// Returns why a name is refused: the code point, its place and the fault.
async fn refused_name(world: &World, name: &str) -> (u32, usize, TextFault) {
    let form = form().with(|form| form.name = name.into());
    let outcome = registrar(world).submit(world.alice.clone(), form, Some(logo())).await;
    let (field, code, place, fault) = refused_text(outcome);
    assert_eq!(field, Field::Name);
    (code, place, fault)
}

async fn accepted_name(world: &World, name: &str) {
    let form = form().with(|form| form.name = name.into());
    let id = registrar(world).submit(world.alice.clone(), form, Some(logo())).await.unwrap();
    assert_eq!(registrar(world).application(&id).await.unwrap().form().name, name);
}

/// TXT-01, TXT-02, D-24
/// One text for each fault. The unit tests of `text` have the others.
#[tokio::test]
async fn misleading_texts_are_refused_with_their_place() {
    let world = World::platform().await;
    for (name, expected) in [
        ("Pay\u{200b}Pal", (0x200b, 4, TextFault::Invisible)),
        ("\u{202e}ppA", (0x202e, 1, TextFault::Direction)),
        ("App\nTrusted by the platform", (0xa, 4, TextFault::Control)),
        ("a\u{300}\u{301}\u{302}\u{303}\u{304}", (0x304, 6, TextFault::TooManyMarks)),
        ("a\u{301}\u{301}", (0x301, 3, TextFault::RepeatedMark)),
        ("App\u{e000}", (0xe000, 4, TextFault::PrivateUse)),
        ("App\u{fdd0}", (0xfdd0, 4, TextFault::Noncharacter)),
        (" x", (0x20, 1, TextFault::OuterBlank)),
        ("x  y", (0x20, 3, TextFault::DoubleBlank)),
    ] {
        assert_eq!(refused_name(&world, name).await, expected, "{name:?}");
    }
    let hebrew = "\u{5e9}\u{5b8}\u{5c1}\u{5dc}\u{5d5}\u{5b9}\u{5dd}";
    for name in ["\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}", "\u{645}\u{6cc}\u{200c}\u{62e}", "Tie\u{302}\u{301}ng", hebrew] {
        accepted_name(&world, name).await;
    }
    let form = form().with(|form| form.name = "Pay\u{200b}Pal".into());
    let error = registrar(&world).submit(world.alice.clone(), form, Some(logo())).await.unwrap_err();
    assert!(error.to_string().contains("U+200B"), "{error}");
}

/// TXT-03
#[tokio::test]
async fn every_text_shown_is_judged_alike() {
    let world = World::platform().await;
    for resource in ["acme/\u{202e}etis", "acme/si\u{200b}te", " acme/site"] {
        let refused = ResourceScope::specified([resource]);
        assert!(matches!(refused, Err(ResourceScopeError::Text(_))), "{resource:?}");
    }
    let scope = |title: &'static str| {
        let definition = ScopeDefinition::new("read", Permissions::Plain).with_title(title);
        ScopeCatalog::builder().scope(definition).build()
    };
    assert!(scope("Read \u{1f1e8}\u{1f1ed}").is_ok());
    assert!(matches!(scope("Read\u{200b}"), Err(ScopeCatalogError::Words { .. })));

    let described = |text: &str| form().with(|form| form.description = Some(text.into()));
    let submit = async |form| registrar(&world).submit(world.alice.clone(), form, Some(logo())).await;
    let refused = refused_text(submit(described("One.\nTw\u{200b}o.")).await);
    assert_eq!(refused, (Field::Description, 0x200b, 8, TextFault::Invisible));
    let id = submit(described("One.\n\nTwo.")).await.unwrap();
    let refused = refused_text(registrar(&world).reject_now(&id, "Your\u{202e}name").await);
    assert_eq!(refused, (Field::Reason, 0x202e, 5, TextFault::Direction));

    let website = |text: &str| form().with(|form| form.website = text.into());
    let a_label = Problem::HostNotAscii { a_label: "xn--bcher-kva.example".into() };
    assert!(a_label.to_string().contains("xn--bcher-kva.example"));
    assert_eq!(fields(submit(website("https://b\u{fc}cher.example/")).await), [(Field::Website, a_label)]);
    let id = submit(website("https://xn--bcher-kva.example/")).await.unwrap();
    let application = registrar(&world).application(&id).await.unwrap();
    assert_eq!(application.form().website, "https://xn--bcher-kva.example/");
}

async fn named(world: &World, owner: &str, name: &str) -> ClientId {
    let form = form().with(|form| form.name = name.into());
    registrar(world).submit(Subject::new(owner).unwrap(), form, Some(logo())).await.unwrap()
}

async fn look_alikes(world: &World, id: &ClientId) -> Vec<ClientId> {
    let application = registrar(world).application(id).await.unwrap();
    let alike = registrar(world).look_alikes(&application).await.unwrap();
    alike.iter().map(|other| other.id().clone()).collect()
}

/// TXT-04, TXT-05
#[tokio::test]
async fn the_reviewer_learns_of_names_that_look_alike() {
    let world = World::platform().await;
    let first = named(&world, "acme", "PayPal").await;
    assert_eq!(look_alikes(&world, &first).await, []);
    let own = named(&world, "acme", "Pay Pal").await;
    assert_eq!(look_alikes(&world, &own).await, [], "the same owner is no warning");

    // In each state except rejected, both the name in force and the proposed one.
    let other = named(&world, "mallory", "P\u{430}yPal").await;
    let mut both = [first.clone(), own.clone()];
    both.sort();
    assert_eq!(look_alikes(&world, &other).await, both);
    registrar(&world).approve_now(&first, grantor::Approval::default()).await.unwrap();
    registrar(&world).suspend(&first).await.unwrap();
    registrar(&world).reject_now(&own, "no").await.unwrap();
    assert_eq!(look_alikes(&world, &other).await, from_ref(&first));
    let renamed = form().with(|form| form.name = "Wallet".into());
    registrar(&world).change_now(&first, renamed, None).await.unwrap();
    let wallet = named(&world, "mallory", "Wallets").await;
    assert_eq!(look_alikes(&world, &other).await, from_ref(&first));
    assert_eq!(look_alikes(&world, &wallet).await, []);
    let wallet = named(&world, "mallory", "WALLET").await;
    assert_eq!(look_alikes(&world, &wallet).await, from_ref(&first));
    assert_eq!(look_alikes(&world, &first).await, from_ref(&wallet));

    // A name is also compared by what its letters look like together.
    let corn = named(&world, "acme", "corn").await;
    let com = named(&world, "mallory", "com").await;
    assert_eq!(look_alikes(&world, &com).await, [corn]);
    // A few are reported, however many of the same owner come first.
    for _ in 0..45 {
        named(&world, "acme", "Crowd").await;
    }
    for _ in 0..7 {
        named(&world, "mallory", "crowd").await;
    }
    let last = named(&world, "acme", "CROWD").await;
    let found = look_alikes(&world, &last).await;
    assert_eq!(found.len(), 5);
    for id in found {
        assert_eq!(registrar(&world).application(&id).await.unwrap().owner.as_ref().unwrap().as_str(), "mallory");
    }
}
