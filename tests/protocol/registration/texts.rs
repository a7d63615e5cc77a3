//! What people see of an application: texts, pictures, and names that look like another's.

use std::slice::from_ref;

use grantor::application::{ApplicationFilter, Field, Logo, Problem, RegistrationLimits};
use grantor::scope::{
    Permissions, ResourceScope, ResourceScopeError, ScopeCatalog, ScopeCatalogError, ScopeDefinition,
};
use grantor::store::Page;
use grantor::text::TextFault;
use grantor::{Application, ClientId, Subject};

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

/// TXT-01
#[tokio::test]
async fn invisible_characters_are_refused_outside_emoji_and_spelling() {
    let world = World::platform().await;
    for (name, code, place) in [
        ("Pay\u{200b}Pal", 0x200b, 4),
        ("Pay\u{ad}Pal", 0xad, 4),
        ("Pay\u{2060}Pal", 0x2060, 4),
        ("Pay\u{3164}", 0x3164, 4),
        ("PayPal\u{e0041}", 0xe0041, 7),
        ("PayPal\u{fe0f}", 0xfe0f, 7),
        ("Pay\u{200d}Pal", 0x200d, 4),
    ] {
        assert_eq!(refused_name(&world, name).await, (code, place, TextFault::Invisible), "{name:?}");
    }
    for name in [
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\u{200d}\u{1f466} Family",
        "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
        "\u{1f1e8}\u{1f1ed} and \u{1f3f3}\u{fe0f}\u{200d}\u{1f308}",
        "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
    ] {
        accepted_name(&world, name).await;
    }
    let form = form().with(|form| form.name = "Pay\u{200b}Pal".into());
    let error = registrar(&world).submit(world.alice.clone(), form, Some(logo())).await.unwrap_err();
    assert!(error.to_string().contains("U+200B"), "{error}");
}

/// TXT-02
#[tokio::test]
async fn accents_private_characters_and_blanks_are_bounded() {
    let world = World::platform().await;
    let many = format!("a{}", "\u{301}\u{300}".repeat(24));
    for (name, expected) in [
        ("a\u{300}\u{301}\u{302}\u{303}\u{304}", (0x304, 6, TextFault::TooManyMarks)),
        (&*many, (0x301, 6, TextFault::TooManyMarks)),
        ("a\u{301}\u{301}", (0x301, 3, TextFault::RepeatedMark)),
        ("App\u{e000}", (0xe000, 4, TextFault::PrivateUse)),
        ("App\u{fdd0}", (0xfdd0, 4, TextFault::Noncharacter)),
        (" x", (0x20, 1, TextFault::OuterBlank)),
        ("x ", (0x20, 2, TextFault::OuterBlank)),
        ("x  y", (0x20, 3, TextFault::DoubleBlank)),
    ] {
        assert_eq!(refused_name(&world, name).await, expected, "{name:?}");
    }
    let hebrew = "\u{5e9}\u{5b8}\u{5c1}\u{5dc}\u{5d5}\u{5b9}\u{5dd}";
    for name in ["Ti\u{1ebf}ng Vi\u{1ec7}t", "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t", hebrew] {
        accepted_name(&world, name).await;
    }
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

/// TXT-04
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

/// TXT-04
///
/// Each key of a name takes one read of an index, regardless of how many other names there are. The kit checks the
/// cost of such a read.
#[tokio::test]
async fn a_look_alike_is_found_among_many_others() {
    let world = World::platform().await;
    for number in 0..300 {
        named(&world, "others", &format!("Application {number}")).await;
    }
    let one = named(&world, "acme", "corn").await;
    let other = named(&world, "mallory", "com").await;
    assert_eq!(look_alikes(&world, &other).await, [one]);
    let application = registrar(&world).application(&other).await.unwrap();
    let lists: Vec<_> = keys(&application).collect();
    assert!((1..=2).contains(&lists.len()), "{lists:?}");
    for filter in lists {
        assert_eq!(registrar(&world).list(&filter, Page::first(100)).await.unwrap().len(), 2);
    }
}

fn keys(application: &Application) -> impl Iterator<Item = ApplicationFilter> {
    application.filters().filter(|filter| matches!(filter, ApplicationFilter::LooksLike(_)))
}

/// TXT-05
#[tokio::test]
async fn names_look_alike_by_either_of_two_keys() {
    for (one, other, alike) in [
        ("PayPal", "P\u{430}yP\u{430}l", true),
        ("PayPal", "paypaI", true),
        ("PayPal", "Pay-Pal", true),
        ("PayPal", "\u{ff30}\u{ff41}\u{ff59}\u{ff30}\u{ff41}\u{ff4c}", true),
        ("PayPal", "PAYPAL", true),
        ("IBM", "ibm", true),
        ("corn", "com", true),
        ("B\u{fc}cher", "Bucher", false),
    ] {
        let world = World::platform().await;
        let first = named(&world, "acme", one).await;
        let second = named(&world, "mallory", other).await;
        assert_eq!(look_alikes(&world, &second).await, if alike { vec![first] } else { Vec::new() }, "{one} {other}");
    }
}

/// A header of 1 by 1 pixels in each format, the offset of its sides, and their byte order.
const IMAGES: [(&[u8], usize, &str); 4] = [
    (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0", 18, "big"),
    (b"\xff\xd8\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x11\0\0", 7, "big"),
    (b"GIF89a\x01\0\x01\0\0\0\0", 6, "little"),
    (b"RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\x10\0\0\x9d\x01\x2a\x01\0\x01\0", 26, "little"),
];

/// IMG-01
#[tokio::test]
async fn a_logo_has_sides_of_1_to_2048_pixels() {
    let limits = RegistrationLimits::default();
    for (image, start, order) in IMAGES {
        // A side of a PNG has four bytes; this is its lower half.
        let second = if image.starts_with(b"\x89") { start + 4 } else { start + 2 };
        for (one, two, accepted) in [(1, 1, true), (2048, 2048, true), (2049, 1, false), (0, 1, false), (1, 0, false)] {
            let mut bytes = image.to_vec();
            let written = |side: u16| if order == "big" { side.to_be_bytes() } else { side.to_le_bytes() };
            bytes[start..start + 2].copy_from_slice(&written(one));
            bytes[second..second + 2].copy_from_slice(&written(two));
            let refused = Logo::new(bytes, &limits).err().map(|error| (error.field(), error.problem().clone()));
            let expected = (Field::Logo, Problem::Dimensions { limit: 2048 });
            assert_eq!(refused, (!accepted).then_some(expected), "{one} {two} {image:?}");
        }
    }
    let mut huge = IMAGES[0].0.to_vec();
    huge[16..20].copy_from_slice(&100_000_u32.to_be_bytes());
    huge[20..24].copy_from_slice(&100_000_u32.to_be_bytes());
    assert!(huge.len() <= 60 && Logo::new(huge.clone(), &limits).is_err());
    let error = Logo::new(huge.clone(), &limits).unwrap_err();
    assert!(error.to_string().contains("2048"), "{error}");
    // A logo that was decoded without the limits is checked on submission.
    let world = World::platform().await;
    let huge = Logo::decode(huge).unwrap();
    let outcome = registrar(&world).submit(world.alice.clone(), form(), Some(huge)).await;
    assert_eq!(fields(outcome), [(Field::Logo, Problem::Dimensions { limit: 2048 })]);

    let jpeg = IMAGES[1].0;
    let metadata = [b"\xff\xe1\xff\xff", &[0xff; 65_533][..]].concat().repeat(5);
    assert!(Logo::new([&jpeg[..2], &metadata, &jpeg[2..]].concat(), &limits).is_ok());
    let error = Logo::new([&jpeg[..2], &metadata, b"\xff\xd9"].concat(), &limits).unwrap_err();
    assert_eq!(error.problem(), &Problem::NotAnImage);
}

/// IMG-02
#[test]
fn an_animated_logo_is_refused() {
    let limits = RegistrationLimits::default();
    let gif = IMAGES[2].0;
    let frame = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    assert!(Logo::new([gif, frame, b";"].concat(), &limits).is_ok());
    let control = b"\0\0\0\x08acTL\0\0\0\x02\0\0\0\0\0\0\0\0";
    let canvas = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\0\0\0\0\0\0ANIM\x06\0\0\0\0\0\0\0\0\0";
    for image in [[gif, frame, frame, b";"].concat(), [IMAGES[0].0, b"\0\0\0\0", control].concat(), canvas.to_vec()] {
        let error = Logo::new(image, &limits).unwrap_err();
        assert_eq!((error.problem(), &*error.to_string()), (&Problem::Animated, "logo: is animated"));
    }
}
