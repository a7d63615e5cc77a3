//! More than a server must accept: queries, headers, parameters.

use crate::hostile::case::{CLOSED, Case};
use crate::hostile::families::{ENDPOINTS, form, on_both};
use crate::hostile::server::Server;
use support_servers::http::Request;

#[tokio::test]
async fn too_much_is_refused_and_costs_nothing() {
    on_both(cases).await;
}

/// What is repeated in a query or form.
const PIECES: [&str; 9] = ["&", "=", "a&", "a=b&", "=&", "%41=%42&", "h0st1le[]=x&", "token=x&", "%"];

/// How many of them.
const COUNTS: [usize; 5] = [101, 1_000, 5_000, 20_000, 200_000];

/// Bytes of one value.
const LENGTHS: [usize; 4] = [8_191, 33_000, 65_536, 1_000_000];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = Vec::new();
    for piece in PIECES {
        for count in COUNTS {
            let many = piece.repeat(count);
            let name = |place: &str| format!("{count} {piece:?} in {place}");
            // Nothing between two separators is no parameter, and equal signs are one. What a server closes on while
            // the rest is written may be lost to a reset.
            let one = ["&", "="];
            let few: &[u16] =
                if one.contains(&piece) { &[200, 400, 414, 431, CLOSED] } else { &[400, 414, 431, CLOSED] };
            let query = Request::get("/oauth2/auth").query(format!("{many}&{}", server.query()));
            // What cannot be decoded is one unknown parameter of a link.
            let in_link: &[u16] = if piece == "%" { &[200, 400, 414, 431, CLOSED] } else { few };
            cases.push(Case::new(name("a query"), query, in_link));
            for path in ENDPOINTS {
                let fields = "grant_type=refresh_token&refresh_token=h0st1le&token=h0st1le";
                let request = form(server, path, format!("{many}&{fields}"));
                let few: &[u16] = if one.contains(&piece) { &[200, 400, 413, CLOSED] } else { &[400, 413, CLOSED] };
                cases.push(Case::new(name(path), request, few));
            }
        }
    }
    for length in LENGTHS {
        let long = "h0st1le".repeat(length / 7 + 1);
        let get = |line: &str| Request::get("/oauth2/auth").query(server.query()).header(line, &long);
        let value = |name: &str| Request::get("/oauth2/auth").query(format!("{}&{name}={long}", server.query()));
        let named = |name: &str| format!("{length} bytes in {name}");
        let refused: &[u16] = &[400, 414, 431, CLOSED];
        for name in ["state", "redirect_uri", "client_id"] {
            cases.push(Case::new(named(name), value(name), refused));
        }
        cases.push(Case::new(named("scope"), value("scope"), &[302, 400, 414, 431, CLOSED]));
        for line in ["Cookie", "User-Agent", &long] {
            let name = named(&line[..line.len().min(10)]);
            cases.push(Case::new(name, get(line), &[200, 400, 431, CLOSED]));
        }
        let authorization = get("Authorization");
        cases.push(Case::new(named("Authorization"), authorization, &[200, 400, 431, CLOSED]));
        cases.push(Case::new(named("path"), Request::new("GET", format!("/{long}")), &[400, 404, 414, 431, CLOSED]));
        cases.push(Case::new(named("method"), Request::new(&long, "/oauth2/auth"), &[400, 405, 414, 431, CLOSED]));
        for path in ENDPOINTS {
            let request = Request::form(path, "token=x").header("Authorization", format!("Basic {long}"));
            cases.push(Case::new(format!("{length} bytes of Basic at {path}"), request, &[400, 401, 431, CLOSED]));
        }
    }
    for count in [97, 200, 5_000] {
        for line in ["X-h0st1le", "Cookie", "Authorization", "Content-Type"] {
            let post = Request::form("/oauth2/token", "token=x");
            let request = (0..count).fold(post, |request, number| request.header(line, format!("h0st1le{number}")));
            cases.push(Case::new(format!("{count} lines {line}"), request, &[400, 401, 431, CLOSED]));
        }
    }
    cases
}
