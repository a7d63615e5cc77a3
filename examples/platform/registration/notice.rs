//! A word about what was just done, shown once on the page that follows.

use tower_sessions::Session;

use crate::pages::Failure;

const NOTICE: &str = "notice";

pub(crate) async fn leave(session: &Session, text: &'static str) -> Result<(), Failure> {
    Ok(session.insert(NOTICE, text).await?)
}

pub(crate) async fn take(session: &Session) -> Result<Option<String>, Failure> {
    let text = session.get::<String>(NOTICE).await?;
    if text.is_some() {
        session.remove_value(NOTICE).await?;
    }
    Ok(text)
}
