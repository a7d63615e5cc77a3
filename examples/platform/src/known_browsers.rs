//! Browsers that have signed in to an account before. Wrong passwords from other browsers do not delay them.
//!
//! There is one cookie, so a browser is known to the account that it signed in to last.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use grantor::secret::{Entropy as _, SystemEntropy};
use grantor::{Clock as _, Subject, SystemClock};
use rusqlite::OptionalExtension as _;
use sha2::{Digest as _, Sha256};

use crate::database::DatabaseError;
use crate::web::Platform;

const NAME: &str = "platform_known";
const SECONDS: u32 = 180 * 86_400;

/// The digest of the cookie's value. Only the digest is stored.
pub(crate) type KnownBrowser = [u8; 32];

/// Recognizes the browser, if it is one of this account's.
pub(crate) async fn find(
    platform: &Platform,
    headers: &HeaderMap,
    account: &str,
) -> Result<Option<KnownBrowser>, DatabaseError> {
    let Some(token) = token(headers, &platform.cookie_name(NAME)) else { return Ok(None) };
    let (digest, now) = (KnownBrowser::from(Sha256::digest(token)), SystemClock.now().seconds());
    let key = (digest, account.to_owned(), now);
    let query = "SELECT 1 FROM known_browsers WHERE token_digest = ?1 AND account = ?2 AND expires > ?3";
    let read = move |connection: &mut rusqlite::Connection| connection.query_row(query, key, |_| Ok(())).optional();
    Ok(platform.database.call(read).await?.map(|()| digest))
}

/// Makes a browser known to the account, and returns the cookie to set.
pub(crate) async fn remember(platform: &Platform, account: &Subject) -> Result<String, DatabaseError> {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = KnownBrowser::from(Sha256::digest(&token));
    let row = (digest, account.to_string(), SystemClock.now().seconds().saturating_add(SECONDS));
    let insert = "INSERT INTO known_browsers VALUES (?1, ?2, ?3)";
    platform.database.call(move |connection| connection.execute(insert, row).map(drop)).await?;
    let name = platform.cookie_name(NAME);
    // A cookie with the prefix must be valid for the whole host.
    let place = if platform.is_secure() { "Path=/; Secure" } else { "Path=/sign-in" };
    Ok(format!("{name}={token}; {place}; Max-Age={SECONDS}; HttpOnly; SameSite=Lax"))
}

fn token<'h>(headers: &'h HeaderMap, cookie: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split("; ")).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| *name == cookie).map(|(_, token)| token)
}
