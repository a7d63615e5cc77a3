//! The page that asks the user.

use grantor::PendingAuthorization;
use grantor::scope::ResourceScope;
use grantor::secret::ConsentTicket;

use crate::session::Session;

/// Returns the page that asks the user. It loads nothing, and shows no image.
#[must_use]
pub fn consent_page(pending: &PendingAuthorization, session: &Session, ticket: &ConsentTicket) -> String {
    let scopes: String = pending
        .requested()
        .map(|scope| {
            let words = scope.definition();
            checkbox("scope", scope.token(), &format!("{}: {}", words.title(), words.description()))
        })
        .collect();
    let (heading, about) = match unreviewed(pending) {
        Some(about) => ("an application that was not reviewed".to_owned(), about),
        None => (escape(&pending.client().form().name), known(pending)),
    };
    let apis: Vec<_> = pending.protected_resources().map(|api| escape(api.shown_name())).collect();
    let at = if apis.is_empty() { String::new() } else { format!(" at <strong>{}</strong>", apis.join(", ")) };
    let (user, host) = (escape(session.user.as_str()), escape(pending.redirect_host()));
    let ticket = escape(ticket.expose());
    let resources = match pending.resource_scope() {
        ResourceScope::Specified(list) => list.iter().map(|name| checkbox("resource", name, name)).collect(),
        ResourceScope::All => "<li>all resources of the account</li>".to_owned(),
        ResourceScope::Public => "<li>all public resources of the account</li>".to_owned(),
    };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Authorize {heading}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"></head><body><main><h1>Authorize {heading}</h1>\
         {about}<p>It asks for access to the account <strong>{user}</strong>{at}:</p>\
         <form method=\"post\" action=\"/consent\"><ul>{scopes}</ul><p>on these resources:</p><ul>{resources}</ul>\
         <p>You will be sent to <strong>{host}</strong>.</p>\
         <input type=\"hidden\" name=\"handle\" value=\"{ticket}\">\
         <button id=\"approve\" name=\"decision\" value=\"allow\">Allow</button> \
         <button id=\"deny\" name=\"decision\" value=\"deny\">Deny</button>\
         </form></main></body></html>"
    )
}

fn known(pending: &PendingAuthorization) -> String {
    format!("<p>{} ({})</p>", escape(&pending.client().form().name), escape(&pending.client().form().website))
}

/// The facts about an unreviewed client: first where the browser goes, then the client's own claims.
fn unreviewed(pending: &PendingAuthorization) -> Option<String> {
    let client = pending.client();
    let open = client.open().filter(|_| pending.is_client_unreviewed())?;
    // The whole id, since several owners may share a host by path.
    let id = escape(client.id().as_str());
    let known_by = |host| format!("It is described by a document at <strong>{}</strong>: {id}", escape(host));
    let mut facts: Vec<_> = pending.client_id_host().map(known_by).into_iter().collect();
    facts.push(format!("Your answer goes to <strong>{}</strong>.", escape(pending.redirect_host())));
    facts.push(match &*client.form().name {
        "" => "It did not give a name.".to_owned(),
        name => format!("It calls itself “{}”. That is its own claim.", escape(name)),
    });
    if open.looks_like_another {
        facts
            .push("<strong>That name looks like the name of another application, which is known here.</strong>".into());
    }
    let registered = open.registered.to_string();
    facts.push(format!("It was first seen here on {}.", registered.split('T').next().unwrap_or_default()));
    let facts: String = facts.iter().map(|fact| format!("<li>{fact}</li>")).collect();
    let warning = if pending.is_loopback_only() {
        "<p role=\"alert\">It receives answers only on your device, where any program can claim to be this \
         application. Allow this only if you have just started it yourself.</p>"
    } else {
        ""
    };
    Some(format!("<p>This service has not reviewed it. What is known about it:</p><ul>{facts}</ul>{warning}"))
}

fn checkbox(name: &str, value: &str, text: &str) -> String {
    let (value, text) = (escape(value), escape(text));
    format!(
        "<li><label><input type=\"checkbox\" name=\"{name}\" value=\"{value}\" checked> {text} ({value})</label></li>"
    )
}

/// Escapes a text for HTML, also in attributes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}
