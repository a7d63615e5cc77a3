//! Invalid credentials: in headers, and in what headers encode.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::hostile::case::Case;
use crate::hostile::families::{ENDPOINTS, on_both};
use crate::hostile::server::Server;
use support_servers::http::Request;

#[tokio::test]
async fn no_credential_comes_back_in_its_refusal() {
    on_both(cases).await;
}

/// Decoded from Base64.
const PAIRS: [&[u8]; 24] = [
    b"",
    b":",
    b"h0st1le",
    b":h0st1le",
    b"h0st1le:",
    b"h0st1le:h0st1le:h0st1le",
    b"h0st1le\0:h0st1le",
    b"\0:\0",
    b"h0st1le\r\nX-Hostile: h0st1le",
    b"h0st1le:h0st1le\n",
    b"\xff\xfe:h0st1le",
    b"\xc0\xaf:\xed\xa0\x80",
    b"<script>h0st1le()</script>:x",
    b"\"h0st1le\":\\",
    b"%0d%0aX-Hostile:h0st1le",
    b"%00:%00",
    b"%ff:%ff",
    b"%:%",
    b"%zzh0st1le:%4",
    b"+++:+++",
    b"' or '1'='1:h0st1le",
    b"../../h0st1le:x",
    b"${jndi:ldap://h0st1le.example}:x",
    "\u{202e}h0st1le:\u{2028}".as_bytes(),
];

/// The whole header, and the status at the resource.
const HEADERS: [(&[u8], u16); 22] = [
    (b"", 401),
    (b"h0st1le", 401),
    (b"Basic", 401),
    (b"Basic h0st1le", 401),
    (b"Basic =", 401),
    (b"Basic \xff", 401),
    (b"Basic aDBzdDFsZTpo, Basic aDBzdDFsZTpo", 401),
    (b"Bearer", 400),
    (b"Bearer h0st1le", 401),
    (b"Bearer h0st1le h0st1le", 400),
    (b"Bearer \xff\xfe", 401),
    (b"Bearer <script>h0st1le()</script>", 401),
    (b"Bearer \"h0st1le\"", 401),
    (b"Bearer h0st1le, error=\"h0st1le\"", 400),
    (b"Bearer %00%0d%0a", 401),
    (b"Bearer ..%2f..%2fh0st1le", 401),
    (b"Bearer\th0st1le", 401),
    (b"Digest username=\"h0st1le\", realm=\"h0st1le\"", 401),
    (b"Negotiate h0st1le", 401),
    (b"DPoP h0st1le", 401),
    (b"<script> h0st1le()", 401),
    (b"\"h0st1le\" realm=h0st1le", 401),
];

pub(crate) fn cases(_: &Server) -> Vec<Case> {
    let of_client = ENDPOINTS.into_iter().flat_map(|path| {
        let pairs = PAIRS.into_iter().map(|pair| format!("Basic {}", STANDARD.encode(pair)).into_bytes());
        let long = [b"a".repeat(5_000), b"Basic ".iter().copied().chain(b"YTpi".repeat(2_000)).collect()];
        let headers = HEADERS.into_iter().map(|(header, _)| header.to_vec());
        pairs.chain(long).chain(headers).map(move |header| {
            let name = format!("{path} {:.60}", header.escape_ascii().to_string());
            let form = Request::form(path, "grant_type=refresh_token&refresh_token=h0st1le&token=h0st1le");
            Case::new(name, form.header("Authorization", header), &[401])
        })
    });
    let of_resource = HEADERS.into_iter().map(|(header, status)| {
        let request = Request::new("GET", "/api/me").header("Authorization", header);
        Case::new(format!("/api/me {}", header.escape_ascii()), request, &[status])
    });
    of_client.chain(of_resource).collect()
}
