//! The platform's 26 scopes.

use crate::scope::Permissions;
use crate::scope::definition::ScopeDefinition;

/// Returns the scopes of the service, in the order of its table.
pub(super) fn scopes() -> Vec<ScopeDefinition> {
    let groups = [
        group("Repositories", REPOSITORIES),
        group("Artifact registries", REGISTRIES),
        group("Account", ACCOUNT),
        group("Organizations", ORGANIZATIONS),
        group("Mission sets", MISSIONS),
    ];
    groups.concat()
}

/// The name of a scope, its permissions, its title and its description.
struct Row(&'static str, Permissions, &'static str, &'static str);

fn group(heading: &'static str, rows: &[Row]) -> Vec<ScopeDefinition> {
    let definition = |&Row(name, permissions, title, description): &Row| {
        ScopeDefinition::new(name, permissions).with_title(title).with_description(description).with_group(heading)
    };
    rows.iter().map(definition).collect()
}

const READ: Permissions = Permissions::ReadOnly;
const WRITE: Permissions = Permissions::ReadWriteOnly;
const BOTH: Permissions = Permissions::ReadOnlyOrReadWrite;

const REPOSITORIES: &[Row] = &[
    Row("repo-code", BOTH, "Code", "Covers the code in your repositories, through Git commands."),
    Row("repo-pr", BOTH, "Pull requests", "Covers pull requests in your repositories."),
    Row("repo-issue", BOTH, "Issues", "Covers issues in your repositories."),
    Row("repo-notes", BOTH, "Comments", "Covers comments on issues and pull requests."),
    Row("repo-release", BOTH, "Releases", "Covers tags and releases of your repositories."),
    Row("repo-commit-status", BOTH, "Commit status", "Covers pipeline status, badges and metadata of commits."),
    Row(
        "repo-platform-trigger",
        BOTH,
        "Cloud builds",
        "Covers looking up, triggering and running cloud-native builds and development.",
    ),
    Row("repo-platform-history", READ, "Build history", "Covers the history of pipeline builds."),
    Row(
        "repo-platform-detail",
        BOTH,
        "Development spaces",
        "Covers looking up or deleting cloud-native development spaces.",
    ),
    Row(
        "repo-basic-info",
        READ,
        "Basic information",
        "Covers the name, description, language, license and similar facts of your repositories.",
    ),
    Row("repo-manage", BOTH, "Members and settings", "Covers members and settings of your repositories."),
    Row("repo-delete", WRITE, "Delete repositories", "Allows deleting a repository with everything in it."),
    Row("repo-security", READ, "Security findings", "Covers what the security module reports about your repositories."),
];

const REGISTRIES: &[Row] = &[
    Row("registry-package", BOTH, "Artifacts", "Covers artifacts in your registries."),
    Row("registry-package-delete", WRITE, "Delete artifacts", "Allows deleting artifacts from your registries."),
    Row(
        "registry-security",
        READ,
        "Package security",
        "Covers security, license and component list (SBOM) data of packages.",
    ),
    Row("registry-manage", BOTH, "Members and settings", "Covers members and settings of your artifact registries."),
    Row("registry-delete", WRITE, "Delete registries", "Allows deleting an artifact registry with everything in it."),
];

const ACCOUNT: &[Row] = &[
    Row("account-profile", BOTH, "Profile", "Covers your user profile."),
    Row("account-email", BOTH, "E-mail address", "Covers your verified e-mail address."),
    Row(
        "account-engage",
        BOTH,
        "Activity",
        "Covers followed repositories, your followers, development environments and similar items.",
    ),
];

const ORGANIZATIONS: &[Row] = &[
    Row("group-resource", BOTH, "Contents", "Covers sub-organizations and repositories of your organizations."),
    Row(
        "group-manage",
        BOTH,
        "Members and settings",
        "Covers members, repository wall and settings of your organizations.",
    ),
    Row("group-delete", WRITE, "Delete organizations", "Allows deleting an organization with everything in it."),
];

const MISSIONS: &[Row] = &[
    Row("mission-delete", WRITE, "Delete mission sets", "Allows deleting a mission set with everything in it."),
    Row("mission-manage", BOTH, "Mission sets", "Covers your mission sets."),
];
