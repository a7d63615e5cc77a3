//! What a connection goes through, flow after flow.
//!
//! Tokens last 30 s here and are in grace for 5 s, see [`crate::soak::server`]. Where the load itself comes too late to
//! know on which side of such a bound the server answers, it gives the flow up.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use crate::soak::application::Application;
use crate::soak::connection::{Connection, Stop};
use crate::soak::steps::{SURELY_LIVE, Tokens};

/// Superseded tokens younger than this are in grace.
const SURELY_IN_GRACE: Duration = Duration::from_secs(3);
/// Grace and margin, 360 s of the server's clock, have passed.
const SURELY_REUSED: Duration = Duration::from_millis(6500);

/// What the flows of a connection end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// What a client does.
    Client,
    /// The user revokes the access of the application on the platform's page.
    Revokes,
}

/// The flows of one connection.
#[derive(Debug)]
pub(crate) struct Flows<'a> {
    pub(crate) connection: Connection<'a>,
    pub(crate) application: &'a Application,
    role: Role,
    pub(crate) cookies: String,
    pub(crate) turn: u32,
    /// One grant that is refreshed with every turn.
    chain: Option<Tokens>,
    reusable: VecDeque<Reusable>,
}

/// A superseded refresh token that waits until its use is a reuse.
#[derive(Clone, Debug)]
struct Reusable {
    superseded: Tokens,
    /// After the refresh.
    since: Instant,
    newest: Tokens,
}

impl<'a> Flows<'a> {
    pub(crate) const fn new(
        connection: Connection<'a>,
        application: &'a Application,
        role: Role,
        cookies: String,
        turn: u32,
    ) -> Self {
        Self { connection, application, role, cookies, turn, chain: None, reusable: VecDeque::new() }
    }

    /// Runs one flow after the other until the load ends.
    pub(crate) fn run(mut self) {
        while self.flow() != Err(Stop::Over) {
            self.turn += 1;
        }
    }

    fn flow(&mut self) -> Result<(), Stop> {
        self.wrong_request()?;
        if self.turn.is_multiple_of(4) {
            self.metadata()?;
        }
        match self.role {
            Role::Client => self.client_flow(),
            Role::Revokes => self.revoke_all(),
        }
    }

    fn client_flow(&mut self) -> Result<(), Stop> {
        self.reuse()?;
        self.lengthen_chain()?;
        match self.turn % 10 {
            3 => return self.hold().map(drop),
            7 => return self.deny(),
            _ => {}
        }
        let code = self.code()?;
        let first = self.exchange(&code)?;
        self.resource("resource", &first, 200)?;
        self.introspect(&first, true)?;
        if self.turn % 10 == 1 {
            return self.replay_code(&code, &first);
        }
        let second = self.refresh("refresh", &first)?;
        let since = Instant::now();
        // An answer that was lost on its way: the client asks again, and both pairs are good.
        self.connection.in_time(second.since, SURELY_IN_GRACE)?;
        let sibling = self.refresh("refresh in grace", &first)?;
        self.connection.in_time(second.since, SURELY_IN_GRACE)?;
        self.resource("resource in grace", &first, 200)?;
        self.resource("resource", &second, 200)?;
        self.resource("resource", &sibling, 200)?;
        let after_second = self.refresh("refresh", &second)?;
        let newest = self.refresh("refresh", &sibling)?;
        self.resource("resource", &after_second, 200)?;
        self.introspect(&newest, true)?;
        match self.turn % 5 {
            0 => self.revoke_grant(&after_second, &newest),
            1 => self.revoke_access(&newest),
            2 => {
                self.reusable.push_back(Reusable { superseded: first, since, newest });
                Ok(())
            }
            // It ends by itself.
            3 => Ok(()),
            _ => self.take_for_chain(newest),
        }
    }

    fn replay_code(&mut self, code: &str, tokens: &Tokens) -> Result<(), Stop> {
        let form = [("grant_type", "authorization_code"), ("code", code)];
        self.ask_as_client("exchange of a used code", 400, "/oauth2/token", &form)?;
        self.assert_ended(&[tokens])
    }

    fn revoke_grant(&mut self, other: &Tokens, newest: &Tokens) -> Result<(), Stop> {
        self.revoke("revocation", &newest.refresh)?;
        self.assert_ended(&[other, newest])?;
        self.revoke("revocation after the end", &newest.refresh)
    }

    fn revoke_access(&mut self, tokens: &Tokens) -> Result<(), Stop> {
        self.revoke("revocation", &tokens.access)?;
        self.resource("resource after the end", tokens, 401)?;
        self.refresh("refresh", tokens).map(drop)
    }

    /// Uses the old refresh tokens whose grace has ended.
    fn reuse(&mut self) -> Result<(), Stop> {
        while self.reusable.front().is_some_and(|old| old.since.elapsed() >= SURELY_REUSED) {
            let Some(Reusable { superseded, newest, .. }) = self.reusable.pop_front() else { break };
            self.resource("resource", &newest, 200)?;
            self.connection.in_time(superseded.since, SURELY_LIVE)?;
            self.refused_refresh("reuse", &superseded)?;
            self.assert_ended(&[&newest])?;
        }
        Ok(())
    }

    fn take_for_chain(&mut self, tokens: Tokens) -> Result<(), Stop> {
        self.chain.get_or_insert(tokens);
        Ok(())
    }

    fn lengthen_chain(&mut self) -> Result<(), Stop> {
        let Some(tokens) = self.chain.take() else { return Ok(()) };
        self.chain = Some(self.refresh("refresh", &tokens)?);
        Ok(())
    }

    fn revoke_all(&mut self) -> Result<(), Stop> {
        let code = self.code()?;
        let first = self.exchange(&code)?;
        self.resource("resource", &first, 200)?;
        let code = self.code()?;
        let second = self.exchange(&code)?;
        let waiting = self.code()?;
        let token = self.authorized()?.ok_or_else(|| self.connection.fault("the application is not listed"))?;
        self.revoke_application(&token)?;
        self.assert_ended(&[&first, &second])?;
        // A code that was not exchanged ends with them, and nothing is left to revoke.
        self.refused_code(&waiting)?;
        self.revoke_application(&token)?;
        match self.authorized()? {
            Some(_) => Err(self.connection.fault("the application is still listed")),
            None => Ok(()),
        }
    }
}
