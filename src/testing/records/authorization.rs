//! Authorizations in every stage.

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, DeviceRequestId, PushedRequestId};
use crate::base::subject::Subject;
use crate::jose::JwkThumbprint;
use crate::model::STATE_BYTES;
use crate::model::protected_resource::Audience;
use crate::model::redirect_uri::RedirectUri;
use crate::model::terms::Terms;
use crate::model::{Authorization, Destination, DeviceFrom, PushedFrom, Redirection, Stage};
use crate::scope::ResourceScope;
use crate::secret::pkce::CodeChallenge;
use crate::testing::draw::{self, sound};
use crate::testing::records::grant::consent;
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
        destination: browser("https://app.example/cb", Some(draw::unique().into_bytes().into())),
        challenge: Some(sound(CodeChallenge::parse(b"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"))),
        terms: Terms {
            scopes: draw::scopes("repo-code:rw account-email:r"),
            resources: ResourceScope::Public,
            audience: Audience::UNSET,
            remembered: None,
        },
        key: None,
        pushed: None,
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
    let with = |terms: Terms| Authorization { terms, ..plain() };
    let terms = || plain().terms;
    let for_several = || with(Terms { audience: hostile::audience(), ..terms() });
    let to_default = |state| {
        let redirect_uri = redirect_uri("https://app.example/cb");
        Destination::Browser(Redirection { redirect_uri, is_named: false, state })
    };
    let bare = || Authorization { destination: to_default(None), challenge: None, terms: Terms::none(), ..plain() };
    let device = || Authorization { destination: Destination::Device(device_from()), ..plain() };
    let ends = Authorization { version: u32::MAX, epoch: u32::MAX, created: Timestamp::default(), ..plain() };
    let mut all = vec![
        plain(),
        with_code(&plain(), purge_after),
        plain().denied(),
        with_code(&bare(), purge_after),
        Authorization { version: 1 << 31, created: Timestamp::from_seconds(u32::MAX), ..plain() },
        Authorization { since: Timestamp::from_seconds(u32::MAX), ..plain() },
        Authorization { end: Timestamp::from_seconds(u32::MAX), ..ends },
        Authorization { destination: to_default(Some(Box::default())), ..bare() },
        with(Terms { resources: ResourceScope::All, ..terms() }),
        with(Terms { resources: hostile::longest_list(1), ..terms() }),
        for_several(),
        with_code(&for_several(), purge_after),
        with(Terms { remembered: Some(Box::new(consent())), ..terms() }),
        Authorization { key: Some(Box::new(JwkThumbprint::from_bytes(draw::bytes()))), ..plain() },
        Authorization { pushed: Some(Box::new(pushed_from())), ..for_several() },
        device(),
        with_code(&device(), purge_after),
        hostile_authorization(plain(), (0..=255).collect()),
        hostile_authorization(plain(), [0; 64].into()),
    ];
    all.push(Authorization { subject: None, ..plain() });
    all.extend(hostile::subjects().into_iter().map(|subject| Authorization { subject: Some(subject), ..plain() }));
    all
}

/// Returns an authorization with every field as large as it may be.
pub(in crate::testing) fn huge_authorization(subject: &Subject, purge_after: Timestamp) -> Authorization {
    Authorization {
        client: hostile::client_id(512),
        destination: browser(
            &format!("https://app.example/{}", "x".repeat(2028)),
            Some((0..=255).cycle().take(STATE_BYTES).collect()),
        ),
        terms: Terms {
            scopes: draw::scopes(&hostile::many_scopes()),
            resources: hostile::longest_list(0),
            audience: hostile::largest_audience(),
            remembered: Some(Box::new(consent())),
        },
        key: Some(Box::new(JwkThumbprint::from_bytes(draw::bytes()))),
        pushed: Some(Box::new(pushed_from())),
        ..authorization(subject, purge_after)
    }
}

fn hostile_authorization(authorization: Authorization, state: Box<[u8]>) -> Authorization {
    let (scopes, resources) = (draw::scopes(hostile::SCOPES), hostile::resources());
    Authorization {
        client: hostile::client_id(120),
        destination: browser("https://app.example/';--/%27%22%5C?a=%25s&b=$1&c=[]*()!", Some(state)),
        terms: Terms { scopes, resources, ..authorization.terms },
        ..authorization
    }
}

fn browser(uri: &str, state: Option<Box<[u8]>>) -> Destination {
    Destination::Browser(Redirection { redirect_uri: redirect_uri(uri), is_named: true, state })
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
