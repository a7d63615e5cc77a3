//! An ID token of this server that comes back as a hint [OpenID Connect Core section 3.1.2.1].

use crate::base::id::Subject;
use crate::context::Context;
use crate::jose::Jws;
use crate::model::client::Client;

/// The longest hint in bytes: that of the claims of OpenID Connect and a signature of 8192 bits, twice.
const HINT_BYTES: usize = 8192;

/// Returns the user of an ID token that this server has issued to the client; `None` for any other text.
///
/// A key that is no longer published will do, and so does a token that has expired: it proves no sign-in, and names the
/// user whom the client expects. A key that was dropped will not, since others may have it.
pub(crate) fn subject_of(context: &Context, client: &Client, hint: &[u8]) -> Option<Subject> {
    let jws = Jws::parse(hint, HINT_BYTES).ok().filter(|jws| jws.typ() == Some("jwt"))?;
    let mut keys = context.signing_keys.trusted().filter(|key| key.key_id() == jws.key_id());
    if !keys.any(|key| jws.is_signed_by(key, key.algorithm())) {
        return None;
    }
    let claims = jws.claims();
    let is_own = claims.text("iss").ok().flatten() == Some(&*context.config.issuer);
    let is_of_client = matches!(claims.audience(), Ok(Some((audience, _))) if audience == [client.id.as_str()]);
    let subject = claims.text("sub").ok().flatten().filter(|_| is_own && is_of_client)?;
    Subject::new(subject).ok()
}
