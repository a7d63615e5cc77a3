//! A notice of what was just done to an application, shown once on the next page.

use grantor::ClientId;
use tower_sessions::Session;

use crate::pages::Failure;

const NOTICE: &str = "notice";

pub(crate) async fn leave(session: &Session, id: &ClientId, text: &'static str) -> Result<(), Failure> {
    Ok(session.insert(NOTICE, (id.as_str(), text)).await?)
}

pub(crate) async fn take(session: &Session, id: &ClientId) -> Result<Option<String>, Failure> {
    let found = session.get::<(String, String)>(NOTICE).await?;
    let Some((_, text)) = found.filter(|(about, _)| about == id.as_str()) else { return Ok(None) };
    session.remove_value(NOTICE).await?;
    Ok(Some(text))
}
