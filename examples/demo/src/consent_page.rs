//! The page that asks the user.

use grantor::scope::ResourceScope;
use grantor::{AuthorizationHandle, PendingAuthorization};

use crate::session::Session;

/// The page that asks the user.
#[must_use]
pub fn consent_page(pending: &PendingAuthorization, session: &Session, handle: &AuthorizationHandle) -> String {
    let name = escape(pending.client().name());
    let website = escape(pending.client().website());
    let scopes: String = pending
        .requested()
        .map(|scope| {
            let words = scope.definition();
            checkbox("scope", scope.token(), &format!("{}: {}", words.title(), words.description()))
        })
        .collect();
    let (user, host) = (escape(session.user.as_str()), escape(pending.redirect_host()));
    let handle = escape(handle.expose());
    let resources = match pending.resource_scope() {
        ResourceScope::Specified(list) => list.iter().map(|name| checkbox("resource", name, name)).collect(),
        ResourceScope::All => "<li>all resources of the account</li>".to_owned(),
        ResourceScope::Public => "<li>all public resources of the account</li>".to_owned(),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Authorize {name}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>Authorize {name}</h1>\
         <p>{name} ({website}) asks for access to the account <strong>{user}</strong>:</p>\
         <form method=\"post\" action=\"/consent\"><ul>{scopes}</ul><p>on these resources:</p><ul>{resources}</ul><p>You will be sent to <strong>{host}</strong>.</p>\
         <input type=\"hidden\" name=\"handle\" value=\"{handle}\">\
         <button name=\"decision\" value=\"allow\">Allow</button> <button name=\"decision\" value=\"deny\">Deny</button>\
         </form></main></body></html>"
    )
}

fn checkbox(name: &str, value: &str, text: &str) -> String {
    let (value, text) = (escape(value), escape(text));
    format!(
        "<li><label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\" checked> {text} ({value})</label></li>"
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
