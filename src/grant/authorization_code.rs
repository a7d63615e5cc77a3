//! Exchanges a code for the first pair of tokens [RFC 6749 section 4.1.3].
//!
//! The claim is one insert: the grant under the authorization's id. If a grant with that id exists, the code was
//! used before. The authorization itself never changes.

use std::sync::Arc;
use std::time::Duration;

use crate::claim::{ATTEMPTS, After, Claim, Contended, Effect, Seen, claim, draw_version};
use crate::clock::Timestamp;
use crate::config::{Config, ExchangeRedirectUri};
use crate::context::Context;
use crate::error::Reason;
use crate::grant::issue::{self, Issued, NewPair, Place};
use crate::grant::jwt::{self, Signed};
use crate::grant::live_grants;
use crate::grant::request::TokenRequest;
use crate::grant::revocation;
use crate::hooks::Event;
use crate::jose::JwkThumbprint;
use crate::model::client::Granted;
use crate::model::id::{AuthorizationId, GrantId};
use crate::model::protected_resource::{Audience, ResourceTable};
use crate::model::{Authorization, Grant, Pairs, RevocationReason, Stage};
use crate::scope::ScopeSet;
use crate::secret::Digest;
use crate::secret::derive::PairSecrets;
use crate::secret::opaque::Presented;
use crate::secret::pkce::CodeVerifier;
use crate::secret::refresh::{Family, FamilyId, TagKey};
use crate::store::StoreError;

/// Issues the first pair for a code, once. A second exchange of a valid code revokes the grant.
pub(crate) async fn exchange(context: &Context, request: &TokenRequest<'_>) -> Result<Issued, Reason> {
    let now = context.now();
    let code = request.code.ok_or(Reason::MissingParameter("code"))?;
    let presented = Presented::parse(&context.prefixes.code, code).ok_or(Reason::UnknownCode)?;
    let id = AuthorizationId::from_bytes(presented.id);
    let authorization = context.stores.codes.find(&id).await?.ok_or(Reason::UnknownCode)?;
    let rules = Rules { config: &context.config, resources: &context.resources };
    let exchanged = match judge(&authorization, &presented.digest, request, &rules, now) {
        Ok(exchanged) => exchanged,
        Err(reason @ (Reason::CodeNotYetValid | Reason::CodeExpired)) => {
            return Err(out_of_time(context, request, &authorization, reason).await?);
        }
        Err(reason) => {
            if matches!(reason, Reason::AnotherDpopKey) {
                let (grant, subject) = (id.into(), authorization.subject());
                context.raise(&Event::AnotherDpopKey { grant, client: &authorization.client, subject });
            }
            return Err(reason);
        }
    };
    context.check_subject(authorization.subject(), request.client).await?;

    let (grant, issued) = first_pair(context, request, &authorization, exchanged, now);
    let mut inserting =
        Inserting { context, request, grant, issued, code_end: authorization.end, has_read: false, found: None };
    match claim(context, &mut inserting, Some(ATTEMPTS)).await {
        Ok(()) => {}
        Err(Reason::CodeReplayed) => return Err(inserting.replayed().await?),
        Err(Reason::CodeExpired) => {
            return Err(out_of_time(context, request, &authorization, Reason::CodeExpired).await?);
        }
        Err(reason) => return Err(reason),
    }
    let (client, subject) = (&request.client.id, authorization.subject());
    context.raise(&Event::Exchanged { grant: id.into(), client, subject });
    live_grants::keep_within_bound(context, &inserting.grant).await;
    Ok(inserting.issued)
}

/// The settings that an exchange is judged by.
struct Rules<'a> {
    config: &'a Config,
    resources: &'a ResourceTable,
}

/// The result of an exchange: the grant, and what its first access token is for.
struct Exchanged {
    granted: Granted,
    scopes: ScopeSet,
    /// Unset if the token is for all of the grant.
    audience: Audience,
    lifetime: Duration,
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
    match &authorization.stage {
        Stage::CodeIssued(digest) if digest == code => {}
        Stage::CodeIssued(_) | Stage::Held | Stage::Denied => return Err(Reason::UnknownCode),
    }
    // § 4.1.3: "ensure that the authorization code was issued to the authenticated confidential client, or if the
    // client is public, ensure that the code was issued to "client_id" in the request"
    if authorization.client != request.client.id {
        return Err(Reason::CodeOfAnotherClient);
    }
    judge_redirect_uri(authorization, request.redirect_uri, config)?;
    // PKCE may have become mandatory for the client since. A code without it is then refused.
    if config.needs_pkce(request.client) && authorization.challenge.is_none() {
        return Err(Reason::MissingVerifier);
    }
    judge_verifier(authorization, request.code_verifier)?;
    judge_key(authorization, request.key)?;
    // All grants of the client were revoked since.
    if request.client.has_revoked(authorization.epoch)? {
        return Err(Reason::CodeSpent);
    }
    if !authorization.since.has_come(now) {
        return Err(Reason::CodeNotYetValid);
    }
    if now >= authorization.end {
        return Err(Reason::CodeExpired);
    }
    // The client may have been reduced since the user consented, even to nothing.
    let client = request.client;
    if !config.accepts_redirect_uri(client, authorization.redirect_uri.as_str().as_bytes()) {
        return Err(Reason::CodeSpent);
    }
    let granted = client.still_granted(&authorization.scopes, &authorization.resources).ok_or(Reason::CodeSpent)?;
    // RFC 8707 section 2.2: the first access token may be for less than the grant.
    let target = rules.resources.granted(&authorization.audience, client, request.resources)?;
    let scopes = target.served_of(granted.scopes.clone());
    if scopes.is_empty() {
        return Err(target.nothing_left().into());
    }
    let audience = target.reduced_from(&authorization.audience);
    let lifetime = issue::lifetime_for(config, &target, config.tokens.access_lifetime);
    Ok(Exchanged { granted, scopes, audience, lifetime })
}

/// § 4.1.3: "ensure that the "redirect_uri" parameter is present if the "redirect_uri" parameter was included in
/// the initial authorization request […] and if included ensure that their values are identical"
fn judge_redirect_uri(authorization: &Authorization, sent: Option<&[u8]>, config: &Config) -> Result<(), Reason> {
    match sent {
        Some(sent) if sent == authorization.redirect_uri.as_str().as_bytes() => Ok(()),
        Some(_) => Err(Reason::RedirectUriMismatch),
        None => {
            let required = config.authorization.exchange_redirect_uri == ExchangeRedirectUri::RequiredWithoutPkce
                && authorization.redirect_uri_named
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
        Some(grant) if grant.revoked.is_none() => replayed(context, request, &grant).await,
        Some(_) | None => Ok(reason),
    }
}

/// § 4.1.2: "If an authorization code is used more than once, the authorization server MUST deny the request and
/// SHOULD revoke (when possible) all tokens previously issued based on that authorization code."
async fn replayed(context: &Context, request: &TokenRequest<'_>, grant: &Grant) -> Result<Reason, Reason> {
    if grant.revoked.is_some() {
        return Ok(Reason::CodeSpent);
    }
    request.record_uses(context).await?;
    let outcome = revocation::revoke(context, grant.id, RevocationReason::CodeReplayed).await?;
    if outcome != revocation::Outcome::Revoked {
        return Ok(Reason::CodeSpent);
    }
    context.raise(&Event::CodeReplayed { grant: grant.id, client: &grant.client, subject: grant.subject() });
    Ok(Reason::CodeReplayed)
}

fn first_pair(
    context: &Context,
    request: &TokenRequest<'_>,
    authorization: &Authorization,
    exchanged: Exchanged,
    now: Timestamp,
) -> (Arc<Grant>, Issued) {
    let client = request.client;
    let Exchanged { granted, scopes, audience, lifetime } = exchanged;
    let id = GrantId::from(authorization.id);
    let entropy = &*context.entropy;
    let (family_id, tag_key) = (FamilyId::draw(entropy), TagKey::draw(entropy));
    let place = Place {
        grant: id,
        client,
        family_id: &family_id,
        tag_key: &tag_key,
        number: 1,
        now,
        lifetime,
        created: now,
        granted: &granted.scopes,
        scopes,
        audience,
        key: request.key,
    };
    let NewPair { record, issued } = issue::pair(&context.config, PairSecrets::draw(entropy), place);
    let grant = Arc::new(Grant {
        scopes: granted.scopes,
        resources: granted.resources,
        audience: authorization.audience.clone(),
        family: Family { id: family_id.digest(), tag_key },
        pairs_made: 1,
        bound_from: issue::bound_from(None, request.key, 1),
        pairs: Pairs::one(record),
        ..Grant::in_place_of(authorization, draw_version(entropy), now)
    });
    (grant, issued)
}

/// One insert, without a read before it unless a resource has JWTs. If the row exists, it shows who won: it has the digest of
/// the winner's access token.
struct Inserting<'a> {
    context: &'a Context,
    request: &'a TokenRequest<'a>,
    grant: Arc<Grant>,
    issued: Issued,
    code_end: Timestamp,
    has_read: bool,
    found: Option<Arc<Grant>>,
}

impl Inserting<'_> {
    /// The insert begins only before the code's end, even if a hook or a signer took long. The record that has its place may
    /// be removed two hours after that end.
    fn check_end(&self) -> Result<(), Reason> {
        if self.context.now() < self.code_end { Ok(()) } else { Err(Reason::CodeExpired) }
    }

    async fn replayed(&self) -> Result<Reason, Reason> {
        match &self.found {
            Some(grant) => replayed(self.context, self.request, grant).await,
            None => Ok(Reason::CodeSpent),
        }
    }
}

impl Claim for Inserting<'_> {
    type Row = Grant;
    type Won = ();
    type Error = Reason;

    /// Where a token may be signed, the record is read first: a replayed code is refused without a signature.
    async fn read(&mut self) -> Result<Seen<Grant>, Reason> {
        let is_first = !std::mem::replace(&mut self.has_read, true);
        if is_first {
            self.check_end()?;
        }
        if is_first && !self.context.config.issues_jwts() {
            return Ok(Seen::Unread);
        }
        self.found = self.context.stores.tokens.find(&self.grant.id).await?;
        Ok(match &self.found {
            Some(found) => Seen::Found(found.clone()),
            None if is_first => Seen::Unread,
            None => Seen::Missing,
        })
    }

    fn judge(&mut self, seen: &Seen<Grant>) -> Result<Effect<Grant, ()>, Reason> {
        match seen {
            Seen::Unread => Ok(Effect::Insert(self.grant.clone(), ())),
            Seen::Found(_) => Err(Reason::CodeReplayed),
            // The record that had the place was removed since.
            Seen::Missing => Err(StoreError::transient(Contended).into()),
        }
    }

    async fn prepare(&mut self, row: &Grant, (): &mut ()) -> Result<bool, Reason> {
        let (context, client) = (self.context, self.request.client);
        let has_signed = jwt::sign(context, row, client, &mut self.issued, &mut Signed::at_most(1)).await?;
        if has_signed {
            self.check_end()?;
        }
        self.request.record_uses(context).await?;
        Ok(has_signed)
    }

    fn is_done(&self, found: &Grant, meant: &Grant, _: After) -> bool {
        let own = meant.pairs.newest.as_ref().map(|pair| &pair.access.digest);
        own.is_some_and(|own| found.pairs.with_access(own).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::fixtures::{at, client, no_resources, scopes};
    use crate::model::client::{ApplicationType, Client};
    use crate::model::redirect_uri::{RedirectUri, RedirectUriPolicy, RegisteredRedirectUri};
    use crate::model::subject::Subject;

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
            redirect_uri: RedirectUri::read(URI).unwrap(),
            redirect_uri_named: true,
            challenge: Some(CodeVerifier::new(VERIFIER).unwrap().challenge()),
            state: None,
            scopes: client.form.scopes.clone(),
            resources: client.form.resource_scope.clone(),
            audience: Audience::UNSET,
            key: Some(Box::new(KEY)),
            pushed: None,
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
        let request = TokenRequest {
            key: scene.key.as_ref(),
            redirect_uri: scene.redirect_uri.map(str::as_bytes),
            code_verifier: scene.verifier.map(str::as_bytes),
            ..TokenRequest::of(&scene.client)
        };
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
        ("CodeOfAnotherClient", |scene| scene.client.id = crate::model::id::ClientId::new("other").unwrap()),
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
        let unnamed: Change = |scene| scene.authorization.redirect_uri_named = false;
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
        let code_verifier = scene.verifier.map(str::as_bytes);
        let request = TokenRequest { key: Some(&KEY), code_verifier, ..TokenRequest::of(&scene.client) };
        let rules = Rules { config: &scene.config, resources: &no_resources() };
        let exchanged = judge(&scene.authorization, &Digest::of(b"code"), &request, &rules, at(0)).ok().unwrap();
        assert_eq!(exchanged.granted.scopes, scopes("repo-issue:r"));
    }
}
