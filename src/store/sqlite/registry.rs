//! Registrations: clients, applications, what these are listed under, logos.

use rusqlite::{OptionalExtension, params};

use crate::client::application::{ApplicationFilter, LogoSlot};
use crate::id::ClientId;
use crate::store::sqlite::rows::as_limit;
use crate::store::sqlite::session::{Call, Session};
use crate::store::{Insertion, LogoWrite, Registration, Replacement};

/// Reads one value of a client.
pub(super) struct Look {
    pub(super) id: ClientId,
    pub(super) of: Part,
}

pub(super) enum Part {
    Client,
    Application,
    Logo(LogoSlot),
}

impl Call for Look {
    type Answer = Option<Vec<u8>>;
    const WRITES: bool = false;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        let id = self.id.as_str();
        let record = match self.of {
            Part::Client => {
                session.statement("SELECT record FROM grantor_clients WHERE id = ?1")?.query_row([id], |row| row.get(0))
            }
            Part::Application => session
                .statement("SELECT record FROM grantor_applications WHERE id = ?1")?
                .query_row([id], |row| row.get(0)),
            Part::Logo(slot) => session
                .statement("SELECT image FROM grantor_logos WHERE id = ?1 AND slot = ?2")?
                .query_row([id, slot_text(slot)], |row| row.get(0)),
        };
        record.optional()
    }
}

/// Reads applications that are listed under a filter, ids ascending.
pub(super) struct Listed {
    pub(super) filter: ApplicationFilter,
    pub(super) after: Option<ClientId>,
    pub(super) limit: usize,
}

impl Call for Listed {
    type Answer = Vec<Vec<u8>>;
    const WRITES: bool = false;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Self::Answer> {
        // The empty text comes before all ids.
        let after = self.after.as_ref().map_or("", ClientId::as_str);
        let statement = session.statement(
            "SELECT record FROM grantor_application_lists JOIN grantor_applications USING (id)
             WHERE filter = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?;
        statement.query_map(params![self.filter.key(), after, as_limit(self.limit)], |row| row.get(0))?.collect()
    }
}

/// Adds a registration, if there is none of its client.
pub(super) struct InsertRegistration(pub(super) Encoded);

impl Call for InsertRegistration {
    type Answer = Insertion;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Insertion> {
        all_or_nothing(session, |session| {
            let Encoded { id, version, client, application, .. } = &self.0;
            let rows = session
                .statement(
                    "INSERT INTO grantor_clients (id, version, record) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO NOTHING",
                )?
                .execute(params![id.as_str(), version, client])?;
            if rows == 0 {
                return Ok(Insertion::Exists);
            }
            session
                .statement("INSERT INTO grantor_applications (id, record) VALUES (?1, ?2)")?
                .execute(params![id.as_str(), application])?;
            self.0.write_rest(session)?;
            Ok(Insertion::Inserted)
        })
    }
}

/// Puts a registration in the place of the one of that version.
pub(super) struct ReplaceRegistration {
    pub(super) version: u32,
    pub(super) with: Encoded,
}

impl Call for ReplaceRegistration {
    type Answer = Replacement;

    fn run(&self, session: &mut Session<'_>) -> rusqlite::Result<Replacement> {
        all_or_nothing(session, |session| {
            let Encoded { id, version, client, application, .. } = &self.with;
            let rows = session
                .statement("UPDATE grantor_clients SET version = ?3, record = ?4 WHERE id = ?1 AND version = ?2")?
                .execute(params![id.as_str(), self.version, version, client])?;
            if rows == 0 {
                return Ok(Replacement::Lost);
            }
            session
                .statement("UPDATE grantor_applications SET record = ?2 WHERE id = ?1")?
                .execute(params![id.as_str(), application])?;
            session.statement("DELETE FROM grantor_application_lists WHERE id = ?1")?.execute([id.as_str()])?;
            self.with.write_rest(session)?;
            Ok(Replacement::Replaced)
        })
    }
}

/// A registration as octets, made in the thread of the caller.
pub(super) struct Encoded {
    id: ClientId,
    version: u32,
    client: Vec<u8>,
    application: Vec<u8>,
    filters: Vec<String>,
    logos: [(LogoSlot, LogoWrite); 2],
}

impl From<Registration> for Encoded {
    fn from(registration: Registration) -> Self {
        let Registration { client, application, logo, proposed_logo } = registration;
        Self {
            id: client.id.clone(),
            version: client.version,
            client: client.encode(),
            application: application.encode(),
            filters: application.filters().map(|filter| filter.key()).collect(),
            logos: [(LogoSlot::InForce, logo), (LogoSlot::Proposed, proposed_logo)],
        }
    }
}

impl Encoded {
    fn write_rest(&self, session: &mut Session<'_>) -> rusqlite::Result<()> {
        let id = self.id.as_str();
        for filter in &self.filters {
            session
                .statement("INSERT INTO grantor_application_lists (filter, id) VALUES (?1, ?2)")?
                .execute([filter.as_str(), id])?;
        }
        for (slot, write) in &self.logos {
            let slot = slot_text(*slot);
            match write {
                LogoWrite::Keep => {}
                LogoWrite::Clear => {
                    session.statement("DELETE FROM grantor_logos WHERE id = ?1 AND slot = ?2")?.execute([id, slot])?;
                }
                LogoWrite::Put(logo) => {
                    session
                        .statement("INSERT OR REPLACE INTO grantor_logos (id, slot, image) VALUES (?1, ?2, ?3)")?
                        .execute(params![id, slot, logo.octets()])?;
                }
            }
        }
        Ok(())
    }
}

/// Undoes the statements before one that fails, and leaves what others wrote into the same transaction.
fn all_or_nothing<T>(
    session: &mut Session<'_>,
    write: impl FnOnce(&mut Session<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    session.execute("SAVEPOINT registration")?;
    let result = write(session);
    // Trouble that ends the whole transaction takes the savepoint with it.
    if session.is_in_transaction() {
        if result.is_err() {
            session.execute("ROLLBACK TO registration")?;
        }
        session.execute("RELEASE registration")?;
    }
    result
}

const fn slot_text(slot: LogoSlot) -> &'static str {
    match slot {
        LogoSlot::InForce => "in-force",
        LogoSlot::Proposed => "proposed",
    }
}
