//! Every parameter of every endpoint with every hostile value.

use crate::hostile::case::Case;
use crate::hostile::families::{form, on_both};
use crate::hostile::server::Server;
use crate::hostile::values::{BROKEN, BYTES, texts};
use support_servers::http::Request;

#[tokio::test]
async fn no_value_of_a_parameter_comes_back_or_leads_away() {
    on_both(cases).await;
}

/// A parameter, and the status for a value with a broken escape, that is not UTF-8, that is text.
type Row = (&'static str, [u16; 3]);

/// Beside a good request.
const AUTHORIZATION: [Row; 8] = [
    ("response_type", [400, 400, 400]),
    ("client_id", [400, 400, 400]),
    ("redirect_uri", [400, 400, 400]),
    ("state", [400, 200, 200]),
    ("scope", [400, 302, 302]),
    ("code_challenge", [400, 302, 302]),
    ("code_challenge_method", [400, 302, 302]),
    ("unknown", [200, 200, 200]),
];

/// Path, the rest of the form, and whether the client is proven by a header.
const FORMS: [(&str, &str, bool, &[Row]); 6] = [
    ("/oauth2/token", "", true, &[("grant_type", [400; 3]), ("client_id", [400; 3]), ("client_secret", [400; 3])]),
    (
        "/oauth2/token",
        "grant_type=authorization_code",
        true,
        &[("code", [400; 3]), ("redirect_uri", [400; 3]), ("code_verifier", [400; 3]), ("unknown", [400; 3])],
    ),
    ("/oauth2/token", "grant_type=refresh_token", true, &[("refresh_token", [400; 3]), ("scope", [400; 3])]),
    (
        "/oauth2/token",
        "grant_type=refresh_token&refresh_token=x",
        false,
        &[("client_id", [400, 400, 401]), ("client_secret", [400, 400, 401])],
    ),
    ("/oauth2/revoke", "", true, &[("token", [400, 400, 200]), ("token_type_hint", [400; 3]), ("client_id", [400; 3])]),
    ("/oauth2/introspect", "", true, &[("token", [400, 400, 200]), ("client_secret", [400; 3])]),
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let queries = AUTHORIZATION.iter().flat_map(|row| {
        values(row).map(|(value, status)| {
            let name = row.0;
            let kept = ["response_type=code", &format!("client_id={}", server.id)];
            let kept = kept.into_iter().filter(|pair| pair.split('=').next() != Some(name)).collect::<Vec<_>>();
            let query = format!("{}&{name}={value}", kept.join("&"));
            let request = Request::get("/oauth2/auth").query(query).header("Cookie", &server.cookie);
            Case::new(format!("{name} {value}"), request, &[status])
        })
    });
    let forms = FORMS.iter().flat_map(|(path, rest, proven, rows)| {
        rows.iter().flat_map(values_with_names).map(move |(name, value, status)| {
            let body = format!("{rest}&{name}={value}");
            let request = if *proven { form(server, path, body) } else { Request::form(path, body) };
            Case::new(format!("{path} {name} {value}"), request, &[status])
        })
    });
    queries.chain(forms).collect()
}

fn values((_, [broken, bytes, text]): &Row) -> impl Iterator<Item = (&'static str, u16)> {
    let broken = BROKEN.into_iter().map(|value| (value, *broken));
    let bytes = BYTES.into_iter().map(|value| (value, *bytes));
    broken.chain(bytes).chain(texts().map(|value| (value, *text)))
}

fn values_with_names(row: &Row) -> impl Iterator<Item = (&'static str, &'static str, u16)> {
    let name = row.0;
    values(row).map(move |(value, status)| (name, value, status))
}
