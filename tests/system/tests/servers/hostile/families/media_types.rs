//! Forms that are declared as something else, or not at all.

use crate::hostile::case::Case;
use crate::hostile::families::{ENDPOINTS, on_both};
use crate::hostile::server::Server;
use support::world::FORM;
use support_servers::http::Request;

#[tokio::test]
async fn a_body_is_read_as_nothing_but_what_it_is_declared_as() {
    on_both(cases).await;
}

pub(crate) const TYPES: [&[u8]; 26] = [
    b"",
    b"/",
    b";",
    b"*/*",
    b"h0st1le",
    b"text/html",
    b"text/plain",
    b"application/json",
    b"application/xml",
    b"application/jwt",
    b"application/octet-stream",
    b"application/x-www-form-urlencodedh0st1le",
    b"h0st1leapplication/x-www-form-urlencoded",
    b"application/x-www-form-urlencoded, h0st1le/h0st1le",
    b"application/x-www-form-urlencoded h0st1le",
    b"application/x-www-form-urlencoded\t\x01",
    b"application/x-www-form-urlencoded\xff",
    b"application/ x-www-form-urlencoded",
    b"multipart/form-data",
    b"multipart/form-data; boundary=h0st1le",
    b"multipart/form-data; boundary=\"\"",
    b"text/html; charset=\"<script>h0st1le()</script>\"",
    b"application/json; charset=utf-7",
    b"\xff\xfeh0st1le",
    b"message/http",
    b"\"application/x-www-form-urlencoded\"",
];

const BODIES: [&str; 3] = [
    "grant_type=refresh_token&refresh_token=h0st1le&token=h0st1le",
    r#"{"grant_type":"refresh_token","refresh_token":"h0st1le","token":"h0st1le"}"#,
    "--h0st1le\r\nContent-Disposition: form-data; name=\"token\"\r\n\r\nh0st1le\r\n--h0st1le--\r\n",
];

pub(crate) fn cases(server: &Server) -> Vec<Case> {
    let mut cases = Vec::new();
    for path in ENDPOINTS {
        for body in BODIES {
            let post = || Request::new("POST", path).basic(&server.id, &server.secret).body(body);
            let twice = post().header("Content-Type", FORM).header("Content-Type", FORM);
            cases.push(Case::new(format!("{path} without a type"), post(), &[400]));
            cases.push(Case::new(format!("{path} with two types"), twice, &[400]));
            cases.extend(TYPES.into_iter().map(|value| {
                let name = format!("{path} {}", value.escape_ascii());
                Case::new(name, post().header("Content-Type", value), &[400])
            }));
        }
    }
    cases
}
