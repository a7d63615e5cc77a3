//! Classifies a refresh token by its grant's record.

use std::time::Duration;

use crate::base::clock::Timestamp;
use crate::model::{Grant, Placed};
use crate::secret::refresh::PresentedRefresh;

/// The state of a refresh token of a live grant.
#[derive(Debug)]
pub(crate) enum TokenState<'a> {
    /// Family id or tag is wrong: the grant did not make it.
    Unknown,
    /// Current, or in its grace.
    Usable(Placed<'a>),
    /// Current, or in its grace, but issued in the future: the clock of its server is or was ahead.
    NotYetValid { issued: Timestamp },
    /// Past its expiry.
    Expired,
    /// Superseded, and past its grace.
    Superseded,
    /// Its number is above the grant's count.
    AboveCount,
    /// Its number is that of another token in the record.
    Forked,
}

/// Returns the state of a token, regardless of the client that presents it.
pub(crate) fn state_of<'g>(grant: &'g Grant, presented: &PresentedRefresh, now: Timestamp) -> TokenState<'g> {
    let placed = grant.pairs.with_refresh(&presented.digest);
    // The digest covers the family id too, so only the tag is left to compare.
    let is_own =
        if placed.is_some() { presented.has_tag(&grant.family.tag_key) } else { presented.is_of(&grant.family) };
    if !is_own {
        return TokenState::Unknown;
    }
    if let Some(placed) = placed
        && placed.pair().refresh_is_live(now)
    {
        let issued = placed.pair().access.issued;
        return if issued.has_come(now) { TokenState::Usable(placed) } else { TokenState::NotYetValid { issued } };
    }
    if now >= presented.position.end {
        return TokenState::Expired;
    }
    superseded(grant, placed, presented)
}

/// Returns the state of a token that its client revokes. One that expired less than `leeway` ago counts as if it had
/// not: the clock of this server may be ahead, and the other servers still accept the token.
pub(crate) fn state_to_revoke<'g>(
    grant: &'g Grant,
    presented: &PresentedRefresh,
    now: Timestamp,
    leeway: Duration,
) -> TokenState<'g> {
    let state = state_of(grant, presented, now);
    let is_within_leeway = matches!(state, TokenState::Expired) && now < presented.position.end.plus(leeway);
    if !is_within_leeway {
        return state;
    }
    match grant.pairs.with_refresh(&presented.digest) {
        Some(newest @ Placed::Newest(_)) => TokenState::Usable(newest),
        placed => superseded(grant, placed, presented),
    }
}

/// Returns the state of a genuine token that has not expired, and is neither current nor in its grace.
fn superseded<'g>(grant: &'g Grant, placed: Option<Placed<'g>>, presented: &PresentedRefresh) -> TokenState<'g> {
    if placed.is_some() {
        return TokenState::Superseded;
    }
    // The newest pair has the number `pairs_made`; older ones count down from it.
    match grant.pairs_made.checked_sub(presented.position.number) {
        None => TokenState::AboveCount,
        Some(place) if grant.pairs.iter().count() > usize::try_from(place).unwrap_or(usize::MAX) => TokenState::Forked,
        Some(_) => TokenState::Superseded,
    }
}

/// Returns whether the presented refresh token itself was bound to a key. The record shows this for every number.
pub(crate) fn was_bound(grant: &Grant, presented: &PresentedRefresh) -> bool {
    grant.bound_from.is_some_and(|first| first.get() <= presented.position.number)
}
