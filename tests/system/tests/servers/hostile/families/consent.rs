//! The consent form, as attackers send it.

use crate::hostile::case::{Case, run_all};
use crate::hostile::families::{all, form};
use crate::hostile::server::{CONSENT, Server};
use crate::hostile::values::{BROKEN, BYTES, texts};
use support_servers::http::Request;

#[tokio::test]
async fn nothing_is_consented_to_but_what_the_page_showed() {
    all(Server::both(), async |server| {
        let handle = server.handle().await;
        run_all(server, &cases(server, &handle)).await?;
        // None of it decided anything.
        let denial = Request::form(CONSENT, format!("handle={handle}&decision=deny")).header("Cookie", &server.cookie);
        assert_eq!(server.send(denial).await.status, 302, "{}", server.name);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn what_is_decided_in_hostile_words_leads_to_the_application_alone() {
    all(Server::both(), async |server| {
        let mut cases = Vec::new();
        for value in values() {
            // A resource is the user's own word; there is none with control characters.
            for (name, statuses) in [("decision", &[302][..]), ("decision=allow&resource", &[302, 400])] {
                let body = format!("handle={}&scope=account-profile:r&{name}={value}", server.handle().await);
                let request = Request::form(CONSENT, body).header("Cookie", &server.cookie);
                cases.push(Case::new(format!("{name} {value}"), request, statuses));
            }
        }
        run_all(server, &cases).await
    })
    .await;
}

/// Around the handle of a page: the form without a field, and the field.
const FIELDS: [(&str, &str); 4] = [
    ("decision=allow&scope=account-profile:r", "handle"),
    ("handle=*&decision=allow", "scope"),
    ("handle=*&decision=allow&scope=account-profile:r", "scope"),
    ("decision=deny", "handle"),
];

/// Forms around the handle that are refused as a whole.
const FORMS: [&str; 12] = [
    "",
    "handle=*",
    "decision=allow",
    "handle=&decision=allow",
    "handle=*h0st1le&decision=allow",
    "handle=h0st1le*&decision=allow",
    "handle=%20*&decision=allow",
    "handle=*%00&decision=allow",
    "handle=h0st1le&handle=*&decision=allow",
    "handle[]=*&decision=allow",
    "handle=*&decision[]=allow",
    "{\"handle\":\"*\",\"decision\":\"allow\"}",
];

pub(crate) fn cases(server: &Server, handle: &str) -> Vec<Case> {
    let filled = FIELDS
        .into_iter()
        .flat_map(|(rest, field)| values().map(move |value| format!("{}&{field}={value}", rest.replace('*', handle))));
    let forms = FORMS.into_iter().map(|body| body.replace('*', handle));
    let with_cookie = filled.chain(forms).map(|body| {
        let name = body.replace(handle, "*");
        Case::new(name, Request::form(CONSENT, body).header("Cookie", &server.cookie), &[400])
    });
    let cookies = [
        "*",
        "*h0st1le",
        "*\"",
        "h0st1le",
        "",
        "*5E5510C0FFEE5E5510C0FFEE5E5510C0",
        "session=5e5510c0ffee5e5510c0ffee5e5510c0",
    ];
    let good = format!("handle={handle}&decision=allow&scope=account-profile:r");
    let of_others = cookies.into_iter().map(|cookie| {
        let (own, _) = server.cookie.split_once('=').unwrap();
        let cookie = cookie.replace('*', &format!("{own}="));
        let name = format!("with the cookie {cookie}");
        Case::new(name, form(server, CONSENT, &good).header("Cookie", cookie), &[400])
    });
    with_cookie.chain(of_others).collect::<Vec<_>>()
}

fn values() -> impl Iterator<Item = &'static str> {
    BROKEN.into_iter().chain(BYTES).chain(texts())
}
