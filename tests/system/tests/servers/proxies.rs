//! The configurations of the guide "Behind a proxy", run by nginx and Caddy in front of a service.

use std::fs;
use std::future::pending;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{ConnectInfo, Request as AxumRequest};
use axum::middleware::map_request;
use grantor::config::Profile;
use grantor::hooks::{Attempt, Throttle, ThrottleDecision};
use grantor_axum::{Interaction, accept};
use support::folder::{Folder, repository};
use support::world::{World, config_at};
use support_servers::http::{Answer, Request, connect, value_after};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::adapters::interaction::{People, location};

const GUIDE: &str = include_str!("../../../../src/guide/behind_a_proxy.md");
const PREFIX: &str = "/notes";

/// Every address that attempts came from.
#[derive(Clone, Debug, Default)]
struct Peers(Arc<Mutex<Vec<Option<IpAddr>>>>);

#[async_trait]
impl Throttle for Peers {
    async fn check(&self, attempt: &Attempt<'_>) -> ThrottleDecision {
        self.0.lock().unwrap().push(attempt.peer);
        ThrottleDecision::Allow
    }

    async fn failed(&self, _: &Attempt<'_>) {}
}

// As in the guide.
async fn behind_the_proxy(mut request: AxumRequest) -> AxumRequest {
    let header = request.headers().get("X-Real-IP").and_then(|value| value.to_str().ok()?.parse::<IpAddr>().ok());
    if let Some(ConnectInfo(peer)) = request.extensions_mut().get_mut::<ConnectInfo<SocketAddr>>()
        && let (true, Some(address)) = (peer.ip().is_loopback(), header)
    {
        peer.set_ip(address);
    }
    request
}

/// A service below a path, with its users and the addresses that it saw.
struct Service {
    world: World,
    peers: Peers,
    address: SocketAddr,
}

impl Service {
    async fn start() -> Self {
        let peers = Peers::default();
        let config = config_at(Profile::Platform, &format!("https://localhost{PREFIX}"));
        let world = World::built(config, |builder| builder.throttle(peers.clone())).await;
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let routes: Router = Interaction::new(&world.server, demo::pages(), People).routes();
        let routes = routes.layer(map_request(behind_the_proxy));
        tokio::spawn(accept::serve(listener, routes, pending()));
        Self { world, peers, address }
    }
}

/// A proxy with a block of the guide, on a port of its own and with the certificate of the tests.
struct Proxy {
    process: Child,
    address: SocketAddr,
    _folder: Folder,
}

impl Proxy {
    fn nginx(service: &Service, change: impl FnOnce(String) -> String) -> Self {
        let run = |folder: &Path, block: String, port: u16| {
            let block = change(block).replace("listen 443", &format!("listen 127.0.0.1:{port}"));
            let file = folder.join("nginx.conf");
            let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                .map(|name| format!("{name}_temp_path {}/{name};\n", folder.display()))
                .concat();
            let text = format!(
                "daemon off; master_process off; pid {0}/pid; error_log stderr;\n\
                 events {{}}\nhttp {{\naccess_log off;\n{temporary}{block}}}\n",
                folder.display()
            );
            fs::write(&file, text).unwrap();
            let mut command = Command::new("/usr/sbin/nginx");
            command.arg("-c").arg(file);
            command
        };
        Self::start(service, "nginx", "/etc/ssl/", run)
    }

    fn caddy(service: &Service) -> Self {
        let run = |folder: &Path, block: String, port: u16| {
            let tls = repository().join("tests/data/postgres-tls");
            let own = format!(
                "https://localhost:{port} {{\n    bind 127.0.0.1\n    tls {0}/server.pem {0}/server.key\n",
                tls.display()
            );
            let file = folder.join("Caddyfile");
            let global = "{\n    admin off\n    auto_https disable_redirects\n}\n";
            fs::write(&file, format!("{global}{}", block.replace("localhost {\n", &own))).unwrap();
            let mut command = Command::new("/usr/bin/caddy");
            command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
            command.env("HOME", folder).env("XDG_DATA_HOME", folder).env("XDG_CONFIG_HOME", folder);
            command
        };
        Self::start(service, "caddy", "/none/", run)
    }

    fn start(
        service: &Service,
        language: &str,
        certificates: &str,
        run: impl FnOnce(&Path, String, u16) -> Command,
    ) -> Self {
        let folder = Folder::new(language);
        let (_, block) = GUIDE.split_once(&format!("```{language}\n")).expect("the guide has a block");
        let (block, _) = block.split_once("```").unwrap();
        let tls = repository().join("tests/data/postgres-tls");
        let block = block
            .replace(&format!("{certificates}example.com"), &format!("{}/server", tls.display()))
            .replace("example.com", "localhost")
            .replace("127.0.0.1:8080", &service.address.to_string());
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut process = run(folder.path(), block, address.port()).stdin(Stdio::null()).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::net::TcpStream::connect(address).is_err() {
            assert_eq!(process.try_wait().unwrap(), None, "{language} ended");
            assert!(Instant::now() < deadline, "{language} does not start");
            sleep(Duration::from_millis(10));
        }
        Self { process, address, _folder: folder }
    }

    /// Sends a request as a browser at that address does.
    async fn send(&self, from: Ipv4Addr, request: Request) -> Answer {
        let authority = repository().join("tests/data/postgres-tls/ca.pem");
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let stream = connect(from, self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        stream.write_all(&request.bytes()).await.unwrap();
        let mut heard = Vec::new();
        // A proxy may close the connection without saying goodbye.
        let _ = stream.read_to_end(&mut heard).await;
        Answer::read_all(&heard, false).unwrap_or_else(|fault| panic!("{fault}: {}", heard.escape_ascii())).remove(0)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

const BROWSER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);

/// Goes the way of a user and a client: metadata, sign-in, consent, code, tokens.
async fn whole_way(service: &Service, proxy: &Proxy) {
    let send = async |request: Request| proxy.send(BROWSER, request.header("X-Real-IP", "203.0.113.7")).await;
    let metadata = send(Request::get(format!("/.well-known/oauth-authorization-server{PREFIX}"))).await;
    assert_eq!(metadata.json()["token_endpoint"], format!("https://localhost{PREFIX}/oauth2/token"));

    let target = format!("{PREFIX}/oauth2/auth?{}", service.world.query(&[]));
    let to_sign_in = send(Request::get(&target)).await;
    assert!(location(&to_sign_in).starts_with("/sign-in?return_to=%2Fnotes%2Foauth2%2Fauth"), "{to_sign_in:?}");
    let browser = to_sign_in.cookies();
    let cookies = format!("{browser}; user=alice");
    let page = send(Request::get(&target).header("Cookie", &cookies)).await;
    assert_eq!(page.status, 200, "{page:?}");
    let text = page.text();
    let form = [("handle", value_after(&text, "name=\"handle\"")), ("decision", "allow"), ("scope", "repo-code:rw")];
    let consent = Request::post(format!("{PREFIX}/oauth2/auth/consent"), &form).header("Cookie", &cookies);
    let redirect = send(consent).await;
    let code = location(&redirect).split(['?', '&']).find_map(|pair| pair.strip_prefix("code=")).unwrap();
    let form = [("grant_type", "authorization_code"), ("code", code)];
    let client = &service.world.client;
    let exchange = Request::post(format!("{PREFIX}/oauth2/token"), &form).basic(&client.id, &client.secret);
    assert_eq!(send(exchange).await.status, 200);

    let peers = service.peers.0.lock().unwrap();
    assert!(!peers.is_empty() && peers.iter().all(|peer| *peer == Some(BROWSER.into())), "{peers:?}");
}

/// A request of `bytes` bytes: the redirect to the sign-in repeats it, escaped.
fn long(service: &Service, bytes: usize) -> Request {
    let state = "a/".repeat(bytes / 4);
    Request::get(format!("{PREFIX}/oauth2/auth?{}", service.world.query(&[("state", &state)])))
}

#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_passes_everything_with_the_configuration_of_the_guide() {
    let service = Service::start().await;
    let proxy = Proxy::nginx(&service, |block| block);
    whole_way(&service, &proxy).await;
    let answer = proxy.send(BROWSER, long(&service, 7_500)).await;
    assert!(answer.status == 303 && location(&answer).len() > 11_000, "{answer:?}");
}

/// Each of its lines is needed.
#[tokio::test]
#[ignore = "needs nginx"]
async fn nginx_with_its_defaults_refuses_or_misleads() {
    let service = Service::start().await;
    let without = |name: &'static str| {
        Proxy::nginx(&service, move |block| {
            block.lines().filter(|line| !line.contains(name)).map(|line| format!("{line}\n")).collect()
        })
    };
    service.world.events.take();
    let wrong = without("Host").send(BROWSER, long(&service, 100)).await;
    assert_eq!(wrong.status, 421, "{wrong:?}");
    let expected = format!("OtherHost {{ host: \"{}\", origin: \"https://localhost\" }}", service.address);
    assert_eq!(service.world.events.take(), [expected]);
    assert_eq!(without("large_client_header_buffers").send(BROWSER, long(&service, 10_000)).await.status, 414);
    assert_eq!(without("proxy_bu").send(BROWSER, long(&service, 7_000)).await.status, 502);
    let unknown = without("X-Real-IP");
    let push = Request::post(format!("{PREFIX}/oauth2/token"), &[]).header("X-Real-IP", "203.0.113.7");
    unknown.send(BROWSER, push.basic("app", "secret")).await;
    assert_eq!(*service.peers.0.lock().unwrap(), [Some("203.0.113.7".parse().unwrap())], "anyone can choose it");
}

#[tokio::test]
#[ignore = "needs Caddy"]
async fn caddy_passes_everything_with_the_configuration_of_the_guide() {
    let service = Service::start().await;
    let proxy = Proxy::caddy(&service);
    whole_way(&service, &proxy).await;
    let answer = proxy.send(BROWSER, long(&service, 7_500)).await;
    assert!(answer.status == 303 && location(&answer).len() > 11_000, "{answer:?}");
}
