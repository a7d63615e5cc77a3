//! Browsers that have signed in to an account before. Wrong passwords from other browsers do not delay them.
//!
//! There is one cookie, so a browser is known to the account that it signed in to last.

use axum::http::HeaderMap;
use grantor::{Clock as _, Subject, SystemClock};
use rusqlite::OptionalExtension as _;
use sha2::{Digest as _, Sha256};

use crate::cookies;
use crate::database::DatabaseError;
use crate::web::Platform;

const NAME: &str = "platform_known";
const SECONDS: u32 = 180 * 86_400;
/// How many browsers of one account are known. A sign-in without the cookie adds one.
const MOST: u32 = 20;

/// The digest of the cookie's value. Only the digest is stored.
pub(crate) type KnownBrowser = [u8; 32];

/// Recognizes the browser, if it is one of this account's.
pub(crate) async fn find(
    platform: &Platform,
    headers: &HeaderMap,
    account: &str,
) -> Result<Option<KnownBrowser>, DatabaseError> {
    let Some(token) = cookies::find(platform, headers, NAME) else { return Ok(None) };
    let (digest, now) = (KnownBrowser::from(Sha256::digest(token)), SystemClock.now().seconds());
    let key = (digest, account.to_owned(), now);
    let query = "SELECT 1 FROM known_browsers WHERE token_digest = ?1 AND account = ?2 AND expires > ?3";
    let read = move |connection: &mut rusqlite::Connection| connection.query_row(query, key, |_| Ok(())).optional();
    Ok(platform.database.call(read).await?.map(|()| digest))
}

/// Makes a browser known to the account, and returns the cookie to set.
pub(crate) async fn remember(platform: &Platform, account: &Subject) -> Result<String, DatabaseError> {
    let token = cookies::random();
    let digest = KnownBrowser::from(Sha256::digest(&token));
    let row = (digest, account.to_string(), SystemClock.now().seconds().saturating_add(SECONDS));
    let insert = "INSERT INTO known_browsers VALUES (?1, ?2, ?3)";
    let forget = "DELETE FROM known_browsers WHERE account = ?1 AND token_digest NOT IN \
                  (SELECT token_digest FROM known_browsers WHERE account = ?1 ORDER BY rowid DESC LIMIT ?2)";
    let write = move |connection: &mut rusqlite::Connection| {
        let account = row.1.clone();
        connection.execute(insert, row)?;
        connection.execute(forget, (account, MOST)).map(drop)
    };
    platform.database.call(write).await?;
    Ok(cookies::set(platform, NAME, &token, "/sign-in", SECONDS))
}
