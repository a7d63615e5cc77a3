//! Whether a decision may be taken, and what it grants.

use std::sync::Arc;

use crate::authorization::decision::Decision;
use crate::authorization::signed_in::DecidingUser;
use crate::base::clock::Timestamp;
use crate::config::Config;
use crate::error::Reason;
use crate::model::client::{Client, ClientState, GrantType};
use crate::model::terms::Terms;
use crate::model::{Authorization, Destination, Stage};
use crate::scope::ResourceScope;
use crate::secret::Digest;

/// The user who is asked or decides, and the session.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) user: DecidingUser<'a>,
    pub(crate) session: &'a [u8],
}

/// Checks that the ticket, the user and the session belong to the request.
pub(crate) fn judge_asked(found: &Authorization, ticket: &Digest, asked: &Asked<'_>) -> Result<(), Reason> {
    let proven = found.ticket == *ticket && found.session == Digest::of(asked.session);
    if !proven || found.subject() != Some(asked.user.subject) {
        return Err(Reason::UnknownConsentTicket);
    }
    Ok(())
}

/// Checks that the request still awaits a decision.
pub(crate) fn judge_held(found: &Authorization, now: Timestamp) -> Result<(), Reason> {
    match found.stage {
        Stage::CodeIssued(_) | Stage::Denied => Err(Reason::AlreadyDecided),
        Stage::Held if !found.since.has_come(now) => {
            Err(Reason::not_yet_valid(found.since, now, Reason::HeldInTheFuture))
        }
        Stage::Held if now >= found.end => Err(Reason::HoldExpired),
        Stage::Held => Ok(()),
    }
}

/// Checks the client as it is now, and its redirect URI again. A device has none.
pub(crate) fn judge_client(
    client: Option<Arc<Client>>,
    held: &Authorization,
    config: &Config,
) -> Result<Arc<Client>, Reason> {
    let client = client.filter(|client| client.state != ClientState::Deleted).ok_or(Reason::UnknownClient)?;
    let grant_type = match held.destination {
        Destination::Browser(_) => GrantType::AuthorizationCode,
        Destination::Device(_) => GrantType::DeviceCode,
    };
    if !client.is_approved() || !client.form.grant_types.contains(grant_type) {
        return Err(Reason::ClientNotApproved);
    }
    match &held.destination {
        Destination::Browser(to) if !config.accepts_redirect_uri(&client, to.redirect_uri.as_str().as_bytes()) => {
            Err(Reason::MissingRedirectUri)
        }
        // The device asked before all grants of the client were revoked.
        Destination::Device(_) if client.has_revoked(held.epoch)? => Err(Reason::HoldExpired),
        Destination::Browser(_) | Destination::Device(_) => Ok(client),
    }
}

/// Returns what is granted: at most what the user saw and what the client may still have. It is a refusal if the user
/// chose nothing, and [`Reason::ExcessScope`] if the client may have nothing of it any more.
pub(crate) fn judge_decision(
    held: &Authorization,
    client: &Client,
    decision: &Decision,
    config: &Config,
) -> Result<Terms, Reason> {
    let Decision::Approve(consent) = decision else { return Err(Reason::AccessDenied) };
    match &held.destination {
        Destination::Browser(_) if config.needs_pkce(client, held.terms.are_openid()) && held.challenge.is_none() => {
            return Err(Reason::MissingChallenge);
        }
        Destination::Device(device) if device.in_link && !consent.device_shows_code => {
            return Err(Reason::DeviceCodeNotCompared);
        }
        Destination::Browser(_) | Destination::Device(_) => {}
    }
    let chosen = match &consent.scopes {
        None => config.scopes.known_part(&held.terms.scopes),
        Some(tokens) if tokens.is_empty() => return Err(Reason::AccessDenied),
        Some(tokens) => {
            let tokens = tokens.iter().map(String::as_str);
            config.scopes.select(tokens).map_err(|_| Reason::ExcessDecision)?
        }
    };
    let asked = held.resource_scope();
    let resources = match &consent.resources {
        None => asked.clone(),
        Some(resources) if resources.is_empty() => match asked {
            ResourceScope::Specified(_) => return Err(Reason::AccessDenied),
            ResourceScope::All | ResourceScope::Public => asked.clone(),
        },
        Some(resources) => ResourceScope::specified(resources).map_err(|_| Reason::ExcessDecision)?,
    };
    if !chosen.is_subset_of(&held.terms.scopes) || !asked.covers(&resources) {
        return Err(Reason::ExcessDecision);
    }
    let chosen = Terms { scopes: chosen, resources, ..held.terms.clone() };
    // The response to the exchange must have an ID token [OpenID Connect Core section 3.1.3.3].
    if held.terms.are_openid() && !chosen.are_openid() {
        return Err(Reason::AccessDenied);
    }
    chosen.left_for(client).ok_or(Reason::ExcessScope)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authorization::decision::Consent;
    use crate::base::id::{AuthorizationId, Subject};
    use crate::grant::fixtures::{at, client, redirection, scopes, terms_of};
    use crate::model::client::GrantTypes;
    use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
    use crate::scope::ScopeSet;
    use crate::secret::pkce::CodeVerifier;

    const URI: &str = "https://app.example/cb";

    /// A consent request, and the user who decides.
    struct Scene {
        config: Config,
        client: Option<Client>,
        held: Authorization,
        ticket: Digest,
        subject: Subject,
        session: &'static [u8],
        seconds: u32,
        decision: Decision,
    }

    fn faultless() -> Scene {
        let config = Config::platform("https://auth.example");
        let mut client = client("own");
        client.form.redirect_uris = vec![RegisteredRedirectUri::parse(URI, &config.redirect_uris).unwrap()];
        let subject = Subject::new("alice").unwrap();
        let held = Authorization {
            id: AuthorizationId::from_bytes([7; 16]),
            version: 1,
            client: client.id.clone(),
            epoch: 0,
            subject: Some(subject.clone()),
            session: Digest::of(b"session"),
            created: at(0),
            ticket: Digest::of(b"handle"),
            stage: Stage::Held,
            since: at(0),
            end: at(1800),
            destination: Destination::Browser(redirection(URI)),
            challenge: None,
            terms: terms_of(&client),
            key: None,
            pushed: None,
            answer: None,
        };
        Scene {
            config,
            client: Some(client),
            held,
            ticket: Digest::of(b"handle"),
            subject,
            session: b"session",
            seconds: 1799,
            decision: Decision::Approve(Consent::to_everything()),
        }
    }

    /// The judgements in the order in which `decide` makes them.
    fn judge(scene: &Scene) -> Result<Terms, Reason> {
        let asked = Asked { user: (&scene.subject).into(), session: scene.session };
        judge_asked(&scene.held, &scene.ticket, &asked)?;
        judge_held(&scene.held, at(scene.seconds))?;
        let client = judge_client(scene.client.clone().map(Arc::new), &scene.held, &scene.config)?;
        judge_decision(&scene.held, &client, &scene.decision, &scene.config)
    }

    fn outcome(scene: &Scene) -> String {
        judge(scene).map_or_else(|reason| format!("{reason:?}"), |_| "granted".to_owned())
    }

    fn own(scene: &mut Scene) -> &mut Client {
        scene.client.as_mut().unwrap()
    }

    type Fault = (&'static str, fn(&mut Scene));

    const FAULTS: [Fault; 10] = [
        ("UnknownConsentTicket", |scene| scene.ticket = Digest::of(b"another")),
        ("UnknownConsentTicket", |scene| scene.session = b"another"),
        ("UnknownConsentTicket", |scene| scene.subject = Subject::new("bob").unwrap()),
        ("HoldExpired", |scene| scene.seconds = 1800),
        ("ClientNotApproved", |scene| own(scene).state = ClientState::Suspended),
        ("ClientNotApproved", |scene| own(scene).form.grant_types = GrantTypes::NONE),
        ("MissingRedirectUri", |scene| {
            let another = RegisteredRedirectUri::parse("https://another.example/cb", &RedirectUriPolicy::default());
            own(scene).form.redirect_uris = vec![another.unwrap()];
        }),
        ("MissingChallenge", |scene| own(scene).privileges.require_pkce = true),
        ("ExcessDecision", |scene| {
            scene.decision = Decision::Approve(Consent::to_everything().scopes(["account-profile:r"]));
        }),
        ("ExcessScope", |scene| own(scene).form.scopes = ScopeSet::empty()),
    ];

    #[test]
    fn a_decision_is_refused_in_order() {
        assert_eq!(outcome(&faultless()), "granted");
        for (place, (expected, fault)) in FAULTS.iter().enumerate() {
            let mut alone = faultless();
            fault(&mut alone);
            assert_eq!(outcome(&alone), *expected, "{place} alone");
            let mut all = faultless();
            FAULTS[place..].iter().for_each(|(_, fault)| fault(&mut all));
            assert_eq!(outcome(&all), *expected, "{place} with all later ones");
        }
        let mut scene = faultless();
        scene.client = None;
        assert_eq!(outcome(&scene), "UnknownClient");
    }

    #[test]
    fn a_decided_request_is_not_decided_again() {
        for (stage, seconds, expected) in [
            (Stage::Denied, 0, "AlreadyDecided"),
            (Stage::CodeIssued(Digest::of(b"code")), 0, "AlreadyDecided"),
            (Stage::Denied, 9999, "AlreadyDecided"),
        ] {
            let mut scene = faultless();
            (scene.held.stage, scene.seconds) = (stage, seconds);
            assert_eq!(outcome(&scene), expected);
            scene.ticket = Digest::of(b"another");
            assert_eq!(outcome(&scene), "UnknownConsentTicket", "who has no ticket learns nothing");
        }
    }

    #[test]
    fn a_user_grants_at_most_what_was_asked() {
        let all = || Consent::to_everything();
        let public = || ResourceScope::Public;
        let two = || ResourceScope::specified(&["a".to_owned(), "b".to_owned()]).unwrap();
        type Resources = fn() -> ResourceScope;
        let everything: Resources = || ResourceScope::All;
        let rows: [(Resources, Decision, &str); 11] = [
            (everything, Decision::Deny, "AccessDenied"),
            (everything, Decision::Approve(all()), "granted"),
            (everything, Decision::Approve(all().scopes(["repo-code:r"])), "granted"),
            (everything, Decision::Approve(all().scopes(["repo-code:r", "account-profile:r"])), "ExcessDecision"),
            (everything, Decision::Approve(all().scopes(["no such scope"])), "ExcessDecision"),
            (everything, Decision::Approve(all().scopes([])), "AccessDenied"),
            (everything, Decision::Approve(all().resources([])), "granted"),
            (public, Decision::Approve(all().resources([])), "granted"),
            (two, Decision::Approve(all().resources(["a"])), "granted"),
            (two, Decision::Approve(all().resources([])), "AccessDenied"),
            (two, Decision::Approve(all().resources(["c"])), "ExcessDecision"),
        ];
        for (number, (resources, decision, expected)) in rows.into_iter().enumerate() {
            let mut scene = faultless();
            scene.held.terms.resources = resources();
            own(&mut scene).form.resource_scope = resources();
            scene.decision = decision;
            assert_eq!(outcome(&scene), expected, "{number}");
        }
        let mut scene = faultless();
        scene.decision = Decision::Approve(all().scopes(["repo-code:r"]));
        assert_eq!(judge(&scene).ok().unwrap().scopes, scopes("repo-code:r"));
    }

    #[test]
    fn a_challenge_meets_a_requirement_that_came_later() {
        let mut scene = faultless();
        own(&mut scene).privileges.require_pkce = true;
        scene.held.challenge = Some(CodeVerifier::new("v".repeat(43)).unwrap().challenge());
        assert_eq!(outcome(&scene), "granted");
        scene.held.challenge = None;
        scene.decision = Decision::Deny;
        assert_eq!(outcome(&scene), "AccessDenied");
    }
}
