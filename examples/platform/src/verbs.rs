//! What each scope lets an application do, for users who have never heard of scopes.

use grantor::scope::Permission;

/// For each scope: what read-only access allows, and what read-write access allows. Empty where the scope is never
/// granted with that permission.
const VERBS: [(&str, &str, &str); 26] = [
    ("repo-code", "Read the code in your repositories", "Read and change the code in your repositories"),
    ("repo-pr", "Read pull requests", "Read, open, edit and merge pull requests"),
    ("repo-issue", "Read issues", "Read, open and edit issues"),
    (
        "repo-notes",
        "Read comments on issues and pull requests",
        "Read, write and edit comments on issues and pull requests",
    ),
    ("repo-release", "See tags and releases", "See, create and edit tags and releases"),
    (
        "repo-commit-status",
        "See pipeline status, badges and metadata of commits",
        "See and set pipeline status, badges and metadata of commits",
    ),
    (
        "repo-platform-trigger",
        "See cloud builds and cloud development",
        "Start and run cloud builds and cloud development",
    ),
    ("repo-platform-history", "See the history of your pipeline builds", ""),
    ("repo-platform-detail", "See your cloud development spaces", "See and delete your cloud development spaces"),
    ("repo-basic-info", "See basic facts of your repositories, such as name, language and license", ""),
    (
        "repo-manage",
        "See the members and settings of your repositories",
        "See and change the members and settings of your repositories",
    ),
    ("repo-delete", "", "Delete your repositories with everything in them"),
    ("repo-security", "See what the security module reports about your repositories", ""),
    (
        "registry-package",
        "Read the artifacts in your registries",
        "Read, publish and change the artifacts in your registries",
    ),
    ("registry-package-delete", "", "Delete artifacts from your registries"),
    ("registry-security", "See the security, license and SBOM data of your packages", ""),
    (
        "registry-manage",
        "See the members and settings of your artifact registries",
        "See and change the members and settings of your artifact registries",
    ),
    ("registry-delete", "", "Delete your artifact registries with everything in them"),
    ("account-profile", "See your profile", "See and change your profile"),
    ("account-email", "See your verified e-mail address", "See and change your verified e-mail address"),
    (
        "account-engage",
        "See the repositories you follow, your followers and your development environments",
        "See and change the repositories you follow, your followers and your development environments",
    ),
    (
        "group-resource",
        "See the sub-organizations and repositories of your organizations",
        "See, create and change the sub-organizations and repositories of your organizations",
    ),
    (
        "group-manage",
        "See the members, repository wall and settings of your organizations",
        "See and change the members, repository wall and settings of your organizations",
    ),
    ("group-delete", "", "Delete your organizations with everything in them"),
    ("mission-delete", "", "Delete your mission sets with everything in them"),
    ("mission-manage", "See your mission sets", "See, create and change your mission sets"),
];

/// Returns what an application may do with this scope, such as "Read, open and edit issues".
pub(crate) fn verbs(scope: &str, permission: Option<Permission>) -> Option<&'static str> {
    let (_, read, write) = VERBS.iter().find(|(name, ..)| *name == scope)?;
    let words = match permission? {
        Permission::Read => read,
        Permission::ReadWrite => write,
    };
    Some(*words).filter(|words| !words.is_empty())
}

#[cfg(test)]
mod tests {
    use grantor::scope::ScopeCatalog;

    use super::*;

    /// Every scope has different words, and only for permissions that it can be granted with.
    #[test]
    fn every_scope_has_its_verbs() {
        let mut seen = Vec::new();
        for definition in ScopeCatalog::platform().definitions() {
            for permission in [Permission::Read, Permission::ReadWrite] {
                let words = verbs(definition.name(), Some(permission));
                let is_granted = definition.permissions().allows(permission);
                assert_eq!(words.is_some(), is_granted, "{} {permission:?}", definition.name());
                seen.extend(words);
            }
        }
        assert_eq!(verbs("repo-issue", Some(Permission::ReadWrite)), Some("Read, open and edit issues"));
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count, "two scopes in the same words");
    }
}
