//! A server with one of everything that a request can present.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use grantor::MemoryStore;
use grantor::config::Profile;
use grantor::store::{Authorization, Grant, Page, Record, RecordStore};

use support::world::{AnyStore, World, config_of, form, pair, public_form};

/// Records that a stage may have before it is built anew.
const RECORDS: usize = 64;

/// Returns the answer of a server over the memory store, which is ready at once.
pub(super) fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the memory store never waits"),
    }
}

/// A server, its clients, and their codes and tokens in every state.
pub(super) struct Stage {
    pub(super) world: World,
    /// Names that inputs write in braces, and the texts that replace them.
    pub(super) props: Vec<(&'static str, String)>,
}

/// What a stage's store holds.
#[derive(PartialEq, Eq)]
pub(super) struct Contents {
    grants: Vec<Vec<u8>>,
    pub(super) authorizations: Vec<Vec<u8>>,
}

impl Stage {
    fn new(profile: Profile) -> Self {
        at_once(Self::put_up(profile))
    }

    async fn put_up(profile: Profile) -> Self {
        let mut config = config_of(profile);
        config.public_clients = true;
        // Each is one more input to check, or one more kind of answer.
        config.bearer_in_body = profile == Profile::Platform;
        let store = AnyStore::over(MemoryStore::new());
        let world = World::on(store, config, |builder| builder).await;
        let mut of_device = public_form();
        of_device.redirect_uris = vec!["http://127.0.0.1/cb".to_owned()];
        if profile == Profile::Platform {
            of_device.redirect_uris.push("com.example.app:/cb".to_owned());
        }
        let (public, stranger) = (world.register(of_device).await, world.register(form()).await);
        let (old, twin) = (world.pair().await, world.pair().await);
        let live = pair(&world.refresh(&old.refresh).await);
        // Later than every grace, and early enough for the codes that follow.
        world.advance(400);
        let foreign = world.pair_of(&stranger).await;
        let dead = world.pair().await;
        world.revoke(&dead.refresh).await;
        let spent = world.code().await;
        world.exchange(&spent).await;
        let (code, bare) = (world.code().await, world.code().await);
        let basic = STANDARD.encode(format!("{}:{}", world.client.id, world.client.secret));
        // Prefix and id, then family id, end and number; or family id and the beginning of the end.
        let (front, family_id) = (old.refresh[..57].to_owned(), old.refresh[..49].to_owned());
        let props = vec![
            ("front", front),
            ("family id", family_id),
            ("client", world.client.id.clone()),
            ("secret", world.client.secret.clone()),
            ("basic", basic),
            ("public", public.id.clone()),
            ("stranger", stranger.id.clone()),
            ("access", live.access),
            ("refresh", live.refresh),
            ("twin", twin.refresh),
            ("old", old.refresh),
            ("foreign", foreign.access),
            ("foreign_refresh", foreign.refresh),
            ("dead", dead.access),
            ("dead_refresh", dead.refresh),
            ("spent", spent),
            ("code", code),
            ("bare", bare),
        ];
        world.events.take();
        Self { world, props }
    }

    /// The text that replaces a name.
    pub(super) fn prop(&self, name: &str) -> &str {
        let found = self.props.iter().find(|(own, _)| *own == name);
        found.map(|(_, text)| text.as_str()).unwrap()
    }

    /// Replaces the names in braces by their texts.
    pub(super) fn expand(&self, input: &[u8]) -> Vec<u8> {
        let mut expanded = Vec::with_capacity(input.len());
        let mut rest = input;
        while let [first, after @ ..] = rest {
            let prop = (*first == b'{').then(|| self.prop_at(after)).flatten();
            let (bytes, after) = match &prop {
                Some((text, after)) => (text.as_bytes(), *after),
                None => (std::slice::from_ref(first), after),
            };
            expanded.extend_from_slice(bytes);
            rest = after;
        }
        expanded
    }

    /// The text for the name that ends at the first brace, and what follows it.
    fn prop_at<'i>(&self, input: &'i [u8]) -> Option<(&str, &'i [u8])> {
        let end = input.iter().take(20).position(|byte| *byte == b'}')?;
        let (_, text) = self.props.iter().find(|(own, _)| own.as_bytes() == &input[..end])?;
        Some((text, &input[end + 1..]))
    }

    pub(super) fn contents(&self) -> Contents {
        let authorizations = at_once(RecordStore::<Authorization>::list(
            &self.world.store,
            self.world.alice.as_str(),
            Page::first(1000),
        ))
        .unwrap();
        Contents {
            grants: self.grants().into_iter().map(without_version).collect(),
            authorizations: authorizations.iter().map(|own| without_version(own.encode())).collect(),
        }
    }

    pub(super) fn grants(&self) -> Vec<Vec<u8>> {
        let grants =
            at_once(RecordStore::<Grant>::list(&self.world.store, self.world.alice.as_str(), Page::first(1000)))
                .unwrap();
        grants.iter().map(|grant| grant.encode()).collect()
    }
}

/// A record without its version, which every write draws anew.
fn without_version(mut record: Vec<u8>) -> Vec<u8> {
    record[18..22].fill(0);
    record
}

impl Contents {
    pub(super) fn same_grants(&self, other: &Self) -> bool {
        self.grants == other.grants
    }

    fn is_crowded(&self) -> bool {
        self.grants.len() + self.authorizations.len() > RECORDS
    }
}

thread_local! {
    /// One of each profile, as the last play left it.
    static STAGES: RefCell<Vec<(Profile, Stage)>> = const { RefCell::new(Vec::new()) };
}

/// Plays on a stage of that profile, which is kept if its grants are what they were before.
pub(super) fn play<T>(profile: Profile, scene: impl FnOnce(&Stage) -> T) -> T {
    let kept = STAGES.with_borrow_mut(|stages| {
        let place = stages.iter().position(|(own, _)| *own == profile)?;
        Some(stages.swap_remove(place).1)
    });
    let stage = kept.unwrap_or_else(|| Stage::new(profile));
    let before = stage.contents();
    let outcome = scene(&stage);
    let after = stage.contents();
    if after.same_grants(&before) && !after.is_crowded() {
        stage.world.events.take();
        STAGES.with_borrow_mut(|stages| stages.push((profile, stage)));
    }
    outcome
}
