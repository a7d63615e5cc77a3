//! Exchanges a code for the first pair of tokens [RFC 6749 section 4.1.3].

use crate::base::clock::Timestamp;
use crate::base::id::AuthorizationId;
use crate::config::{Config, ExchangeRedirectUri};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::first_pair;
use crate::grant::first_pair::{Beginning, Exchanged, NotFirst, Rules, replayed};
use crate::grant::issue::Issued;
use crate::grant::request::TokenRequest;
use crate::hooks::Event;
use crate::jose::JwkThumbprint;
use crate::model::{Authorization, Destination, Grant, Redirection, Stage};
use crate::secret::pkce::CodeVerifier;
use crate::secret::{Digest, Presented};

/// Issues the first pair for a code, once. A second exchange of a valid code revokes the grant, unless the code was
/// sent twice.
pub(crate) async fn exchange(context: &Context, request: &TokenRequest<'_>) -> Result<Issued, Reason> {
    let now = context.now();
    let code = request.required("code")?;
    let presented = Presented::parse(&context.prefixes.code, code).ok_or(Reason::UnknownCode)?;
    let id = AuthorizationId::from_bytes(presented.id);
    let authorization = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownCode)?;
    let exchanged = match judge(&authorization, &presented.digest, request, &Rules::of(context), now) {
        Ok(exchanged) => exchanged,
        Err(reason @ (Reason::ClockDiffers(_) | Reason::CodeNotYetValid | Reason::CodeExpired)) => {
            return Err(out_of_time(context, request, &authorization, reason).await?);
        }
        Err(reason) => {
            if matches!(reason, Reason::AnotherDpopKey) {
                let (grant, subject) = (id.into(), authorization.subject());
                context.raise(&Event::AnotherDpopKey { grant, client: &authorization.client, subject });
            }
            return Err(reason.or_newer_settings(&context.config, &authorization.terms));
        }
    };
    let beginning = Beginning::drawn(&*context.entropy);
    match first_pair::issue(context, request, &authorization, exchanged, beginning, now).await {
        Ok(issued) => Ok(issued),
        Err(NotFirst::Replayed(Some(grant))) => Err(second_exchange(context, request, &grant).await?),
        Err(NotFirst::Replayed(None)) => Err(Reason::CodeSpent),
        Err(NotFirst::Refused(Reason::CodeExpired)) => {
            Err(out_of_time(context, request, &authorization, Reason::CodeExpired).await?)
        }
        Err(NotFirst::Refused(reason)) => Err(reason),
    }
}

/// Checks everything except first use, in the order that reveals least to a wrong party.
fn judge(
    authorization: &Authorization,
    code: &Digest,
    request: &TokenRequest<'_>,
    rules: &Rules<'_>,
    now: Timestamp,
) -> Result<Exchanged, Reason> {
    let config = rules.config;
    let to = match (&authorization.stage, &authorization.destination) {
        (Stage::CodeIssued(digest), Destination::Browser(to)) if digest == code => to,
        (Stage::CodeIssued(_) | Stage::Held | Stage::Denied, _) => return Err(Reason::UnknownCode),
    };
    // § 4.1.3: "ensure that the authorization code was issued to the authenticated confidential client, or if the
    // client is public, ensure that the code was issued to "client_id" in the request"
    if authorization.client != request.client.id {
        return Err(Reason::CodeOfAnotherClient);
    }
    judge_redirect_uri(authorization, to, request.form.bytes("redirect_uri"), config)?;
    // PKCE may have become mandatory for the client since. A code without it is then refused.
    if config.needs_pkce(request.client, authorization.terms.are_openid()) && authorization.challenge.is_none() {
        return Err(Reason::MissingVerifier);
    }
    judge_verifier(authorization, request.form.bytes("code_verifier"))?;
    judge_key(authorization, request.key)?;
    // All grants of the client were revoked since.
    if request.client.has_revoked(authorization.epoch)? {
        return Err(Reason::CodeSpent);
    }
    if !authorization.since.has_come(now) {
        return Err(Reason::not_yet_valid(authorization.since, now, Reason::CodeNotYetValid));
    }
    if now >= authorization.end {
        return Err(Reason::CodeExpired);
    }
    // The client may have been reduced since the user consented, even to nothing.
    let client = request.client;
    if !config.accepts_redirect_uri(client, to.redirect_uri.as_str().as_bytes()) {
        let is_newer = authorization.terms.revision() > config.revision;
        return Err(if is_newer { Reason::NewerSettings } else { Reason::CodeSpent });
    }
    rules.granted(authorization, request)
}

/// § 4.1.3: "ensure that the "redirect_uri" parameter is present if the "redirect_uri" parameter was included in
/// the initial authorization request […] and if included ensure that their values are identical"
fn judge_redirect_uri(
    authorization: &Authorization,
    to: &Redirection,
    sent: Option<&[u8]>,
    config: &Config,
) -> Result<(), Reason> {
    match sent {
        Some(sent) if sent == to.redirect_uri.as_str().as_bytes() => Ok(()),
        Some(_) => Err(Reason::RedirectUriMismatch),
        None => {
            let required = config.authorization.exchange_redirect_uri == ExchangeRedirectUri::RequiredWithoutPkce
                && to.is_named
                && authorization.challenge.is_none();
            if required { Err(Reason::RedirectUriMismatch) } else { Ok(()) }
        }
    }
}

/// RFC 7636 section 4.6; a verifier exactly when there is a challenge [OAuth 2.1 § 4.1.3].
fn judge_verifier(authorization: &Authorization, sent: Option<&[u8]>) -> Result<(), Reason> {
    match (&authorization.challenge, sent) {
        (None, None) => Ok(()),
        (None, Some(_)) => Err(Reason::UnexpectedVerifier),
        (Some(_), None) => Err(Reason::MissingVerifier),
        (Some(challenge), Some(verifier)) => {
            CodeVerifier::check(verifier).map_err(Reason::MalformedVerifier)?;
            if challenge.is_met_by(verifier) { Ok(()) } else { Err(Reason::WrongVerifier) }
        }
    }
}

/// > the authorization server computes the JWK Thumbprint of the proof-of-possession public key in the DPoP proof and
/// > verifies that it matches the dpop_jkt parameter value in the authorization request. If they do not match, it MUST
/// > reject the request.
///
/// [RFC 9449 section 10]
fn judge_key(authorization: &Authorization, sent: Option<&JwkThumbprint>) -> Result<(), Reason> {
    match (authorization.key.as_deref(), sent) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(Reason::MissingDpopProof),
        (Some(bound), Some(sent)) if bound == sent => Ok(()),
        (Some(_), Some(_)) => Err(Reason::AnotherDpopKey),
    }
}

/// Judges an otherwise valid use of a code after its end, or before its issue. It is a replay if the code was
/// exchanged.
async fn out_of_time(
    context: &Context,
    request: &TokenRequest<'_>,
    authorization: &Authorization,
    reason: Reason,
) -> Result<Reason, Reason> {
    match context.stores.tokens.find(&authorization.id.into()).await? {
        Some(grant) if grant.revoked.is_none() => second_exchange(context, request, &grant).await,
        // It is spent, whatever the clocks show.
        Some(_) if matches!(reason, Reason::ClockDiffers(_)) => Ok(Reason::CodeSpent),
        Some(_) | None => Ok(reason),
    }
}

/// Judges a second exchange of a code. A user who sends the same answer twice may cause it: the client then gets the
/// code twice, and must not lose the grant. So the second exchange is refused, which is what § 4.1.2 demands, and
/// nothing is revoked, which it advises.
async fn second_exchange(context: &Context, request: &TokenRequest<'_>, grant: &Grant) -> Result<Reason, Reason> {
    // The code may have been sent again after the request read the record.
    let authorization = context.stores.codes.find(&grant.id.into()).await?;
    let is_sent_twice = authorization.is_some_and(|authorization| authorization.is_repeated(context.now()));
    if !is_sent_twice || grant.revoked.is_some() {
        return replayed(context, request, grant).await;
    }
    request.record_uses(context).await?;
    let (client, subject) = (&grant.client, grant.subject());
    context.raise(&Event::CodeSentTwice { grant: grant.id, client, subject });
    Ok(Reason::CodeSpent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Subject;
    use crate::grant::fixtures::{at, client, no_resources, redirection, scopes, terms_of};
    use crate::model::client::{ApplicationType, Client};
    use crate::model::redirect_uri::{RedirectUriPolicy, RegisteredRedirectUri};
    use crate::scope::ScopeSet;
    use crate::wire::params::Params;

    const URI: &str = "https://app.example/cb";
    const KEY: JwkThumbprint = JwkThumbprint::from_bytes([7; 32]);
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";

    /// A code and the request that presents it.
    struct Scene {
        config: Config,
        client: Client,
        authorization: Authorization,
        code: &'static [u8],
        redirect_uri: Option<&'static str>,
        verifier: Option<&'static str>,
        key: Option<JwkThumbprint>,
        seconds: u32,
    }

    /// A code that is bound to a challenge, and a request without a fault.
    fn faultless() -> Scene {
        let mut client = client("own");
        client.form.redirect_uris = vec![RegisteredRedirectUri::parse(URI, &RedirectUriPolicy::default()).unwrap()];
        let authorization = Authorization {
            id: AuthorizationId::from_bytes([7; 16]),
            version: 2,
            client: client.id.clone(),
            epoch: 0,
            subject: Some(Subject::new("alice").unwrap()),
            session: Digest::of(b"session"),
            created: at(0),
            ticket: Digest::of(b"handle"),
            stage: Stage::CodeIssued(Digest::of(b"code")),
            since: at(0),
            end: at(600),
            destination: Destination::Browser(redirection(URI)),
            challenge: Some(CodeVerifier::new(VERIFIER).unwrap().challenge()),
            terms: terms_of(&client),
            key: Some(Box::new(KEY)),
            pushed: None,
            answer: None,
        };
        Scene {
            config: Config::platform("https://auth.example"),
            client,
            authorization,
            code: b"code",
            redirect_uri: Some(URI),
            verifier: Some(VERIFIER),
            key: Some(KEY),
            seconds: 599,
        }
    }

    fn outcome(scene: &Scene) -> String {
        let form = Params::of(&[("redirect_uri", scene.redirect_uri), ("code_verifier", scene.verifier)]);
        let request = TokenRequest { key: scene.key.as_ref(), form: &form, ..TokenRequest::of(&scene.client) };
        let digest = Digest::of(scene.code);
        let resources = no_resources();
        let rules = Rules { config: &scene.config, resources: &resources };
        let judged = judge(&scene.authorization, &digest, &request, &rules, at(scene.seconds));
        judged.map_or_else(|reason| format!("{reason:?}"), |_| "granted".to_owned())
    }

    type Fault = (&'static str, fn(&mut Scene));

    /// In the order of RFC 6749 section 4.1.3 and RFC 7636 section 4.6.
    const FAULTS: [Fault; 9] = [
        ("UnknownCode", |scene| scene.code = b"another"),
        ("CodeOfAnotherClient", |scene| scene.client.id = crate::base::id::ClientId::new("other").unwrap()),
        ("RedirectUriMismatch", |scene| scene.redirect_uri = Some("https://app.example/other")),
        ("WrongVerifier", |scene| scene.verifier = Some("a-verifier-that-meets-no-challenge-of-this-code")),
        ("AnotherDpopKey", |scene| scene.key = Some(JwkThumbprint::from_bytes([8; 32]))),
        ("CodeSpent", |scene| scene.client.epoch = 1),
        ("CodeExpired", |scene| scene.seconds = 600),
        ("CodeSpent", |scene| scene.client.form.redirect_uris = Vec::new()),
        ("CodeSpent", |scene| scene.client.form.scopes = ScopeSet::empty()),
    ];

    #[test]
    fn an_exchange_is_refused_in_the_order_of_the_rfc() {
        assert_eq!(outcome(&faultless()), "granted");
        for (place, (expected, fault)) in FAULTS.iter().enumerate() {
            let mut alone = faultless();
            fault(&mut alone);
            assert_eq!(outcome(&alone), *expected, "{place} alone");
            let mut all = faultless();
            FAULTS[place..].iter().for_each(|(_, fault)| fault(&mut all));
            assert_eq!(outcome(&all), *expected, "{place} with all later ones");
        }
    }

    /// 9449-10-01
    #[test]
    fn a_code_that_is_bound_to_a_key_needs_a_proof_by_it() {
        let mut scene = faultless();
        scene.key = None;
        assert_eq!(outcome(&scene), "MissingDpopProof");
        scene.authorization.key = None;
        assert_eq!(outcome(&scene), "granted");
        scene.key = Some(KEY);
        assert_eq!(outcome(&scene), "granted", "a code without a key takes any proof");
    }

    #[test]
    fn only_an_issued_code_is_exchanged() {
        for stage in [Stage::Held, Stage::Denied] {
            let mut scene = faultless();
            scene.authorization.stage = stage;
            assert_eq!(outcome(&scene), "UnknownCode");
        }
    }

    #[test]
    fn redirect_uri_and_verifier_follow_the_settings() {
        type Change = fn(&mut Scene);
        let bare: Change = |scene| scene.authorization.challenge = None;
        let silent: Change = |scene| scene.verifier = None;
        let strict: Change = |scene| scene.config = Config::strict("https://auth.example");
        let lax: Change = |_| {};
        let without_uri: Change = |scene| scene.redirect_uri = None;
        let unnamed: Change = |scene| {
            let to = Redirection { is_named: false, ..redirection(URI) };
            scene.authorization.destination = Destination::Browser(to);
        };
        let required: Change =
            |scene| scene.config.authorization.exchange_redirect_uri = ExchangeRedirectUri::RequiredWithoutPkce;
        let native: Change = |scene| scene.client.form.application_type = ApplicationType::Native;
        let short: Change = |scene| scene.verifier = Some("too-short");
        let cases: [(&[Change], &str); 13] = [
            (&[short], "MalformedVerifier(a code verifier has 43 to 128 characters)"),
            (&[lax, without_uri], "granted"),
            (&[required, without_uri], "granted"),
            (&[required, without_uri, bare, silent], "RedirectUriMismatch"),
            (&[required, without_uri, bare, silent, unnamed], "granted"),
            (&[bare, silent], "granted"),
            (&[bare], "UnexpectedVerifier"),
            (&[silent], "MissingVerifier"),
            (&[strict], "granted"),
            (&[strict, bare, silent], "MissingVerifier"),
            (&[strict, bare], "MissingVerifier"),
            (&[native, bare, silent], "MissingVerifier"),
            (&[native], "granted"),
        ];
        for (number, (changes, expected)) in cases.into_iter().enumerate() {
            let mut scene = faultless();
            changes.iter().for_each(|change| change(&mut scene));
            assert_eq!(outcome(&scene), expected, "{number}");
        }
    }

    #[test]
    fn a_reduced_client_gets_what_is_left() {
        let mut scene = faultless();
        scene.client.form.scopes = scopes("repo-issue:r account-profile:r");
        let form = Params::of(&[("code_verifier", scene.verifier)]);
        let request = TokenRequest { key: Some(&KEY), form: &form, ..TokenRequest::of(&scene.client) };
        let rules = Rules { config: &scene.config, resources: &no_resources() };
        let exchanged = judge(&scene.authorization, &Digest::of(b"code"), &request, &rules, at(0)).ok().unwrap();
        assert_eq!(exchanged.granted.scopes, scopes("repo-issue:r"));
    }
}
