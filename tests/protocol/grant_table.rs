//! The tables of states in `src/guide/design.md`: each state is built, each action is performed, and the
//! outcome is compared with the cell.

use std::time::Duration;

use grantor::config::Profile;
use grantor::store::{Grant, Page, Record, RecordStore};
use grantor::{ApplicationForm, Consent, Decision};

use crate::grant_states::{record, restore};
use support::world::{self, Credentials, PKCE, Pair, SESSION, VERIFIER, With as _, World, form, pair, text};

const GUIDE: &str = include_str!("../../src/guide/design.md");

/// Returns the rows of the table whose head begins with that text: the state, then the outcome of each action.
fn table(head: &str) -> Vec<Vec<String>> {
    let lines = GUIDE.lines().skip_while(|line| !line.starts_with(&format!("| {head} |")));
    let rows = lines.take_while(|line| line.starts_with('|')).filter(|line| !line.starts_with("|---"));
    let cells = |line: &str| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
    rows.map(cells).collect()
}

/// 9700-4.14.2-02
#[tokio::test]
async fn every_cell_of_the_table_of_pairs_holds() {
    let table = table("state of the pair");
    let (head, rows) = table.split_first().unwrap();
    assert_eq!(rows.len(), 14);
    for row in rows {
        for (column, expected) in head.iter().zip(row).skip(1) {
            let scene = Scene::of(&row[0]).await;
            let seen = scene.act(column).await;
            assert_eq!(&seen, expected, "{}: {column}", row[0]);
        }
    }
}

/// 6749-4.1.2-02
#[tokio::test]
async fn every_cell_of_the_table_of_codes_holds() {
    let table = table("state of the code");
    let (head, rows) = table.split_first().unwrap();
    assert_eq!(rows.len(), 6);
    for row in rows {
        for (column, expected) in head.iter().zip(row).skip(1) {
            assert_eq!(&code_cell(&row[0], column).await, expected, "{}: {column}", row[0]);
        }
    }
}

/// A grant with one pair in the state of the table.
struct Scene {
    world: World,
    client: Credentials,
    pair: Pair,
    /// The pair of the grant that is newest.
    newest: Pair,
}

impl Scene {
    async fn of(state: &str) -> Self {
        // In this state the lifetime of an access token is shorter than the grace.
        let ends_in_grace = state == "in grace, newest access token expired";
        let world = World::with(Profile::Platform, |config| {
            if ends_in_grace {
                config.tokens.access_lifetime = Duration::from_secs(200);
            }
        })
        .await;
        let client = world.client.clone();
        let first = world.pair().await;
        let mut scene = Self { world, client, newest: first.clone(), pair: first };
        match state {
            "current" => {}
            "access token expired" => scene.world.advance(28_800),
            "access token revoked" => drop(scene.world.revoke(&scene.pair.access).await),
            "in grace" | "in grace, newest access token expired" => scene.superseded(299).await,
            "in grace, newest access token revoked" => {
                scene.superseded(299).await;
                drop(scene.world.revoke(&scene.newest.access).await);
            }
            "past grace" => scene.superseded(300).await,
            "forgotten" => {
                scene.superseded(28_800).await;
                scene.newest = pair(&scene.world.refresh(&scene.newest.refresh).await);
            }
            "expired" => scene.world.advance(15_552_000),
            "number above the count" => scene.lost().await,
            "forked" => {
                let first = scene.pair.clone();
                scene.lost().await;
                scene.newest = pair(&scene.world.refresh(&first.refresh).await);
            }
            "of a revoked grant" => drop(scene.world.revoke(&scene.pair.refresh).await),
            "from before all grants of its client were revoked" => {
                let registrar = scene.world.server.registrar().unwrap();
                registrar.revoke_grants(&scene.client.client_id()).await.unwrap();
            }
            "of a suspended client" => {
                let registrar = scene.world.server.registrar().unwrap();
                registrar.suspend(&scene.client.client_id()).await.unwrap();
            }
            other => panic!("no scene for {other}"),
        }
        scene.world.events.take();
        scene
    }

    async fn superseded(&mut self, seconds: u64) {
        self.newest = pair(&self.world.refresh(&self.pair.refresh).await);
        self.world.advance(seconds);
    }

    /// Makes the pair the second one, and lets the store lose it.
    async fn lost(&mut self) {
        let backup = record(&self.world).await.encode();
        self.pair = pair(&self.world.refresh(&self.pair.refresh).await);
        restore(&mut self.world, &backup).await;
    }

    async fn act(&self, column: &str) -> String {
        let before = self.grant_is_live().await;
        match column {
            "refresh" => {
                let response = self.world.refresh(&self.pair.refresh).await;
                match response.status() {
                    200 if pair(&response) == self.newest => "newest pair",
                    200 if pair(&response).refresh == self.newest.refresh => "further access token",
                    200 => "new pair",
                    _ if before && !self.grant_is_live().await => "grant revoked",
                    _ => "refused",
                }
            }
            "use" => {
                if self.world.opens(&self.pair.access).await {
                    "accepted"
                } else {
                    "refused"
                }
            }
            "revoke the access token" => self.revoked(&self.pair.access, before).await,
            "revoke the refresh token" => self.revoked(&self.pair.refresh, before).await,
            other => panic!("no act for {other}"),
        }
        .to_owned()
    }

    async fn revoked(&self, token: &str, before: bool) -> &'static str {
        let opened = self.world.opens(&self.pair.access).await;
        let response = self.world.revoke(token).await;
        if response.status() != 200 {
            return "refused";
        }
        if before && !self.grant_is_live().await {
            return "grant revoked";
        }
        if opened && !self.world.opens(&self.pair.access).await { "access token dead" } else { "nothing" }
    }

    async fn grant_is_live(&self) -> bool {
        !self.world.server.grants_of(&self.world.alice).await.unwrap().is_empty()
    }
}

async fn code_cell(state: &str, column: &str) -> String {
    let world = World::platform().await;
    let other = world.register(other_form()).await;
    let pending = world.authorize(&world.query(&PKCE)).await.unwrap();
    let handle = world.server.hold(&pending, &world.alice, SESSION).await.unwrap();
    let decision = Decision::Approve(Consent::to_everything());
    let answer = async || world.server.decide(handle.expose(), &world.alice, SESSION, &decision).await.unwrap();
    let code = text(&world::code(&answer().await), "code");
    match state {
        "issued" => {}
        "expired" => world.advance(600),
        "spent" => drop(pair(&world.exchange(&code).await)),
        "spent, and sent twice" => {
            assert_eq!(text(&world::code(&answer().await), "code"), code);
            drop(pair(&world.exchange(&code).await));
        }
        "spent and past its end" => {
            drop(pair(&world.exchange(&code).await));
            world.advance(600);
        }
        "killed" => drop(world.server.revoke_subject(&world.alice).await.unwrap()),
        other => panic!("no code for {other}"),
    }
    let live = |grants: usize| grants > 0;
    let before = live(world.server.grants_of(&world.alice).await.unwrap().len());
    let wrong = format!("{VERIFIER}x");
    let response = match column {
        "exchange" => world.exchange(&code).await,
        "exchange with a wrong verifier" => {
            let form = [("grant_type", "authorization_code"), ("code", &code), ("code_verifier", &wrong)];
            world.token(&form).client(&world.client).send().await
        }
        "exchange by another client" => world.exchange_as(&other, &code).await,
        "revoke the subject" => {
            let withdrawn = world.server.revoke_subject(&world.alice).await.unwrap();
            let rows = RecordStore::<Grant>::list(&world.store, world.alice.as_str(), Page::first(10)).await.unwrap();
            assert!(rows.iter().all(|grant| grant.revoked().is_some()));
            assert_ne!(world.exchange(&code).await.status(), 200);
            return match (before, withdrawn) {
                (true, 1) => "grant revoked",
                (false, 1) => "code dead",
                _ => "nothing",
            }
            .to_owned();
        }
        other => panic!("no act for {other}"),
    };
    let after = live(world.server.grants_of(&world.alice).await.unwrap().len());
    match (response.status(), before, after) {
        (200, false, true) => "new pair",
        (400, true, false) => "grant revoked",
        (400, before, after) if before == after => "refused",
        seen => panic!("{state}, {column}: {seen:?}"),
    }
    .to_owned()
}

fn other_form() -> ApplicationForm {
    form().with(|form| form.name = "Another App".into())
}
