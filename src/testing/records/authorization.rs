//! Authorizations in every stage.

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, DeviceRequestId, PushedRequestId};
use crate::base::subject::Subject;
use crate::jose::JwkThumbprint;
use crate::model::STATE_BYTES;
use crate::model::protected_resource::Audience;
use crate::model::redirect_uri::RedirectUri;
use crate::model::{Authorization, DeviceFrom, PushedFrom, Source, Stage};
use crate::scope::{ResourceScope, ScopeSet};
use crate::secret::pkce::CodeChallenge;
use crate::testing::draw::{self, sound};
use crate::testing::records::hostile;

/// Creates an authorization of that user: held, version 1, to be purged from `purge_after`, one hour after its end.
#[must_use]
pub fn authorization(subject: &Subject, purge_after: Timestamp) -> Authorization {
    Authorization {
        id: draw::new_id(),
        version: 1,
        client: sound(ClientId::new(draw::unique())),
        epoch: 0,
        subject: Some(subject.clone()),
        session: draw::digest(),
        created: draw::now(),
        ticket: draw::digest(),
        stage: Stage::Held,
        since: draw::now(),
        end: draw::end(purge_after),
        redirect_uri: redirect_uri("https://app.example/cb"),
        redirect_uri_named: true,
        challenge: Some(sound(CodeChallenge::parse(b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"))),
        state: Some(draw::unique().into_bytes().into()),
        scopes: draw::scopes("repo-code:rw account-email:r"),
        resources: ResourceScope::Public,
        audience: Audience::UNSET,
        key: None,
        source: None,
    }
}

/// Creates the next version of an authorization, with a new code each time.
#[must_use]
pub fn with_code(authorization: &Authorization, purge_after: Timestamp) -> Authorization {
    let next = authorization.with_code(draw::digest(), draw::now(), draw::end(purge_after));
    Authorization { version: authorization.version.saturating_add(1), ..next }
}

/// Returns authorizations in every stage, with every choice of a field and all bytes that a field may hold.
pub(in crate::testing) fn authorizations_of_every_kind(
    subject: &Subject,
    purge_after: Timestamp,
) -> Vec<Authorization> {
    let plain = || authorization(subject, purge_after);
    let bare = || Authorization {
        redirect_uri_named: false,
        challenge: None,
        state: None,
        scopes: ScopeSet::empty(),
        resources: ResourceScope::none(),
        ..plain()
    };
    let ends = Authorization { version: u32::MAX, epoch: u32::MAX, created: Timestamp::default(), ..plain() };
    let mut all = vec![
        plain(),
        with_code(&plain(), purge_after),
        plain().denied(),
        with_code(&bare(), purge_after),
        Authorization { version: 1 << 31, created: Timestamp::from_seconds(u32::MAX), ..plain() },
        Authorization { since: Timestamp::from_seconds(u32::MAX), ..plain() },
        Authorization { end: Timestamp::from_seconds(u32::MAX), ..ends },
        Authorization { state: Some(Box::default()), resources: ResourceScope::All, ..bare() },
        Authorization { resources: hostile::longest_list(1), ..plain() },
        Authorization { audience: hostile::audience(), ..plain() },
        with_code(&Authorization { audience: hostile::audience(), ..bare() }, purge_after),
        Authorization { key: Some(Box::new(JwkThumbprint::from_bytes(draw::bytes()))), ..plain() },
        Authorization {
            source: Some(Box::new(Source::Pushed(pushed_from()))),
            audience: hostile::audience(),
            ..plain()
        },
        Authorization { source: Some(Box::new(Source::Device(device_from()))), ..plain() },
        with_code(&Authorization { source: Some(Box::new(Source::Device(device_from()))), ..plain() }, purge_after),
        Authorization { state: Some((0..=255).collect()), ..hostile_authorization(plain()) },
        Authorization { state: Some([0; 64].into()), ..hostile_authorization(plain()) },
    ];
    all.push(Authorization { subject: None, ..plain() });
    all.extend(hostile::subjects().into_iter().map(|subject| Authorization { subject: Some(subject), ..plain() }));
    all
}

/// Returns an authorization with every field as large as it may be.
pub(in crate::testing) fn huge_authorization(subject: &Subject, purge_after: Timestamp) -> Authorization {
    Authorization {
        client: hostile::client_id(512),
        redirect_uri: redirect_uri(&format!("https://app.example/{}", "x".repeat(2028))),
        state: Some((0..=255).cycle().take(STATE_BYTES).collect()),
        scopes: draw::scopes(&hostile::many_scopes()),
        resources: hostile::longest_list(0),
        audience: hostile::largest_audience(),
        key: Some(Box::new(JwkThumbprint::from_bytes(draw::bytes()))),
        source: Some(Box::new(Source::Pushed(pushed_from()))),
        ..authorization(subject, purge_after)
    }
}

fn hostile_authorization(authorization: Authorization) -> Authorization {
    Authorization {
        client: hostile::client_id(120),
        redirect_uri: redirect_uri("https://app.example/';--/%27%22%5C?a=%25s&b=$1&c=[]*()!"),
        scopes: draw::scopes(hostile::SCOPES),
        resources: hostile::resources(),
        ..authorization
    }
}

fn device_from() -> DeviceFrom {
    let id = DeviceRequestId::from_bytes(draw::bytes());
    DeviceFrom { id, secret: draw::digest(), end: draw::now(), in_link: true }
}

fn pushed_from() -> PushedFrom {
    PushedFrom { id: PushedRequestId::from_bytes(draw::bytes()), secret: draw::digest() }
}

fn redirect_uri(text: &str) -> RedirectUri {
    sound(RedirectUri::read(text).ok_or(text))
}
