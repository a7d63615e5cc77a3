//! The browser's session.

use grantor::Subject;
use grantor::secret::{Entropy as _, SystemEntropy};

/// The browser's session. A real service refuses ids that it did not make. This one accepts any of the right form, and
/// signs everybody in as the same user.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    pub user: Subject,
    pub id: String,
}

impl Session {
    /// Reads the session of the `Cookie` header, or begins one.
    #[must_use]
    pub fn of(cookies: Option<&str>) -> Self {
        let mut pairs = cookies.unwrap_or_default().split("; ").filter_map(|pair| pair.split_once('='));
        let id = pairs.find(|(name, value)| *name == "session" && is_session_id(value));
        let id = id.map_or_else(random_id, |(_, value)| value.to_owned());
        Self { user: Subject::new("alice").expect("a short text"), id }
    }

    #[must_use]
    pub fn set_cookie(&self) -> String {
        format!("session={}; Path=/; HttpOnly; SameSite=Lax", self.id)
    }
}

/// The id is sent in a header, where other characters have a meaning.
fn is_session_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// 128 random bits in hexadecimal.
#[must_use]
pub fn random_id() -> String {
    let mut bytes = [0; 16];
    SystemEntropy.fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
