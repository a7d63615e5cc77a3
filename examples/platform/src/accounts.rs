//! The platform's users and their passwords.

use std::sync::LazyLock;

use argon2::password_hash::PasswordHasher as _;
use argon2::password_hash::phc::{Output, PasswordHash};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use grantor::Subject;
use rusqlite::{OptionalExtension as _, TransactionBehavior};

use crate::database::{Database, DatabaseError};

/// The demo accounts: id, name, role, password.
pub(crate) const DEMO_ACCOUNTS: [(&str, &str, &str, &str); 3] = [
    ("alice", "Alice Archer", "user", "alice-likes-tea"),
    ("devon", "Devon Developer", "developer", "devon-likes-rust"),
    ("admin", "Ada Administrator", "administrator", "ada-likes-order"),
];

/// A user who is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) subject: Subject,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) is_administrator: bool,
}

impl Account {
    pub(crate) async fn find(database: &Database, id: &str) -> Result<Option<Self>, DatabaseError> {
        let id = id.to_owned();
        let row = move |connection: &mut rusqlite::Connection| {
            let columns = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let query = "SELECT id, name, email, role FROM accounts WHERE id = ?1";
            connection.query_row(query, [id], columns).optional()
        };
        let found: Option<(String, String, String, String)> = database.call(row).await?;
        Ok(found.and_then(|(id, name, email, role)| {
            Some(Self { subject: Subject::new(&id).ok()?, name, email, is_administrator: role == "administrator" })
        }))
    }
}

/// A password to check, and the hash of the account.
pub(crate) struct PasswordCheck {
    hash: Option<String>,
    password: String,
}

impl PasswordCheck {
    pub(crate) async fn of(database: &Database, id: &str, password: String) -> Result<Self, DatabaseError> {
        let wanted = id.to_owned();
        let stored = move |connection: &mut rusqlite::Connection| {
            let query = "SELECT password_hash FROM accounts WHERE id = ?1";
            connection.query_row(query, [&wanted], |row| row.get(0)).optional()
        };
        Ok(Self { hash: database.call(stored).await?, password })
    }

    /// Returns whether the password is right. The check takes one core and 19 MiB. For an unknown account it takes as
    /// long as for a wrong password.
    pub(crate) fn is_right(&self, memory: &mut Vec<Block>) -> bool {
        let is_right = verifies(&self.password, self.hash.as_deref().unwrap_or(&UNKNOWN), memory);
        self.hash.is_some() && is_right
    }
}

/// Adds the demo accounts, with repositories and issues, to a database that has no account yet.
pub(crate) async fn create_demo_accounts(database: &Database) -> Result<(), DatabaseError> {
    LazyLock::force(&UNKNOWN);
    let fill = |connection: &mut rusqlite::Connection| {
        // If two processes start with one new file, only one of them fills it.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let count: u32 = transaction.query_row("SELECT count(*) FROM accounts", [], |row| row.get(0))?;
        if count == 0 {
            for (id, name, role, password) in DEMO_ACCOUNTS {
                let values = (id, name, format!("{id}@platform.example"), role, hash_of(password));
                transaction.execute("INSERT INTO accounts VALUES (?1, ?2, ?3, ?4, ?5)", values)?;
            }
            transaction.execute_batch(DEMO_REPOSITORIES)?;
        }
        transaction.commit()
    };
    database.call(fill).await
}

/// The hash for accounts that do not exist.
static UNKNOWN: LazyLock<String> = LazyLock::new(|| hash_of("unknown"));

fn hash_of(password: &str) -> String {
    Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string()).unwrap_or_default()
}

/// Uses memory of the caller. Otherwise the allocator would keep a block of this size for each thread.
fn verifies(password: &str, hash: &str, memory: &mut Vec<Block>) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    let (Some(salt), Some(expected), Ok(params)) = (&hash.salt, &hash.hash, Params::try_from(&hash)) else {
        return false;
    };
    memory.resize(params.block_count(), Block::new());
    let mut computed = vec![0; expected.len()];
    // All hashes of this example are made with these.
    let argon2 = Argon2::new(Algorithm::default(), Version::default(), params);
    let done = argon2.hash_password_into_with_memory(password.as_bytes(), salt, &mut computed, memory);
    // Outputs are compared in constant time.
    done.is_ok() && Output::new(&computed).is_ok_and(|computed| computed == *expected)
}

const DEMO_REPOSITORIES: &str = "
    INSERT INTO repositories VALUES
        ('alice', 'garden', 'What grows where, and when to water it', 1),
        ('alice', 'recipes', 'Soups, mostly', 1),
        ('alice', 'diary', 'Nobody else reads this', 0);
    INSERT INTO issues VALUES
        ('alice', 'garden', 1, 'Tomatoes need more sun'),
        ('alice', 'garden', 2, 'Write down when the beans were sown'),
        ('alice', 'recipes', 1, 'Leek soup: how much salt?'),
        ('alice', 'diary', 1, 'Find a better hiding place');
";
