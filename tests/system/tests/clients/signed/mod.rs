//! Third-party clients that sign, against the thin server: `openid-client` and `oauth4webapi` in the FAPI profile, the
//! client of the Model Context Protocol with DPoP, and Authlib with `private_key_jwt` alone.
//!
//! Needs `.ci/judges`; run by `cargo test --workspace --all-features --test clients signed:: -- --ignored`.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use support::folder::{Folder, repository};
use support_servers::judges;
use support_servers::started::{Started, cargo};

const REDIRECT_URI: &str = "https://client.example/callback";
const SCOPE: &str = "account-profile:r";
const FAPI: [&str; 2] = ["--profile", "fapi"];

/// A started thin server behind TLS, and the client that it knows.
struct Service {
    started: Started,
    jwk: Value,
    _folder: Folder,
}

impl Service {
    fn start(test: &str, algorithm: &str, options: &[&str]) -> Self {
        let folder = Folder::new(test);
        let mut jwk = private_key(algorithm);
        (jwk["kid"], jwk["alg"]) = ("key-one".into(), algorithm.into());
        let public = ["kty", "crv", "x", "y", "n", "e", "kid", "alg"];
        let public: Value =
            public.iter().filter_map(|name| Some(((*name).to_owned(), jwk.get(*name)?.clone()))).collect();
        let clients = json!([{
            "client_id": "signed-client",
            "jwks": {"keys": [public]},
            "redirect_uris": [REDIRECT_URI],
            "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
            "scope": SCOPE,
        }]);
        let file = folder.path().join("clients.json");
        std::fs::write(&file, clients.to_string()).unwrap();
        // The certificate is for this name, and the issuer has the port.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let (listen, issuer) = (format!("127.0.0.1:{port}"), format!("https://localhost:{port}"));
        let [certificate, key] = ["server.pem", "server.key"].map(|name| certificate(name).display().to_string());
        let own = [
            "--json",
            "--listen",
            &listen,
            "--issuer",
            &issuer,
            "--tls-cert",
            &certificate,
            "--tls-key",
            &key,
            "--clients",
            file.to_str().unwrap(),
        ];
        let started = Started::start(cargo::example("axum"), &[&own[..], options].concat());
        Self { started, jwk, _folder: folder }
    }

    /// Runs a client to its end, and returns the line of JSON that it prints.
    fn run(&self, mut program: Command) -> Value {
        let job = json!({
            "issuer": self.started.about("issuer"),
            "client_id": "signed-client",
            "jwk": self.jwk,
            "redirect_uri": REDIRECT_URI,
            "resource_url": self.started.about("resource_url"),
            "scope": SCOPE,
            "verify": certificate("ca.pem"),
        });
        let output = program.arg(job.to_string()).env("NODE_EXTRA_CA_CERTS", certificate("ca.pem")).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let what = || format!("{printed}\n{}\n{}", String::from_utf8_lossy(&output.stderr), self.started.log());
        assert!(output.status.success(), "{}", what());
        serde_json::from_str(printed.lines().last().unwrap_or_default()).unwrap_or_else(|_| panic!("{}", what()))
    }
}

fn certificate(name: &str) -> PathBuf {
    repository().join("tests/data/postgres-tls").join(name)
}

/// A key of the client's own, as it keeps it.
fn private_key(algorithm: &str) -> Value {
    let (name, usage) = match algorithm {
        "ES256" => ("{name:'ECDSA',namedCurve:'P-256'}", "['sign','verify']"),
        _ => (
            "{name:'RSA-PSS',modulusLength:2048,publicExponent:new Uint8Array([1,0,1]),hash:'SHA-256'}",
            "['sign','verify']",
        ),
    };
    let script = format!(
        "crypto.subtle.generateKey({name},true,{usage}).then(pair=>crypto.subtle.exportKey('jwk',pair.privateKey))\
         .then(jwk=>{{delete jwk.key_ops;delete jwk.ext;console.log(JSON.stringify(jwk))}})"
    );
    let output = Command::new("node").args(["-e", &script]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn node(script: &str) -> Command {
    let scripts = ["browser.mjs", "openid_client.mjs", "oauth4webapi.mjs", "mcp.mjs"];
    let folder = judges::copied("signed", &sources(), &scripts);
    let mut command = Command::new("node");
    command.arg(folder.join(script));
    command
}

fn sources() -> PathBuf {
    repository().join("tests/system/tests/clients/signed")
}

/// What both libraries must see, with nonces and without, for a client of that algorithm.
fn goes_the_whole_way(script: &str) {
    for algorithm in ["ES256", "PS256"] {
        for nonces in [false, true] {
            let options = [&FAPI[..], if nonces { &["--dpop-nonce"] } else { &[] }].concat();
            let service = Service::start(&format!("{script}-{algorithm}-{nonces}"), algorithm, &options);
            let mut seen = service.run(node(script));
            let demands = seen.as_object_mut().unwrap().remove("nonces").unwrap();
            assert_eq!(demands.as_u64().unwrap() > 0, nonces, "{demands}");
            let expected = json!({
                "pushed": ["client_id", "request_uri"],
                "token_type": "dpop",
                "user": ["alice", "alice", "alice"],
                "kept": true,
                "stolen": "invalid_token",
                "application": "signed-client",
                "ended": "invalid_grant",
            });
            assert_eq!(seen, expected, "{algorithm}, nonces: {nonces}");
        }
    }
}

/// FAPI-FIX-02
#[test]
#[ignore = "needs npm and PyPI"]
fn openid_client_goes_the_whole_way() {
    goes_the_whole_way("openid_client.mjs");
}

/// FAPI-FIX-02
#[test]
#[ignore = "needs npm and PyPI"]
fn oauth4webapi_goes_the_whole_way() {
    goes_the_whole_way("oauth4webapi.mjs");
}

/// 9449-5-02
/// A client that registered itself, public, with tokens that are bound to its key.
#[test]
#[ignore = "needs npm and PyPI"]
fn the_mcp_client_binds_its_tokens() {
    let service = Service::start("mcp-dpop", "ES256", &["--profile", "mcp", "--open-clients", "--dpop-nonce"]);
    let mut seen = service.run(node("mcp.mjs"));
    let demands = seen.as_object_mut().unwrap().remove("nonces").unwrap();
    assert!(demands.as_u64().unwrap() > 0, "{demands}");
    let expected = json!({
        "before": true,
        "token_type": "DPoP",
        "user": ["alice", "alice"],
        "refreshed": "AUTHORIZED",
        "is_new": true,
        "bearer": 401,
        "invalidated": null,
    });
    assert_eq!(seen, expected);
}

/// 7523-3-02
/// Its default audience, the token endpoint, is refused.
#[test]
#[ignore = "needs npm and PyPI"]
fn authlib_signs_for_the_issuer() {
    for algorithm in ["ES256", "PS256"] {
        let service = Service::start(&format!("authlib-{algorithm}"), algorithm, &["--profile", "strict"]);
        let mut python = Command::new(judges::folder("authlib").join("bin/python"));
        // Python must not write compiled files among the sources.
        python.arg("-B").arg(sources().join("authlib_client.py"));
        let expected = json!({
            "token_type": "bearer",
            "user": ["alice", "alice"],
            "is_new": true,
            "endpoint": "invalid_client",
        });
        assert_eq!(service.run(python), expected, "{algorithm}");
    }
}
