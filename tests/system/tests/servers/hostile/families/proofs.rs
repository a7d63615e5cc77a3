//! Hostile DPoP proofs at the token endpoint.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::hostile::case::{CLOSED, Case, run_all};
use crate::hostile::families::all;
use crate::hostile::server::Server;
use support::keys::Signer;
use support_servers::http::Request;

#[tokio::test]
async fn no_proof_is_believed_or_copied() {
    all(Server::open(), async |server| run_all(server, &cases(server)).await).await;
}

#[test]
fn there_are_at_least_two_hundred_proofs() {
    let count = HEADERS.len() * CLAIMS.len() + RAW.len();
    assert!(count >= 200, "{count}");
}

/// `{jwk}` is replaced by the public key.
const HEADERS: [&str; 17] = [
    r#"{"typ":"dpop+jwt","alg":"ES256","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"none","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"HS256","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"RS256","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"PS256","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":["ES256"],"jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","alg":"none","jwk":{jwk}}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","jwk":null}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","jwk":[{jwk}]}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"oct","k":"aDBzdDFsZQ"}}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","jku":"http://h0st1le.example/keys","kid":"h0st1le"}"#,
    r#"{"typ":"dpop+jwt","alg":"ES256","x5u":"http://h0st1le.example/","jwk":{jwk},"crit":["h0st1le"]}"#,
    r#"{"typ":"h0st1le","alg":"ES256","jwk":{jwk}}"#,
    r#"{"typ":"JWT","alg":"ES256","kid":"h0st1le"}"#,
    r#"[[[[[[[[[[[[[[[[[[[["h0st1le"]]]]]]]]]]]]]]]]]]]]"#,
    "h0st1le",
    "",
];

/// Claims that no good proof has.
const CLAIMS: [&str; 12] = [
    "",
    "h0st1le",
    "{}",
    "null",
    r#"{"jti":"h0st1le"}"#,
    r#"{"jti":"h0st1le","htm":"POST","htu":"https://h0st1le.example/oauth2/token","iat":1}"#,
    r#"{"jti":"h0st1le","htm":"POST","htu":"http://127.0.0.1/oauth2/token","iat":1e400}"#,
    r#"{"jti":"h0st1le","htm":"POST","htu":"http://127.0.0.1/oauth2/token","iat":-1}"#,
    r#"{"jti":"h0st1le","htm":"POST","htu":"http://127.0.0.1/oauth2/token","iat":"now"}"#,
    r#"{"jti":["h0st1le"],"htm":"POST","htu":"http://127.0.0.1/oauth2/token","iat":9007199254740993}"#,
    r#"{"jti":"<script>h0st1le()</script>","htm":"<h0st1le>","htu":"javascript:h0st1le()","iat":0}"#,
    r#"{"jti":"h0st1le\u0000\r\n","htm":"POST","htu":"\u0000","nonce":"h0st1le","iat":{"h0st1le":{}}}"#,
];

/// Values that are no compact JWS.
const RAW: [&[u8]; 12] = [
    b"",
    b".",
    b"..",
    b"...",
    b"h0st1le",
    b"h0st1le.h0st1le.h0st1le",
    b"\xff\xfe.\x80.h0st1le",
    b"a.b.c, a.b.c",
    b"{\"h0st1le\":1}",
    b"DPoP h0st1le",
    b"eyJhbGciOiJub25lIn0..",
    b"<script>h0st1le()</script>",
];

fn cases(server: &Server) -> Vec<Case> {
    let signer = Signer::es256();
    let jwk = signer.jwk().to_string();
    let case = |name: String, proof: Vec<u8>, statuses: &[u16]| {
        let form = "grant_type=authorization_code&code=h0st1le";
        let request = Request::form("/oauth2/token", form).basic(&server.id, &server.secret).header("DPoP", proof);
        Case::new(name, request.bytes(), statuses)
    };
    let mut cases = Vec::new();
    for (number, header) in HEADERS.iter().enumerate() {
        for (place, claims) in CLAIMS.iter().enumerate() {
            let proof = signer.sign(header.replace("{jwk}", &jwk), claims);
            cases.push(case(format!("header {number}, claims {place}"), proof.into_bytes(), &[400]));
        }
    }
    for (number, raw) in RAW.iter().enumerate() {
        cases.push(case(format!("raw {number}"), raw.to_vec(), &[400]));
    }
    for count in [1000, 8000, 16_000, 60_000] {
        let refused = [400, 431, CLOSED];
        cases.push(case(format!("{count} periods"), vec![b'.'; count], &refused));
        let nested = format!("{}{}", "[".repeat(count / 2), "]".repeat(count / 2));
        let nested = signer.sign(URL_SAFE_NO_PAD.encode(&nested), nested);
        cases.push(case(format!("{count} brackets"), nested.into_bytes(), &refused));
    }
    cases
}
