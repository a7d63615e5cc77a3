//! The protected resources of a server, prepared for requests.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::base::id::ClientId;
use crate::model::client::Client;
use crate::model::protected_resource::{
    Audience, Identifier, NO_AUDIENCE, OFFLINE_ACCESS, ProtectedResource, WELL_KNOWN, answer, document, origin_of,
    spellings, split_sent,
};
use crate::scope::{ScopeCatalog, ScopeSet};
use crate::wire::message::ResourceMetadata;
use crate::wire::params::Params;
use crate::wire::{Request, Response};

/// The maximum number of distinct values of `resource` in one request.
const MAX_RESOURCES: usize = 8;

/// The protected resources of a server. If there are none, the `resource` of requests is ignored.
#[derive(Debug)]
pub(crate) struct ResourceTable {
    entries: Box<[Entry]>,
    /// The index of the resource that is used if a request names none.
    default: Option<usize>,
    is_required: bool,
    catalog: ScopeCatalog,
}

/// One protected resource.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) settings: Arc<ProtectedResource>,
    identifier: Identifier,
    /// The scopes that it serves; all if unset.
    pub(crate) serves: Option<ScopeSet>,
    /// The scopes that a token for it may have: those of OpenID Connect too. All if unset.
    grants: Option<ScopeSet>,
    /// The basic scopes, in their wire form.
    pub(crate) basic: String,
    pub(crate) metadata_url: String,
    document: Box<[u8]>,
    /// The audience of tokens for only this resource; they all share it.
    alone: Audience,
}

/// Why the `resource` of a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// A value is not a configured resource, not available to the client, or not part of the grant; or there are too
    /// many values.
    Unknown,
    /// No resource is named, and there is no default.
    Missing,
    /// The server no longer has any of the grant's resources.
    Gone,
    /// A token is requested for several resources, and at least one has JWT access tokens.
    SeveralOfJwts,
}

/// The values of `resource` in a request. They are read only if resources are configured.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a>(Option<&'a Params<'a>>);

impl<'a> Named<'a> {
    /// A request that names no resource.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) const fn of(params: &'a Params<'a>) -> Self {
        Self(Some(params))
    }

    /// An empty value counts as not sent.
    fn values(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.into_iter().flat_map(Params::resources).filter(|value| !value.is_empty())
    }
}

/// The target of a request. The resources are in a box: most servers have none, and each request would still reserve
/// space for them.
#[derive(Clone, Debug)]
pub(crate) struct Target<'t>(Option<Box<Resources<'t>>>);

/// The resources that a request is for.
#[derive(Clone, Debug)]
struct Resources<'t> {
    audience: Audience,
    entries: Vec<&'t Entry>,
    /// The scopes that they serve; all if unset.
    serves: Option<ScopeSet>,
    /// Whether the request named them.
    is_named: bool,
}

impl<'t> Target<'t> {
    /// The target if no protected resources are configured.
    const ALL: Self = Self(None);

    /// Returns the resources; none if none are configured.
    pub(crate) fn entries(&self) -> &[&'t Entry] {
        self.0.as_ref().map_or(&[], |own| &own.entries)
    }

    pub(crate) fn audience(&self) -> &Audience {
        self.0.as_ref().map_or(&NO_AUDIENCE, |own| &own.audience)
    }

    /// Returns the audience that the token records: unset if the token is for all of the grant.
    #[inline]
    pub(crate) fn reduced_from(&self, granted: &Audience) -> Audience {
        match &self.0 {
            Some(own) if own.audience != *granted => own.audience.clone(),
            Some(_) | None => Audience::UNSET,
        }
    }

    /// Returns why a request is refused if its resources serve no scope of the grant.
    pub(crate) fn nothing_left(&self) -> TargetError {
        if self.0.as_ref().is_some_and(|own| own.is_named) { TargetError::Unknown } else { TargetError::Gone }
    }

    /// Returns those of these scopes that the resources serve.
    #[inline]
    pub(crate) fn served_of(&self, scopes: ScopeSet) -> ScopeSet {
        match self.serves_alone() {
            None => scopes,
            Some(serves) => scopes.intersection(serves),
        }
    }

    /// Returns whether it is one resource, whose access tokens are JWTs.
    pub(crate) fn is_one_with_jwts(&self) -> bool {
        matches!(self.entries(), [entry] if entry.settings.has_jwts())
    }

    /// Returns whether it is several resources, and at least one has JWT access tokens. A JWT is for one resource [RFC
    /// 9068 section 3].
    pub(crate) fn is_several_with_jwts(&self) -> bool {
        self.entries().len() > 1 && self.entries().iter().any(|entry| entry.settings.has_jwts())
    }

    /// Returns whether the resources serve all of these scopes.
    pub(crate) fn serves(&self, scopes: &ScopeSet) -> bool {
        self.serves_alone().is_none_or(|serves| scopes.is_subset_of(serves))
    }

    fn serves_alone(&self) -> Option<&ScopeSet> {
        self.0.as_ref().and_then(|own| own.serves.as_ref())
    }
}

impl ResourceTable {
    /// Creates the table from checked settings; `metadata` returns the metadata of a resource.
    pub(crate) fn new(
        resources: &[ProtectedResource],
        is_required: bool,
        scopes: &ScopeCatalog,
        metadata: impl Fn(&ProtectedResource) -> ResourceMetadata,
    ) -> Self {
        let set = |tokens: &[String]| scopes.select(tokens.iter().map(String::as_str)).unwrap_or_default();
        let identity = scopes.identity();
        let entry = |settings: &ProtectedResource| {
            let serves = match settings.scopes.as_slice() {
                [] if identity.is_empty() => None,
                [] => Some(scopes.of_resources()),
                tokens => Some(set(tokens)),
            };
            Some(Entry {
                identifier: Identifier::parse(&settings.identifier)?,
                grants: serves.as_ref().map(|serves| scopes.union(&[&identity, serves])),
                serves,
                basic: scopes.to_wire(&set(&settings.basic_scopes)).into_owned(),
                metadata_url: settings.metadata_url(),
                document: document(&metadata(settings)),
                alone: Audience::new([settings.identifier.as_str()]),
                settings: Arc::new(settings.clone()),
            })
        };
        let entries: Box<[Entry]> = resources.iter().filter_map(entry).collect();
        let marked = entries.iter().position(|entry| entry.settings.is_default);
        let default = marked.or_else(|| (entries.len() == 1).then_some(0));
        Self { entries, default, is_required, catalog: scopes.clone() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the index of a resource by its configured identifier.
    pub(crate) fn place(&self, identifier: &str) -> Option<usize> {
        self.entries.iter().position(|entry| *entry.settings.identifier == *identifier)
    }

    pub(crate) fn entry(&self, place: usize) -> Option<&Entry> {
        self.entries.get(place)
    }

    pub(crate) fn entry_at(&self, place: Option<usize>) -> Option<&Entry> {
        self.entries.get(place?)
    }

    /// Returns whether the resource at that index serves all of these scopes.
    pub(crate) fn serves(&self, place: usize, scopes: &ScopeSet) -> bool {
        let serves = self.entries.get(place).and_then(|entry| entry.serves.as_ref());
        serves.is_none_or(|serves| scopes.is_subset_of(serves))
    }

    pub(crate) const fn default(&self) -> Option<usize> {
        self.default
    }

    /// Checks the target of an authorization request, or of a token request of a client for itself.
    ///
    /// > If the client omits the resource parameter when requesting authorization, the authorization server MAY process
    /// > the request with no specific resource or by using a predefined default resource value. Alternatively, the
    /// > authorization server MAY require clients to specify the resource(s) they intend to access and MAY fail
    /// > requests that omit the parameter with an invalid_target error.
    ///
    /// [RFC 8707 section 2]
    pub(crate) fn requested(
        &self,
        named: Named<'_>,
        client: &Client,
        registered: &ScopeSet,
    ) -> Result<Target<'_>, TargetError> {
        if self.is_empty() {
            return Ok(Target::ALL);
        }
        let named = self.places(named)?;
        let places = match named.as_slice() {
            [] if self.is_required => return Err(TargetError::Missing),
            [] => vec![self.default_of(client).ok_or(TargetError::Missing)?],
            _ => named,
        };
        let target = self.target(&places);
        let is_open = |entry: &&Entry| {
            let serves = entry.grants.as_ref();
            entry.is_reached_by(client) && serves.is_none_or(|serves| !registered.intersection(serves).is_empty())
        };
        if target.entries().iter().all(is_open) { Ok(target) } else { Err(TargetError::Unknown) }
    }

    /// Returns the index of the resource that is used if the client names none: the default if the client may access
    /// it, otherwise the only one that it may access.
    fn default_of(&self, client: &Client) -> Option<usize> {
        let is_reached = |place: &usize| self.entry(*place).is_some_and(|entry| entry.is_reached_by(client));
        if let Some(default) = self.default.filter(is_reached) {
            return Some(default);
        }
        let mut reached = (0..self.entries.len()).filter(is_reached);
        match (reached.next(), reached.next()) {
            (Some(only), None) => Some(only),
            (None | Some(_), _) => None,
        }
    }

    /// Checks the target of a token request against the grant. Without `resource`, it is everything that is left of the
    /// grant.
    #[inline]
    pub(crate) fn granted(
        &self,
        granted: &Audience,
        client: &Client,
        named: Named<'_>,
    ) -> Result<Target<'_>, TargetError> {
        if self.is_empty() {
            return if granted.is_unset() { Ok(Target::ALL) } else { Err(TargetError::Gone) };
        }
        self.part_of(granted, client, named)
    }

    fn part_of(&self, granted: &Audience, client: &Client, named: Named<'_>) -> Result<Target<'_>, TargetError> {
        let left: Vec<usize> = self.covered(granted, client).collect();
        if left.is_empty() {
            return Err(TargetError::Gone);
        }
        let mut named = self.places(named)?;
        if named.iter().any(|place| !left.contains(place)) {
            return Err(TargetError::Unknown);
        }
        named.sort_unstable();
        let is_whole = named.is_empty() || named == left;
        let mut target = self.target(if named.is_empty() { &left } else { &named });
        // > If the request does not include a "resource" parameter, the authorization server MUST use a default
        // > resource indicator in the "aud" claim.
        //
        // [RFC 9068 section 3]
        if target.is_several_with_jwts() {
            let default = self.default.filter(|place| named.is_empty() && left.contains(place));
            return Ok(self.target(&[default.ok_or(TargetError::SeveralOfJwts)?]));
        }
        // A token for all of the grant shares its list. An old grant has no list, and is for the default resource.
        let is_unreduced = is_whole && (granted.iter().count() == left.len() || granted.is_unset() && named.is_empty());
        if let Some(own) = &mut target.0 {
            own.is_named = !named.is_empty();
            if is_unreduced {
                own.audience = granted.clone();
            }
        }
        Ok(target)
    }

    /// Returns whether a token of that client and audience may be used at the resource at that index. A record without
    /// an audience is for the default resource.
    pub(crate) fn covers(&self, audience: &Audience, client: &Client, place: usize) -> bool {
        let Some(entry) = self.entries.get(place) else { return false };
        let is_for_it = if audience.is_unset() {
            self.default == Some(place)
        } else {
            audience.contains(&entry.settings.identifier)
        };
        is_for_it && entry.is_reached_by(client)
    }

    /// Returns whether a token of that client and audience may be used anywhere.
    pub(crate) fn covers_any(&self, audience: &Audience, client: &Client) -> bool {
        if self.is_empty() { audience.is_unset() } else { self.covered(audience, client).next().is_some() }
    }

    /// Returns the indices of the resources that [`covers`](Self::covers) allows.
    fn covered(&self, audience: &Audience, client: &Client) -> impl Iterator<Item = usize> {
        (0..self.entries.len()).filter(|place| self.covers(audience, client, *place))
    }

    /// Returns the resources that a token of that client and audience is for, limited to those for which `is_seen`
    /// returns `true`.
    pub(crate) fn seen(&self, audience: &Audience, client: &Client, is_seen: impl Fn(&Entry) -> bool) -> Target<'_> {
        let covered = self.covered(audience, client);
        let places: Vec<usize> = covered.filter(|place| self.entry(*place).is_some_and(&is_seen)).collect();
        self.target(&places)
    }

    /// Returns whether the client is the resource server of a resource.
    pub(crate) fn is_resource_server(&self, client: &ClientId) -> bool {
        self.entries.iter().any(|entry| entry.is_served_by(client))
    }

    /// Returns those of these scopes that the resource at that index serves. `offline_access` is left out, since no
    /// resource serves it.
    pub(crate) fn scopes_at(&self, place: Option<usize>, scopes: &ScopeSet) -> ScopeSet {
        let serves = place.and_then(|place| self.entries.get(place)).and_then(|entry| entry.serves.as_ref());
        let scopes = serves.map_or_else(|| scopes.clone(), |serves| scopes.intersection(serves));
        if scopes.iter().any(|scope| scope.name() == OFFLINE_ACCESS) {
            return ScopeSet::from_scopes(scopes.iter().filter(|scope| scope.name() != OFFLINE_ACCESS));
        }
        scopes
    }

    /// Responds to a request for the metadata of a resource, found by its path: the path of the resource or the one
    /// without a resource path. `None` if no resource has that path.
    pub(crate) fn metadata(&self, request: &Request<'_>, issuer: &str) -> Option<Response> {
        let entry = self.at_path(request.path?, issuer)?;
        Some(answer(request, &entry.document))
    }

    /// Responds to a request for the metadata of the resource at that index, whatever the path.
    pub(crate) fn metadata_at(&self, place: Option<usize>, request: &Request<'_>) -> Option<Response> {
        Some(answer(request, &self.entry_at(place)?.document))
    }

    /// Returns the paths at which [`metadata`](Self::metadata) responds.
    pub(crate) fn metadata_paths(&self, issuer: &str) -> Vec<String> {
        let own = self.entries.iter().map(|entry| entry.settings.metadata_path());
        let paths: BTreeSet<String> = own.chain([WELL_KNOWN.to_owned()]).flat_map(spellings).collect();
        paths.into_iter().filter(|path| self.at_path(path, issuer).is_some()).collect()
    }

    /// Some clients keep a trailing slash, others remove it.
    fn at_path(&self, path: &str, issuer: &str) -> Option<&Entry> {
        self.at_exact_path(path, issuer).or_else(|| self.at_exact_path(path.strip_suffix('/')?, issuer))
    }

    /// Returns the resource whose document is at a path. If resources of several hosts have the same path, it is the
    /// one at the issuer's host, since the path alone does not distinguish the others.
    fn at_exact_path(&self, path: &str, issuer: &str) -> Option<&Entry> {
        let inserted = path.strip_prefix(WELL_KNOWN)?;
        let is_there = |entry: &&Entry| entry.identifier.path() == inserted;
        let mut there = self.entries.iter().filter(is_there);
        match (there.next(), there.next()) {
            (Some(only), None) => Some(only),
            (Some(_), Some(_)) => {
                self.entries.iter().filter(is_there).find(|entry| entry.identifier.has_origin_of(issuer))
            }
            (None, _) if inserted.is_empty() => self.entries.iter().find(|entry| entry.settings.root_metadata),
            (None, _) => None,
        }
    }

    /// Returns the indices of the resources that the values name, without duplicates.
    fn places(&self, named: Named<'_>) -> Result<Vec<usize>, TargetError> {
        let mut places = Vec::new();
        for value in named.values() {
            let sent = split_sent(value).ok_or(TargetError::Unknown)?;
            let place = self.entries.iter().position(|entry| entry.identifier.is(&sent)).ok_or(TargetError::Unknown)?;
            if !places.contains(&place) {
                places.push(place);
            }
        }
        if places.len() > MAX_RESOURCES { Err(TargetError::Unknown) } else { Ok(places) }
    }

    fn target(&self, places: &[usize]) -> Target<'_> {
        let entries: Vec<&Entry> = places.iter().filter_map(|place| self.entries.get(*place)).collect();
        let (audience, serves) = match entries.as_slice() {
            [] => return Target::ALL,
            [only] => (only.alone.clone(), only.grants.clone()),
            several => {
                let served: Option<Vec<&ScopeSet>> = several.iter().map(|entry| entry.grants.as_ref()).collect();
                let audience = Audience::new(several.iter().map(|entry| entry.settings.identifier.as_str()));
                (audience, served.map(|served| self.catalog.union(&served)))
            }
        };
        Target(Some(Box::new(Resources { audience, entries, serves, is_named: false })))
    }
}

impl Entry {
    /// Returns scheme, host and port of the resource, as they are written.
    pub(crate) fn origin(&self) -> &str {
        origin_of(&self.settings.identifier)
    }

    /// Returns whether the client may have tokens for this resource.
    fn is_reached_by(&self, client: &Client) -> bool {
        client.reaches(&self.settings.identifier)
    }

    /// Returns whether the client is a resource server of this resource.
    pub(crate) fn is_served_by(&self, client: &ClientId) -> bool {
        self.settings.resource_servers.contains(client)
    }
}
