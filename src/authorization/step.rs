//! What a request needs next: the choice of an account, the sign-in, the consent page, or nothing.
//!
//! A consent is remembered in the grant that it led to, and ends with it. A grant for which the page was skipped has
//! the consent of the earlier page, if that one counted, so a chain of them ends 180 days after the last page.
//!
//! A hostile page can send a browser here again and again. So the client may have only as many codes of a user as it
//! may have consent requests, and no decision is made where its grant would end another one. The headers
//! `Sec-Fetch-Mode` and `Sec-Fetch-Dest` say whether the user navigates; only old browsers send neither. While OpenID
//! Connect is off, `prompt` is read for this alone: any value but `none` shows the page.
//!
//! The platform profile asks each time. It compares redirect URIs by domain, so a page elsewhere on the host of a
//! client could otherwise get codes without a click.

use std::sync::Arc;
use std::time::Duration;

use crate::authorization::consent_requests::Room;
use crate::authorization::decide::take_decision;
use crate::authorization::decision::{Basis, Consent, Decision, Submitted};
use crate::authorization::hold::{admit, store_request};
use crate::authorization::identity_request::IdentityRequest;
use crate::authorization::judge::Asked;
use crate::authorization::pending::{Answer, AuthorizationError, PendingAuthorization};
use crate::authorization::signed_in::DecidingUser;
use crate::authorization::{consent_requests, decide, pushed_request};
use crate::base::clock::Timestamp;
use crate::base::id::GrantId;
use crate::context::Context;
use crate::error::Reason;
use crate::grant::{live_grants, revocation};
use crate::model::Grant;
use crate::model::client::{AskConsent, CONSENT_TERMS_BYTES, Client};
use crate::model::terms::RememberedConsent;
use crate::store::StoreError;
use crate::wire::Response;

/// How long after the last page a consent may stand in for a later one.
const LONGEST: Duration = Duration::from_secs(180 * 86_400);

/// What a request needs next.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must handle all")]
pub enum NextStep {
    /// The user must choose an account. A service without a page for that calls
    /// [`without_account_selection`](PendingAuthorization::without_account_selection) before.
    SelectAccount,
    /// The user must sign in, even if one is signed in.
    SignIn,
    /// The consent page must be shown: see [`hold`](crate::AuthorizationServer::hold).
    Ask,
    /// Nothing: this is the response.
    Respond(Response),
}

impl NextStep {
    /// Returns the response, if no page is needed.
    #[must_use]
    pub fn response(self) -> Option<Response> {
        match self {
            Self::Respond(response) => Some(response),
            Self::SelectAccount | Self::SignIn | Self::Ask => None,
        }
    }
}

/// What is known about a request that was checked.
struct Known<'a> {
    user: Option<DecidingUser<'a>>,
    identity: Option<&'a IdentityRequest>,
    needs_page: bool,
    is_navigation: bool,
    /// Whether a code for the client reaches nobody else.
    is_assured: bool,
    ask_consent: AskConsent,
    /// Whether the user may get one more code and grant of the client before another one gives way.
    has_room: bool,
    /// The newest consent that covers the request.
    remembered: Option<Remembered>,
    now: Timestamp,
}

/// A consent, and the grant that was given with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Remembered {
    consent: RememberedConsent,
    grant: GrantId,
}

/// What the request needs next.
#[derive(Debug, PartialEq, Eq)]
enum Next<'a> {
    SelectAccount,
    SignIn,
    Page,
    Code(DecidingUser<'a>, Because),
}

/// Why no page is needed.
#[derive(Debug, PartialEq, Eq)]
enum Because {
    /// The users of this client are never asked.
    NeverAsked,
    /// An earlier consent covers the request.
    Consented(Remembered),
}

/// Judges in the order in which a user would see the pages.
///
/// # Errors
///
/// Which page is missing, if the request permits none; [`Reason::SignInTimeUnknown`].
fn next<'a>(known: &Known<'a>) -> Result<Next<'a>, Reason> {
    let is_silent = known.identity.is_some_and(IdentityRequest::is_silent);
    let page = |next, missing| if is_silent { Err(missing) } else { Ok(next) };
    if known.identity.is_some_and(IdentityRequest::selects_account) {
        return Ok(Next::SelectAccount);
    }
    let user = match known.user {
        Some(user) if IdentityRequest::is_met_by(known.identity, user, known.now)? => user,
        Some(_) | None => return page(Next::SignIn, Reason::LoginRequired),
    };
    if is_silent && user.has_several_accounts {
        return Err(Reason::AccountSelectionRequired);
    }
    if is_silent && !(known.is_assured && known.is_navigation) {
        return Err(Reason::InteractionRequired);
    }
    match spared(known) {
        Some(because) => Ok(Next::Code(user, because)),
        None => page(Next::Page, Reason::ConsentRequired),
    }
}

/// Returns why the consent page may be spared, if it may.
///
/// > The authorization server SHOULD NOT process authorization requests automatically without user consent or
/// > interaction, except when the identity of the client can be assured.
///
/// [RFC 8252 section 8.6]
fn spared(known: &Known<'_>) -> Option<Because> {
    if known.needs_page || !known.has_room {
        return None;
    }
    match (known.ask_consent, known.remembered) {
        (AskConsent::Never, _) => Some(Because::NeverAsked),
        (AskConsent::Once, Some(earlier)) if is_fresh(&earlier.consent, known.now) => Some(Because::Consented(earlier)),
        (AskConsent::Once | AskConsent::Always, _) => None,
    }
}

fn is_fresh(consent: &RememberedConsent, now: Timestamp) -> bool {
    consent.asked.has_come(now) && now < consent.asked.plus(LONGEST)
}

/// Says what a request needs next. A pushed request that the same browser sends again after a code without a page gets
/// the same code for a minute, or until it is exchanged.
pub(crate) async fn step(
    context: &Arc<Context>,
    pending: &PendingAuthorization,
    user: Option<DecidingUser<'_>>,
    session: &[u8],
) -> Result<NextStep, AuthorizationError> {
    let (Some(asking), Some(pushed)) = (user, &pending.pushed) else {
        return step_once(context, pending, user, session).await;
    };
    let used_by = match pushed.used_by {
        Some(used_by) => used_by,
        None => match step_once(context, pending, user, session).await {
            // The browser may have sent the same request twice, and this one was later.
            Err(error) if matches!(error.reason(), Reason::AlreadyDecided) => {
                match pushed_request::used_by(context, &pushed.from).await {
                    Ok(Some(used_by)) => used_by,
                    Ok(None) | Err(_) => return Err(error),
                }
            }
            next => return next,
        },
    };
    let everything = Decision::Approve(Consent::to_everything());
    let submitted = without_page(&pushed.request_uri, session, &everything, asking);
    let asked = Asked { user: asking, session };
    response(pending, decide::repeat_without_page(context, &pending.client.id, used_by, asked, &submitted).await)
}

/// The decision without a page. Its code derives from `secret`: the `request_uri` of a pushed request, with which the
/// same browser gets it again.
const fn without_page<'a>(
    secret: &'a str,
    session: &'a [u8],
    everything: &'a Decision,
    user: DecidingUser<'a>,
) -> Submitted<'a> {
    Submitted { ticket: secret, session, decision: everything, data: user.data, basis: Basis::NoPage }
}

/// Returns the response alone. The page before a redirect is for unreviewed clients, whose users are always asked.
fn response(
    pending: &PendingAuthorization,
    answer: Result<Answer, AuthorizationError>,
) -> Result<NextStep, AuthorizationError> {
    let answer = answer.map_err(|error| if pending.is_silent() { error.silently() } else { error });
    answer.map(|(response, _)| NextStep::Respond(response))
}

/// The same for a request that came once. If it needs nothing, it is held and approved at once, with every check of
/// both. The client and the lists that the rule needs are read once, for all of this.
async fn step_once(
    context: &Arc<Context>,
    pending: &PendingAuthorization,
    user: Option<DecidingUser<'_>>,
    session: &[u8],
) -> Result<NextStep, AuthorizationError> {
    let refused = |reason| pending.redirect(context, reason);
    let redirect = |error: StoreError| refused(error.into());
    let page = || if pending.is_silent() { Err(refused(Reason::ConsentRequired)) } else { Ok(NextStep::Ask) };
    let (known, found) = match read(context, pending, user).await {
        Ok(read) => read,
        // The page does not depend on it.
        Err(error) if error.unreadable_key().is_some() => (without_reads(context, pending, user), None),
        Err(error) => return Err(redirect(error)),
    };
    let (user, because) = match next(&known).map_err(refused)? {
        Next::SelectAccount => return Ok(NextStep::SelectAccount),
        Next::SignIn => return Ok(NextStep::SignIn),
        Next::Page => return Ok(NextStep::Ask),
        Next::Code(user, because) => (user, because),
    };
    let Some(Found { client, room }) = found else { return page() };
    let asked = Asked { user, session };
    admit(context, pending, asked).await?;
    let remembered = match &because {
        Because::NeverAsked => None,
        Because::Consented(earlier) => Some(earlier.consent),
    };
    let held = store_request(context, pending, asked, Some(client), room, remembered).await?;
    if let Because::Consented(earlier) = because {
        // Either the grant was revoked before this read, or a revocation lists requests after this one was stored.
        if !live_grants::is_still_live(context, &earlier.grant, &held.client).await.map_err(redirect)? {
            revocation::end_held(context, held.record).await.map_err(redirect)?;
            return page();
        }
    }
    let everything = Decision::Approve(Consent::to_everything());
    let secret = match &pending.pushed {
        Some(pushed) => &*pushed.request_uri,
        None => held.ticket.expose(),
    };
    let submitted = without_page(secret, session, &everything, user);
    response(pending, take_decision(context, &held.record, &held.client, &submitted).await)
}

/// What the request itself and the user say.
fn without_reads<'a>(
    context: &Context,
    pending: &'a PendingAuthorization,
    user: Option<DecidingUser<'a>>,
) -> Known<'a> {
    Known {
        user,
        identity: pending.identity.as_deref(),
        needs_page: pending.needs_page,
        is_navigation: pending.is_navigation,
        is_assured: pending.client.check_identity().is_ok(),
        ask_consent: AskConsent::Always,
        has_room: false,
        remembered: None,
        now: context.now(),
    }
}

/// What was read for the rule, and serves to hold the request as well.
struct Found {
    client: Arc<Client>,
    room: Room,
}

/// Reads what the rule needs. The client of the request may come from a cache, which must not hide a withdrawn
/// privilege.
async fn read<'a>(
    context: &Context,
    pending: &'a PendingAuthorization,
    user: Option<DecidingUser<'a>>,
) -> Result<(Known<'a>, Option<Found>), StoreError> {
    let mut known = without_reads(context, pending, user);
    let Some(user) = user.filter(|_| !known.needs_page) else { return Ok((known, None)) };
    let Some(client) = context.current_client(&pending.client.id).await? else { return Ok((known, None)) };
    known.ask_consent = context.config.ask_consent(&client);
    if known.ask_consent == AskConsent::Always {
        return Ok((known, None));
    }
    let grants = live_grants::to_client(context, user.subject, &client).await?;
    let found = consent_requests::find_room_without_page(context, user.subject, &client.id).await?;
    let Some((room, codes)) = found else { return Ok((known, None)) };
    known.has_room = grants.len().saturating_add(codes) < context.config.limits.grants;
    let Some(redirection) = pending.destination.browser() else { return Ok((known, None)) };
    let terms = client.consent_terms(&redirection.redirect_uri);
    let covering = grants.iter().filter_map(|grant| consent_of(grant, pending, terms));
    known.remembered = covering.max_by_key(|earlier| earlier.consent.asked);
    Ok((known, Some(Found { client, room })))
}

/// Returns the consent that a grant was given with, if it covers the request.
fn consent_of(grant: &Grant, pending: &PendingAuthorization, terms: [u8; CONSENT_TERMS_BYTES]) -> Option<Remembered> {
    let covers = grant.terms.covers(&pending.terms);
    let consent = *grant.terms.remembered().filter(|consent| covers && consent.terms == terms)?;
    Some(Remembered { consent, grant: grant.id })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Subject;

    /// SIGNIN-03
    #[test]
    fn the_first_page_that_is_missing_is_the_error_of_a_silent_request() {
        use crate::authorization::identity_request::Prompt;
        let alice = Subject::new("alice").unwrap();
        let (user, now) = (DecidingUser::from(&alice), Timestamp::from_seconds(1000));
        let sign_in = crate::model::sign_in::SignIn::at(Timestamp::from_seconds(990));
        let (timed, several) = (Some(&sign_in), true);
        let good = DecidingUser { sign_in: timed, ..user };
        let old = || IdentityRequest { max_age: Some(Duration::from_secs(10)), ..IdentityRequest::default() };
        let young = || IdentityRequest { max_age: Some(Duration::from_secs(11)), ..IdentityRequest::default() };
        type Row<'a> = (Option<DecidingUser<'a>>, IdentityRequest, bool, bool, AskConsent, &'a str, &'a str);
        let rows: [Row<'_>; 10] = [
            (None, young(), true, true, AskConsent::Never, "SignIn", "LoginRequired"),
            (Some(user), young(), true, true, AskConsent::Never, "SignInTimeUnknown", "SignInTimeUnknown"),
            (Some(user), IdentityRequest::default(), true, true, AskConsent::Never, "Code", "Code"),
            (Some(good), old(), false, false, AskConsent::Never, "SignIn", "LoginRequired"),
            (Some(good), young(), true, true, AskConsent::Never, "Code", "Code"),
            (
                Some(DecidingUser { has_several_accounts: several, ..good }),
                young(),
                false,
                true,
                AskConsent::Never,
                "Code",
                "AccountSelectionRequired",
            ),
            (Some(good), young(), false, true, AskConsent::Never, "Code", "InteractionRequired"),
            (Some(good), young(), true, false, AskConsent::Never, "Code", "InteractionRequired"),
            (Some(good), young(), true, true, AskConsent::Always, "Page", "ConsentRequired"),
            (Some(good), young(), true, true, AskConsent::Once, "Page", "ConsentRequired"),
        ];
        for (number, (user, identity, is_assured, is_navigation, ask_consent, shown, silent)) in
            rows.into_iter().enumerate()
        {
            for (prompt, expected) in [(Prompt::default(), shown), (Prompt::None, silent)] {
                let identity = IdentityRequest { prompt, ..identity.clone() };
                let (identity, needs_page, has_room, remembered) = (Some(&identity), false, true, None);
                let known = Known {
                    user,
                    identity,
                    needs_page,
                    is_navigation,
                    is_assured,
                    ask_consent,
                    has_room,
                    remembered,
                    now,
                };
                let found = next(&known).map_or_else(|reason| format!("{reason:?}"), |next| format!("{next:?}"));
                assert!(found.starts_with(expected), "{number}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn a_user_is_asked_unless_everything_speaks_against_it() {
        const DAY: u32 = 86_400;
        let alice = Subject::new("alice").unwrap();
        let asked = |day: u32| {
            let asked = Timestamp::from_seconds(day * DAY);
            Remembered { consent: RememberedConsent { asked, terms: [7; 16] }, grant: GrantId::from_bytes([1; 16]) }
        };
        let base = |ask_consent, remembered| Known {
            user: Some((&alice).into()),
            identity: None,
            needs_page: false,
            is_navigation: true,
            is_assured: true,
            ask_consent,
            has_room: true,
            remembered,
            now: Timestamp::from_seconds(1000 * DAY),
        };
        let skipped = || Next::Code((&alice).into(), Because::NeverAsked);
        let remembered = |day| Next::Code((&alice).into(), Because::Consented(asked(day)));
        for (ask_consent, consent, expected) in [
            (AskConsent::Always, None, Next::Page),
            (AskConsent::Always, Some(asked(1000)), Next::Page),
            (AskConsent::Never, None, skipped()),
            (AskConsent::Never, Some(asked(1)), skipped()),
            (AskConsent::Once, None, Next::Page),
            (AskConsent::Once, Some(asked(1000)), remembered(1000)),
            (AskConsent::Once, Some(asked(821)), remembered(821)),
            (AskConsent::Once, Some(asked(820)), Next::Page),
            (AskConsent::Once, Some(asked(1001)), Next::Page),
        ] {
            assert_eq!(next(&base(ask_consent, consent)).unwrap(), expected, "{ask_consent:?} {consent:?}");
            for (needs_page, has_room) in [(true, true), (false, false), (true, false)] {
                let known = Known { needs_page, has_room, ..base(ask_consent, consent) };
                assert_eq!(next(&known).unwrap(), Next::Page, "{ask_consent:?} {consent:?}");
                assert_eq!(next(&Known { user: None, ..known }).unwrap(), Next::SignIn, "{ask_consent:?} {consent:?}");
            }
            assert_eq!(next(&Known { user: None, ..base(ask_consent, consent) }).unwrap(), Next::SignIn);
        }
    }
}
