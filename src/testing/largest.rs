//! The largest record of each kind, to show that none exceeds what the kit writes and the guide says.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::base::clock::Timestamp;
use crate::base::id::{AuthorizationId, ClientId, LogoId, PushedRequestId, Subject};
use crate::grant::refresh_token::PAIRS_IN_GRACE;
use crate::jose::{JwkSet, JwkThumbprint};
use crate::model::application::{Application, ApplicationFilter, Logo};
use crate::model::client::{CheckedForm, ClientKeys};
use crate::model::client_metadata::RegistrationBounds;
use crate::model::grant_data::GrantData;
use crate::model::protected_resource::Audience;
use crate::model::redirect_uri::RegisteredRedirectUri;
use crate::model::sign_in::SignIn;
use crate::model::terms::{Extra, RememberedConsent, Terms};
use crate::model::{
    Authorization, DeviceDecision, DeviceRequest, Grant, InitialToken, Pairs, PushedFrom, PushedRequest, Restrictions,
    STATE_BYTES, TokenPair, USER_AGENT_BYTES, VISITS, Visit,
};
use crate::scope::{ResourceScope, ScopeSet};
use crate::store::{ApplicationLogo, Record, Table};
use crate::testing::engine::largest_record;
use crate::testing::records;
use crate::testing::records::{access, browser, digest, form, pair, superseded};
use crate::testing::rows::{FAR, now, random};

/// More access tokens than a server keeps for one refresh token.
const LIVE_ACCESS_TOKENS: usize = 256;

#[test]
fn no_record_exceeds_what_the_kit_writes_and_the_guide_says() {
    let subject = Subject::new(format!("\u{202e}\0{}", "x".repeat(251))).unwrap();
    let (application, token) = (application(&subject), initial_token());
    let sizes = [
        (Table::ApplicationLogos, logo().encode().len()),
        (Table::Applications, application.encode().len()),
        (Table::Authorizations, authorization(&subject).encode().len()),
        (Table::DeviceRequests, device_request(&subject).encode().len()),
        (Table::Grants, grant(&subject).encode().len()),
        (Table::InitialTokens, token.encode().len()),
        (Table::PushedRequests, pushed_request().encode().len()),
    ];
    let guide = include_str!("../guide/writing_a_store.md");
    for (table, bytes) in sizes {
        let bound = largest_record(table);
        assert!(bytes <= bound && bytes > bound / 10 * 8, "{table:?}: {bytes} of {bound}");
        let row = guide.lines().find_map(|line| line.strip_prefix(&format!("| `{}` | ", table.as_str())));
        let said: String = row.unwrap().chars().filter(char::is_ascii_digit).collect();
        assert_eq!(said, bound.to_string(), "{table:?}");
    }
    assert_eq!(ApplicationFilter::OwnedBy(subject).key().len(), 261, "the longest name of a list");
}

fn grant(subject: &Subject) -> Grant {
    let reduced = || Restrictions { scopes: Some(scopes_of("repo-code:r")), ..Restrictions::default() };
    let large = |accesses: usize| TokenPair {
        further: (1..accesses).map(|_| access(FAR, reduced())).collect(),
        ..pair(FAR, reduced())
    };
    let pairs = Pairs {
        newest: Some(large(LIVE_ACCESS_TOKENS)),
        superseded: (0..PAIRS_IN_GRACE).map(|_| superseded(large(64))).collect(),
    };
    Grant { client: client_id(), terms: terms(), pairs, ..records::grant(subject, FAR) }
}

fn authorization(subject: &Subject) -> Authorization {
    let from = PushedFrom { id: PushedRequestId::from_bytes(random()), secret: digest() };
    Authorization {
        client: client_id(),
        destination: browser(
            &format!("https://app.example/{}", "x".repeat(2028)),
            (0..=255).cycle().take(STATE_BYTES).collect(),
        ),
        terms: terms(),
        key: Some(Box::new(JwkThumbprint::from_bytes(random()))),
        pushed: Some(Box::new(from)),
        ..records::authorization(subject, FAR)
    }
}

/// A request under the settings of the largest requests in use.
fn pushed_request() -> PushedRequest {
    PushedRequest {
        client: client_id(),
        parameters: "%25".chars().cycle().take(1 << 18).collect::<String>().into(),
        key: Some(JwkThumbprint::from_bytes(random())),
        visits: (0..VISITS).map(|_| Visit { session: digest(), until: FAR, holder: Some(digest()) }).collect(),
        ..records::pushed_request(FAR)
    }
}

fn device_request(subject: &Subject) -> DeviceRequest {
    let approved = DeviceDecision::Approved { by: AuthorizationId::from_bytes(random()), ticket: digest() };
    DeviceRequest {
        client: client_id(),
        scopes: all_scopes(),
        audience: Audience::new(["https://api.example/%27;--", "https://api.example"]),
        network: Some([0xffff; 8].into()),
        user_agent: Some("x".repeat(USER_AGENT_BYTES).into()),
        typed_by: Some(subject.clone()),
        decision: Some(approved),
        ..records::device_request(FAR)
    }
}

fn application(owner: &Subject) -> Application {
    let mut application = records::application_under(&client_id(), owner);
    let redirect_uri = |number| format!("https://{number}.example/{}", "x".repeat(2000));
    let form = CheckedForm {
        name: "\u{1f600}".repeat(50),
        description: Some("\u{1f600}".repeat(350)),
        website: format!("https://a.example/{}", "\u{1f600}".repeat(110)),
        redirect_uris: (0..10).map(|number| RegisteredRedirectUri::from_record(&redirect_uri(number))).collect(),
        scopes: all_scopes(),
        resource_scope: longest_list(0),
        client_scopes: all_scopes(),
        client_resources: longest_list(5),
        keys: largest_keys(),
        ..form()
    };
    application.client_mut().form = form.clone();
    application.proposed = Some(form);
    application.rejection = Some("\u{1f600}".repeat(1000));
    application
}

/// As many RSA keys as the settings allow by default, each of 8192 bits.
fn largest_keys() -> Option<ClientKeys> {
    let modulus = URL_SAFE_NO_PAD.encode([0xff; 1024]);
    let key = |number: usize| format!(r#"{{"kty":"RSA","e":"AQAB","n":"{modulus}","kid":"{number:0>256}"}}"#);
    let keys = (0..32).map(key).collect::<Vec<_>>().join(",");
    JwkSet::from_record(&format!(r#"{{"keys":[{keys}]}}"#)).map(ClientKeys::Set)
}

/// As large as the service allows [service 2.1].
fn logo() -> ApplicationLogo {
    let mut image = b"GIF89a\x01\0\x01\0".to_vec();
    image.extend((0..=255).cycle().take((1 << 20) - image.len()));
    ApplicationLogo { id: LogoId::from_bytes(random()), version: 1, end: Some(FAR), logo: Logo::decode(image).unwrap() }
}

fn initial_token() -> InitialToken {
    let bounds = RegistrationBounds::new(all_scopes(), longest_list(0)).resources(["x"]);
    let (id, token, made, end) = (client_id_of(22), digest(), now(), Timestamp::default());
    InitialToken { id, version: 1, token, uses_left: u32::MAX, made, end, bounds: Some(bounds) }
}

fn client_id() -> ClientId {
    client_id_of(512)
}

fn client_id_of(length: usize) -> ClientId {
    ClientId::new(('0'..='~').cycle().take(length).collect::<String>()).unwrap()
}

fn terms() -> Terms {
    let remembered = Some(RememberedConsent { asked: now(), terms: random() });
    let sign_in = SignIn::at(now()).with_acr(&"x".repeat(255)).unwrap().with_amr(["x".repeat(32).as_str(); 8]).unwrap();
    let extra = Extra {
        remembered,
        data: GrantData::new([0xff; 1024]).ok(),
        revision: NonZeroU32::new(u32::MAX),
        sign_in: Some(sign_in),
        nonce: Some("\u{1f600}".repeat(128).into()),
    };
    Terms { scopes: all_scopes(), resources: longest_list(0), audience: largest_audience(), extra: extra.boxed() }
}

/// 100 names of 4096 bytes in total. Each digit gives another list.
fn longest_list(digit: u8) -> ResourceScope {
    let end = |name: usize| if name < 96 { "xxxx" } else { "xxx" };
    let names = (0..100).map(|name| format!("{digit}/{name:02}/{}{}", "\u{1f600}".repeat(8), end(name)));
    ResourceScope::specified(names).unwrap()
}

/// As many protected resources as one consent may have, each as long as it may be.
fn largest_audience() -> Audience {
    let identifier = |number| format!("https://api.example/{number}{}", "x".repeat(2027));
    let identifiers: Vec<String> = (0..8).map(identifier).collect();
    Audience::new(identifiers.iter().map(String::as_str))
}

fn all_scopes() -> ScopeSet {
    let scopes: Vec<_> = (0..512).map(|number| format!("scope-number-{number}:rw")).collect();
    scopes_of(&scopes.join(" "))
}

fn scopes_of(text: &str) -> ScopeSet {
    ScopeSet::read(text).unwrap()
}
