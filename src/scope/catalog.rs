//! The scopes that a server knows, and how requests for them are parsed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;

use crate::scope::error::{MAX_NAME_BYTES, ScopeCatalogError, ScopeError, nearest};
use crate::scope::identity::openid;
use crate::scope::{
    IdentityScope, Permission, Permissions, Scope, ScopeDefinition, ScopeNotation, ScopeSet, is_scope_token,
};
use crate::text::check_line;

/// The scopes that a server knows, in the order in which responses and consent pages list them.
///
/// A clone shares the content.
#[derive(Clone, Debug)]
pub struct ScopeCatalog(Arc<Content>);

impl ScopeCatalog {
    /// Returns the 26 scopes of the platform, in the default notation.
    pub fn platform() -> Self {
        Self::assemble(scopes(), ScopeNotation::default())
    }

    /// Returns a catalog without scopes, under which nothing can be granted.
    pub fn empty() -> Self {
        Self::assemble(Vec::new(), ScopeNotation::default())
    }

    /// Returns a builder for a catalog of your service's own scopes.
    pub fn builder() -> ScopeCatalogBuilder {
        ScopeCatalogBuilder::default()
    }

    /// Parses the value of a `scope` parameter [RFC 6749 section 3.3].
    ///
    /// Separators before, after and between scopes are ignored, so a value of separators alone gives the empty set. A
    /// bare name requests the lowest permission that its definition allows. A scope that is requested twice counts
    /// once, at the higher permission. The order of the request has no meaning.
    ///
    /// # Errors
    ///
    /// [`ScopeError`]. It names the invalid scope and, if the scope looks like a typing error, the most similar known
    /// one. The server responds to each with `invalid_scope`.
    pub fn parse(&self, wire: &[u8]) -> Result<ScopeSet, ScopeError> {
        self.read(wire).map_err(|error| self.with_nearest(error, wire))
    }

    /// Parses the parameter of a request: the same without a search for a similar scope.
    pub(crate) fn read(&self, wire: &[u8]) -> Result<ScopeSet, ScopeError> {
        self.select(self.tokens(wire)?)
    }

    /// Parses the parameter of a request, and leaves out what the catalog does not have. Also returns whether something
    /// was left out.
    pub(crate) fn read_known(&self, wire: &[u8]) -> Result<(ScopeSet, bool), ScopeError> {
        let tokens: Vec<_> = self.tokens(wire)?.collect();
        let known: Vec<_> = tokens.iter().copied().filter(|token| self.0.read(token).is_ok()).collect();
        let has_unknown = known.len() < tokens.len();
        Ok((self.select(known)?, has_unknown))
    }

    /// Returns the parameter of a request. One of separators alone counts as not sent.
    pub(crate) fn sent<'w>(&self, wire: Option<&'w [u8]>) -> Option<&'w [u8]> {
        wire.filter(|wire| self.tokens(wire).map_or(true, |mut tokens| tokens.next().is_some()))
    }

    fn tokens<'w>(&self, wire: &'w [u8]) -> Result<impl Iterator<Item = &'w str> + Clone, ScopeError> {
        let text = str::from_utf8(wire).map_err(|_| ScopeError::Malformed)?;
        let tokens = text.split(self.0.notation.separator()).filter(|token| !token.is_empty());
        if tokens.clone().all(is_scope_token) { Ok(tokens) } else { Err(ScopeError::Malformed) }
    }

    /// Parses a list of tokens, as the checkboxes of a consent form send them. An empty list gives the empty set.
    ///
    /// # Errors
    ///
    /// [`ScopeError`] if a token is not in the catalog, or not with that permission.
    pub fn select<'t>(&self, tokens: impl IntoIterator<Item = &'t str>) -> Result<ScopeSet, ScopeError> {
        let read = tokens.into_iter().map(|token| self.0.read(token));
        let mut asked = read.collect::<Result<Vec<_>, _>>()?;
        asked.sort_unstable_by_key(|(position, scope)| (*position, Reverse(scope.permission)));
        asked.dedup_by_key(|(position, _)| *position);
        Ok(ScopeSet::from_scopes(asked.into_iter().map(|(_, scope)| scope)))
    }

    /// Adds to the error the known token that is most similar to the first unknown one.
    fn with_nearest(&self, error: ScopeError, wire: &[u8]) -> ScopeError {
        let ScopeError::Unknown { token, .. } = error else { return error };
        let mut tokens = str::from_utf8(wire).unwrap_or_default().split(self.0.notation.separator());
        let unknown = tokens.find(|token| self.0.token(token).is_none()).unwrap_or_default();
        let known = self.supported();
        let nearest = nearest(unknown, known.iter().map(String::as_str)).map(Into::into);
        ScopeError::Unknown { token, nearest }
    }

    /// Formats a set as the `scope` member of a response, in the notation of this catalog.
    pub fn to_wire<'s>(&self, scopes: &'s ScopeSet) -> Cow<'s, str> {
        let notation = &self.0.notation;
        if *notation == ScopeNotation::default() {
            return Cow::Borrowed(scopes.as_str());
        }
        let mut text = String::new();
        for scope in scopes.iter() {
            if !text.is_empty() {
                text.push(notation.separator());
            }
            text.push_str(&notation.token(scope.name, scope.permission));
        }
        Cow::Owned(text)
    }

    /// Returns every token that a request may contain, for `scopes_supported` [RFC 8414 section 2].
    ///
    /// A scope that can be granted in two ways has two tokens.
    pub fn supported(&self) -> Vec<String> {
        let tokens = |definition: &ScopeDefinition| {
            let token = |permission: &Option<Permission>| self.0.notation.token(definition.name(), *permission);
            definition.permissions().each().iter().map(token).collect::<Vec<_>>()
        };
        self.definitions().iter().flat_map(tokens).collect()
    }

    /// Returns the definition of the scope `name`, given without permission.
    pub fn definition(&self, name: &str) -> Option<&ScopeDefinition> {
        let token = self.0.token(name)?;
        self.0.definitions.get(token.position).filter(|definition| definition.name() == name)
    }

    /// Returns every scope, in catalog order.
    pub fn definitions(&self) -> &[ScopeDefinition] {
        &self.0.definitions
    }

    /// Returns every scope at its highest permission.
    pub fn all(&self) -> ScopeSet {
        let definitions = self.definitions().iter();
        ScopeSet::from_scopes(definitions.map(|own| Scope { name: own.name(), permission: own.permissions().max() }))
    }

    /// Returns the scopes of the set that devices without a browser may ask for.
    pub(crate) fn for_devices(&self, scopes: &ScopeSet) -> ScopeSet {
        let is_open = |scope: &Scope<'_>| self.definition(scope.name).is_none_or(ScopeDefinition::is_for_devices);
        ScopeSet::from_scopes(scopes.iter().filter(is_open))
    }

    /// Returns whether any scope of the set is in this catalog.
    pub(crate) fn knows_any(&self, scopes: &ScopeSet) -> bool {
        scopes.iter().any(|scope| self.definition(scope.name).is_some())
    }

    /// Returns whether every scope of the set is in this catalog and allowed with its permission.
    ///
    /// A set that was read from a store may come from an earlier catalog.
    pub fn knows(&self, scopes: &ScopeSet) -> bool {
        scopes.iter().all(|scope| {
            let definition = self.definition(scope.name);
            definition.is_some_and(|definition| definition.permissions().each().contains(&scope.permission))
        })
    }

    /// Checks that a token can have a scope with at least this permission, or the scope as a whole.
    ///
    /// # Errors
    ///
    /// [`ScopeError`], with the most similar name of the catalog if there is no such scope.
    pub(crate) fn check_required(&self, name: &str, permission: Option<Permission>) -> Result<(), ScopeError> {
        let Some(definition) = self.definition(name) else {
            let nearest = nearest(name, self.definitions().iter().map(ScopeDefinition::name)).map(Into::into);
            return Err(ScopeError::Unknown { token: Some(name.into()), nearest });
        };
        let max = definition.permissions().max();
        // A scope without permissions includes all of them.
        if max.is_none() || permission.is_some() && permission <= max {
            return Ok(());
        }
        let token = |permission| self.0.notation.token(name, permission).into();
        Err(ScopeError::PermissionNotAllowed { token: token(permission), accepted: token(max) })
    }

    /// Returns the part of the set that is in this catalog.
    pub(crate) fn known_part(&self, scopes: &ScopeSet) -> ScopeSet {
        if self.knows(scopes) { scopes.clone() } else { scopes.intersection(&self.all()) }
    }

    /// Returns what the sets allow together, each scope at its highest permission, in catalog order.
    pub(crate) fn union(&self, sets: &[&ScopeSet]) -> ScopeSet {
        ScopeSet::from_scopes(self.definitions().iter().filter_map(|definition| {
            let name = definition.name();
            let scopes = sets.iter().flat_map(|set| set.iter()).filter(|scope| scope.name == name);
            Some(Scope { name, permission: scopes.map(|scope| scope.permission).max()? })
        }))
    }

    /// Returns the same catalog with `openid` and these scopes in front. One that has them already stays as it is.
    ///
    /// # Errors
    ///
    /// As [`ScopeCatalogBuilder::build`].
    pub(crate) fn with_identity(&self, scopes: &[IdentityScope]) -> Result<Self, ScopeCatalogError> {
        if self.0.identity > 0 {
            return Ok(self.clone());
        }
        let own: Vec<_> = [openid()].into_iter().chain(scopes.iter().map(|own| own.definition().clone())).collect();
        let identity = own.len();
        let definitions = own.into_iter().chain(self.definitions().iter().cloned());
        let Content { definitions, notation, tokens, .. } =
            Self::builder().scopes(definitions).notation(self.0.notation.clone()).content()?;
        Ok(Self(Arc::new(Content { definitions, notation, tokens, identity })))
    }

    /// Returns the scopes of OpenID Connect: none while [`Config::identity`](crate::Config::identity) is off.
    pub(crate) fn identity(&self) -> ScopeSet {
        let own = self.definitions().iter().take(self.0.identity);
        ScopeSet::from_scopes(own.map(|own| Scope { name: own.name(), permission: None }))
    }

    /// Returns every scope that protected resources may serve, at its highest permission.
    pub(crate) fn of_resources(&self) -> ScopeSet {
        let definitions = self.definitions().iter().skip(self.0.identity);
        ScopeSet::from_scopes(definitions.map(|own| Scope { name: own.name(), permission: own.permissions().max() }))
    }

    fn assemble(definitions: Vec<ScopeDefinition>, notation: ScopeNotation) -> Self {
        Self(Arc::new(Content::new(definitions, notation)))
    }
}

/// A builder for a [`ScopeCatalog`].
#[derive(Clone, Debug, Default)]
pub struct ScopeCatalogBuilder {
    definitions: Vec<ScopeDefinition>,
    notation: ScopeNotation,
}

impl ScopeCatalogBuilder {
    /// Appends a scope.
    #[must_use]
    pub fn scope(mut self, definition: ScopeDefinition) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Appends several scopes, for instance the [`definitions`](ScopeCatalog::definitions) of another catalog.
    #[must_use]
    pub fn scopes(mut self, definitions: impl IntoIterator<Item = ScopeDefinition>) -> Self {
        self.definitions.extend(definitions);
        self
    }

    /// Replaces the default notation.
    #[must_use]
    pub fn notation(mut self, notation: ScopeNotation) -> Self {
        self.notation = notation;
        self
    }

    /// Builds the catalog.
    ///
    /// # Errors
    ///
    /// [`ScopeCatalogError`] if there is no scope, if a name cannot be a scope token or is longer than 100 bytes, if a
    /// token could mean two scopes, or if a text for readers has a character that could mislead them.
    pub fn build(self) -> Result<ScopeCatalog, ScopeCatalogError> {
        self.content().map(|content| ScopeCatalog(Arc::new(content)))
    }

    fn content(self) -> Result<Content, ScopeCatalogError> {
        if self.definitions.is_empty() {
            return Err(ScopeCatalogError::Empty);
        }
        if !self.notation.is_usable() {
            return Err(ScopeCatalogError::Notation);
        }
        for definition in &self.definitions {
            judge_name(definition.name(), &self.notation)?;
            judge_words(definition)?;
        }
        // A map keeps only the last of two equal tokens, so they are found before it is made.
        let mut seen = HashSet::new();
        for (token, _) in tokens_of(&self.definitions, &self.notation) {
            if !seen.insert(token.clone()) {
                return Err(ScopeCatalogError::Ambiguous { token });
            }
        }
        Ok(Content::new(self.definitions, self.notation))
    }
}

#[derive(Debug)]
struct Content {
    definitions: Vec<ScopeDefinition>,
    notation: ScopeNotation,
    /// Every token that names a scope, by its text.
    tokens: HashMap<String, Token>,
    /// How many of the definitions are scopes of OpenID Connect. They are the first ones.
    identity: usize,
}

impl Content {
    fn new(definitions: Vec<ScopeDefinition>, notation: ScopeNotation) -> Self {
        let tokens = tokens_of(&definitions, &notation).collect();
        Self { definitions, notation, tokens, identity: 0 }
    }

    /// Returns the scope of a token and its position in the catalog.
    fn read(&self, token: &str) -> Result<(usize, Scope<'_>), ScopeError> {
        let Token { position, permission } = *self.token(token).ok_or_else(|| ScopeError::unknown(token))?;
        let definition = self.definitions.get(position).ok_or_else(|| ScopeError::unknown(token))?;
        if definition.permissions().each().contains(&permission) {
            return Ok((position, Scope { name: definition.name(), permission }));
        }
        let accepted = self.notation.token(definition.name(), definition.permissions().least()).into();
        Err(ScopeError::PermissionNotAllowed { token: token.into(), accepted })
    }

    fn token(&self, text: &str) -> Option<&Token> {
        self.tokens.get(text)
    }
}

#[derive(Debug)]
struct Token {
    /// The index of the scope in the catalog.
    position: usize,
    /// The permission that it asks for, which the scope may not have.
    permission: Option<Permission>,
}

/// Returns every token that names one of the scopes. A token that could mean two scopes comes twice.
fn tokens_of(definitions: &[ScopeDefinition], notation: &ScopeNotation) -> impl Iterator<Item = (String, Token)> {
    definitions.iter().enumerate().flat_map(move |(position, definition)| {
        let name = definition.name();
        let bare = (name.to_owned(), Token { position, permission: definition.permissions().least() });
        let marked = [Permission::Read, Permission::ReadWrite].map(Some);
        let marked = marked.map(|permission| (notation.token(name, permission), Token { position, permission }));
        // With an empty mark for read-only, the token is the bare name, which is already there.
        [bare].into_iter().chain(marked.into_iter().filter(move |(text, _)| text != name))
    })
}

fn judge_name(name: &str, notation: &ScopeNotation) -> Result<(), ScopeCatalogError> {
    if name.len() > MAX_NAME_BYTES || !is_scope_token(name) || name.contains(notation.separator()) {
        return Err(ScopeCatalogError::Name { name: name.to_owned() });
    }
    // The canonical text of a set is split at these suffixes in every notation.
    if Scope::from_token(name).permission.is_some() {
        return Err(ScopeCatalogError::Suffix { name: name.to_owned() });
    }
    Ok(())
}

fn judge_words(definition: &ScopeDefinition) -> Result<(), ScopeCatalogError> {
    for text in definition.words() {
        check_line(text).map_err(|error| ScopeCatalogError::Words { name: definition.name().to_owned(), error })?;
    }
    Ok(())
}

/// One row a scope. What a scope allows is empty where it is never granted so.
const TABLE: &str = include_str!("platform.md");

/// Returns the scopes of the service, in the order of its table.
pub(super) fn scopes() -> Vec<ScopeDefinition> {
    TABLE.lines().skip(2).filter_map(definition).collect()
}

fn definition(row: &'static str) -> Option<ScopeDefinition> {
    let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
    let [name, permissions, group, title, description, read, write] = cells[..] else { return None };
    let permissions = match permissions {
        "r" => Permissions::ReadOnly,
        "rw" => Permissions::ReadWriteOnly,
        _ => Permissions::ReadOnlyOrReadWrite,
    };
    let definition = ScopeDefinition::new(name, permissions).with_group(group).with_title(title);
    Some(definition.with_description(description).with_verbs(read, write))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Permissions;

    /// Columns: name, read-only allowed, read-write allowed. It is the table of the service description.
    const TABLE: [(&str, bool, bool); 26] = [
        ("repo-code", true, true),
        ("repo-pr", true, true),
        ("repo-issue", true, true),
        ("repo-notes", true, true),
        ("repo-release", true, true),
        ("repo-commit-status", true, true),
        ("repo-platform-trigger", true, true),
        ("repo-platform-history", true, false),
        ("repo-platform-detail", true, true),
        ("repo-basic-info", true, false),
        ("repo-manage", true, true),
        ("repo-delete", false, true),
        ("repo-security", true, false),
        ("registry-package", true, true),
        ("registry-package-delete", false, true),
        ("registry-security", true, false),
        ("registry-manage", true, true),
        ("registry-delete", false, true),
        ("account-profile", true, true),
        ("account-email", true, true),
        ("account-engage", true, true),
        ("group-resource", true, true),
        ("group-manage", true, true),
        ("group-delete", false, true),
        ("mission-delete", false, true),
        ("mission-manage", true, true),
    ];

    fn catalog(definitions: &[(&'static str, Permissions)], notation: ScopeNotation) -> ScopeCatalog {
        let definitions = definitions.iter().map(|(name, permissions)| ScopeDefinition::new(*name, *permissions));
        ScopeCatalog::builder().scopes(definitions).notation(notation).build().unwrap()
    }

    fn not_allowed(token: &str, accepted: &str) -> ScopeError {
        ScopeError::PermissionNotAllowed { token: token.into(), accepted: accepted.into() }
    }

    #[test]
    fn a_union_takes_the_higher_permission_in_catalog_order() {
        let catalog = ScopeCatalog::platform();
        let set = |text: &str| ScopeSet::from_canonical(text);
        let union = catalog.union(&[&set("repo-issue:r account-email:r"), &set("repo-code:r repo-issue:rw")]);
        assert_eq!(union.as_str(), "repo-code:r repo-issue:rw account-email:r");
        assert!(catalog.union(&[]).is_empty());
    }

    #[test]
    fn the_platform_table_allows_what_the_service_says() {
        let catalog = ScopeCatalog::platform();
        let names: Vec<_> = catalog.definitions().iter().map(ScopeDefinition::name).collect();
        assert_eq!(names, TABLE.map(|(name, ..)| name));
        for (name, read, read_write) in TABLE {
            let tokens = [(format!("{name}:r"), read), (format!("{name}:rw"), read_write)];
            let accepted = tokens.iter().find(|(_, allowed)| *allowed).map(|(token, _)| token.clone()).unwrap();
            for (token, allowed) in tokens {
                let expected = if allowed { Ok(token.as_str()) } else { Err(not_allowed(&token, &accepted)) };
                let parsed = catalog.parse(token.as_bytes());
                assert_eq!(parsed.as_ref().map(ScopeSet::as_str).map_err(Clone::clone), expected, "{token}");
                assert_eq!(catalog.supported().contains(&token), allowed, "{token}");
                assert_eq!(catalog.knows(&ScopeSet::from_canonical(token.as_str())), allowed, "{token}");
            }
            let least = format!("{name}:{}", if read { "r" } else { "rw" });
            assert_eq!(catalog.parse(name.as_bytes()).unwrap().as_str(), least);
        }
    }

    #[test]
    fn the_platform_table_has_words_for_the_consent_page_and_passes_the_builder() {
        let platform = ScopeCatalog::platform();
        for definition in platform.definitions() {
            assert_ne!(definition.title(), definition.name());
            assert!(definition.description().ends_with('.'), "{}", definition.name());
            assert!(!definition.group().is_empty(), "{}", definition.name());
            assert_eq!(platform.definition(definition.name()), Some(definition));
        }
        let built = ScopeCatalog::builder().scopes(platform.definitions().iter().cloned()).build().unwrap();
        assert_eq!(built.supported(), platform.supported());
        assert_eq!(platform.supported().len(), 17 * 2 + 9);
    }

    #[test]
    fn every_platform_scope_has_verbs_of_its_own() {
        let platform = ScopeCatalog::platform();
        let mut seen = Vec::new();
        for definition in platform.definitions() {
            for permission in [Permission::Read, Permission::ReadWrite] {
                let verbs = definition.verbs(Some(permission));
                let is_granted = definition.permissions().allows(permission);
                assert_eq!(verbs.is_some(), is_granted, "{} {permission:?}", definition.name());
                seen.extend(verbs);
            }
        }
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), count), (43, 43), "two scopes in the same words");
    }

    #[test]
    fn requests_become_canonical() {
        let catalog = ScopeCatalog::platform();
        for (wire, expected) in [
            ("repo-pr:r repo-code:rw", "repo-code:rw repo-pr:r"),
            ("repo-code:rw repo-pr:r", "repo-code:rw repo-pr:r"),
            ("repo-code:r repo-code:rw", "repo-code:rw"),
            ("repo-code:rw repo-code:r repo-code", "repo-code:rw"),
            ("repo-code repo-code", "repo-code:r"),
            ("mission-manage repo-delete repo-pr", "repo-pr:r repo-delete:rw mission-manage:r"),
            ("  repo-pr   repo-code ", "repo-code:r repo-pr:r"),
            (" ", ""),
            ("", ""),
        ] {
            assert_eq!(catalog.parse(wire.as_bytes()).unwrap().as_str(), expected, "{wire:?}");
        }
    }

    #[test]
    fn bad_requests_are_refused() {
        let catalog = ScopeCatalog::platform();
        let malformed: [&[u8]; 10] = [
            b"\t",
            b"\0",
            b"repo-code:r\trepo-pr:r",
            b"repo-code:r\n",
            b"\"repo-code:r\"",
            b"repo-code\\:r",
            b"repo-code:r\x7F",
            "repo-code:r\u{A0}".as_bytes(),
            b"repo-code:r \xFF",
            b"unknown \"",
        ];
        for wire in malformed {
            assert_eq!(catalog.parse(wire), Err(ScopeError::Malformed), "{}", wire.escape_ascii());
        }
        for wire in ["repo-code:r,repo-pr:r", "REPO-CODE:r", "repo-code:R", "repo-code:x", "read:repo-code", ":r", "*"]
        {
            assert_eq!(catalog.read(wire.as_bytes()), Err(ScopeError::unknown(wire)), "{wire:?}");
        }
        for (wire, token, accepted) in [
            ("repo-delete:r", "repo-delete:r", "repo-delete:rw"),
            ("repo-security:rw", "repo-security:rw", "repo-security:r"),
            ("repo-code:r repo-security:rw", "repo-security:rw", "repo-security:r"),
        ] {
            assert_eq!(catalog.parse(wire.as_bytes()), Err(not_allowed(token, accepted)), "{wire:?}");
        }
    }

    #[test]
    fn an_error_names_the_scope_and_the_one_that_was_meant() {
        let catalog = ScopeCatalog::platform();
        let long = "x".repeat(32);
        for (wire, text) in [
            ("repo-cod:r", r#"unknown scope "repo-cod:r"; did you mean "repo-code:r"?"#),
            ("repo-code:r repo-isue:rw", r#"unknown scope "repo-isue:rw"; did you mean "repo-issue:rw"?"#),
            (
                "repo-platform-histroy",
                r#"unknown scope "repo-platform-histroy"; did you mean "repo-platform-history:r"?"#,
            ),
            ("openid", r#"unknown scope "openid""#),
            ("repo-platform-triggger-of-the-others:rw", "unknown scope"),
            (&long, "unknown scope"),
            ("repo-delete:r", r#"the scope "repo-delete:r" cannot be granted, only "repo-delete:rw" can"#),
        ] {
            assert_eq!(catalog.parse(wire.as_bytes()).unwrap_err().to_string(), text, "{wire}");
        }
        let long = catalog.parse(b"registry-package-delete-of-anything:rw").unwrap_err();
        assert!(!long.to_string().contains("anything"), "it may be a secret in the wrong place: {long}");
        let pages = catalog.select(["x\n\"\u{202e}"]).unwrap_err();
        assert_eq!(pages.to_string(), r#"unknown scope "x\n\"\u{202e}""#);
        // Requests of clients do not cause the search.
        assert_eq!(catalog.read(b"repo-cod:r"), Err(ScopeError::unknown("repo-cod:r")));
    }

    #[test]
    fn all_scopes_stand_at_their_highest_permission() {
        let catalog = ScopeCatalog::platform();
        let all = catalog.all();
        assert_eq!(all.iter().count(), 26);
        assert!(catalog.knows(&all));
        assert_eq!(catalog.parse(all.as_str().as_bytes()).unwrap(), all);
        for token in catalog.supported() {
            assert!(catalog.parse(token.as_bytes()).unwrap().is_subset_of(&all), "{token}");
        }
    }

    #[test]
    fn sets_of_another_catalog_are_not_known() {
        let catalog = ScopeCatalog::platform();
        for text in ["gone:r", "repo-code", "repo-delete:r", "repo-code:r gone"] {
            assert!(!catalog.knows(&ScopeSet::from_canonical(text)), "{text:?}");
        }
        assert!(catalog.knows(&ScopeSet::empty()));
        assert!(catalog.definition("repo-code:r").is_none());
    }

    #[test]
    fn scopes_without_permissions_are_granted_as_a_whole() {
        let catalog = catalog(
            &[("openid", Permissions::Plain), ("files", Permissions::ReadOnlyOrReadWrite)],
            ScopeNotation::default(),
        );
        assert_eq!(catalog.supported(), ["openid", "files:r", "files:rw"]);
        assert_eq!(catalog.parse(b"files openid openid").unwrap().as_str(), "openid files:r");
        assert_eq!(catalog.parse(b"openid:r"), Err(not_allowed("openid:r", "openid")));
        assert_eq!(catalog.all().as_str(), "openid files:rw");
        assert!(catalog.knows(&catalog.all()));
    }

    #[test]
    fn a_notation_changes_the_wire_form_alone() {
        let definitions = [
            ("openid", Permissions::Plain),
            ("files", Permissions::ReadOnlyOrReadWrite),
            ("erase", Permissions::ReadWriteOnly),
        ];
        for (notation, wire) in [
            (ScopeNotation::default(), "openid files:rw erase:rw"),
            (ScopeNotation::prefixes("read:", "write:"), "openid write:files write:erase"),
            (ScopeNotation::suffixes("", ".write").with_separator(','), "openid,files.write,erase.write"),
        ] {
            let catalog = catalog(&definitions, notation);
            let parsed = catalog.parse(wire.as_bytes()).unwrap();
            assert_eq!(parsed.as_str(), "openid files:rw erase:rw");
            assert_eq!(catalog.to_wire(&parsed), wire);
            for token in catalog.supported() {
                assert_eq!(catalog.to_wire(&catalog.parse(token.as_bytes()).unwrap()), token);
            }
        }
        let default = catalog(&definitions, ScopeNotation::default());
        assert!(matches!(default.to_wire(&default.all()), Cow::Borrowed(_)));
    }

    #[test]
    fn catalogs_that_cannot_be_read_back_are_not_built() {
        let name = |name: &str| ScopeCatalogError::Name { name: name.to_owned() };
        let suffix = |name: &str| ScopeCatalogError::Suffix { name: name.to_owned() };
        let ambiguous = |token: &str| ScopeCatalogError::Ambiguous { token: token.to_owned() };
        let default = ScopeNotation::default;
        let long = "x".repeat(101);
        let cases: [(&[&str], ScopeNotation, ScopeCatalogError); 11] = [
            (&[], default(), ScopeCatalogError::Empty),
            (&["a"], ScopeNotation::suffixes(":r", ":r"), ScopeCatalogError::Notation),
            (&[""], default(), name("")),
            (&["a b"], default(), name("a b")),
            (&["a\""], default(), name("a\"")),
            (&[&long], default(), name(&long)),
            (&["a,b"], default().with_separator(','), name("a,b")),
            (&["a:r"], default(), suffix("a:r")),
            (&["a:rw"], ScopeNotation::prefixes("read:", "write:"), suffix("a:rw")),
            (&["a", "b", "a"], default(), ambiguous("a")),
            (&["a", "read.a"], ScopeNotation::prefixes("read.", "write."), ambiguous("read.a")),
        ];
        for (names, notation, expected) in cases {
            let definitions = names.iter().map(|name| ScopeDefinition::new((*name).to_owned(), Permissions::Plain));
            let built = ScopeCatalog::builder().scopes(definitions).notation(notation).build();
            assert_eq!(built.err(), Some(expected), "{names:?}");
        }
        let longest = ScopeDefinition::new("x".repeat(100), Permissions::Plain);
        assert!(ScopeCatalog::builder().scope(longest).build().is_ok());
    }

    /// Developers read these texts; an `error_description` has a fixed text.
    #[test]
    fn errors_of_a_catalog_say_what_would_do() {
        let build = |name: &'static str, notation| {
            let catalog = ScopeCatalog::builder().scope(ScopeDefinition::plain(name)).notation(notation);
            catalog.build().unwrap_err().to_string()
        };
        for (text, needed) in [
            (build("a b", ScopeNotation::default()), "1 to 100 visible ASCII characters"),
            (build("orders:r", ScopeNotation::default()), "leave out :r or :rw"),
            (build("orders", ScopeNotation::suffixes(":x", ":x")), "the two marks must differ"),
        ] {
            assert!(text.contains(needed), "{text}");
        }
    }
}
