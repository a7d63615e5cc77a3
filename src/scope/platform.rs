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

/// The name of a scope, its permissions, its title, its description, and what it allows: read-only and read-write. The
/// last two are empty where the scope is never granted so.
struct Row(&'static str, Permissions, &'static str, &'static str, &'static str, &'static str);

fn group(heading: &'static str, rows: &[Row]) -> Vec<ScopeDefinition> {
    let definition = |&Row(name, permissions, title, description, read, write): &Row| {
        let definition = ScopeDefinition::new(name, permissions).with_title(title).with_description(description);
        definition.with_group(heading).with_verbs(read, write)
    };
    rows.iter().map(definition).collect()
}

const READ: Permissions = Permissions::ReadOnly;
const WRITE: Permissions = Permissions::ReadWriteOnly;
const BOTH: Permissions = Permissions::ReadOnlyOrReadWrite;

const REPOSITORIES: &[Row] = &[
    Row(
        "repo-code",
        BOTH,
        "Code",
        "Covers the code in your repositories, through Git commands.",
        "Read the code in your repositories",
        "Read and change the code in your repositories",
    ),
    Row(
        "repo-pr",
        BOTH,
        "Pull requests",
        "Covers pull requests in your repositories.",
        "Read pull requests",
        "Read, open, edit and merge pull requests",
    ),
    Row(
        "repo-issue",
        BOTH,
        "Issues",
        "Covers issues in your repositories.",
        "Read issues",
        "Read, open and edit issues",
    ),
    Row(
        "repo-notes",
        BOTH,
        "Comments",
        "Covers comments on issues and pull requests.",
        "Read comments on issues and pull requests",
        "Read, write and edit comments on issues and pull requests",
    ),
    Row(
        "repo-release",
        BOTH,
        "Releases",
        "Covers tags and releases of your repositories.",
        "See tags and releases",
        "See, create and edit tags and releases",
    ),
    Row(
        "repo-commit-status",
        BOTH,
        "Commit status",
        "Covers pipeline status, badges and metadata of commits.",
        "See pipeline status, badges and metadata of commits",
        "See and set pipeline status, badges and metadata of commits",
    ),
    Row(
        "repo-platform-trigger",
        BOTH,
        "Cloud builds",
        "Covers looking up, triggering and running cloud-native builds and development.",
        "See cloud builds and cloud development",
        "Start and run cloud builds and cloud development",
    ),
    Row(
        "repo-platform-history",
        READ,
        "Build history",
        "Covers the history of pipeline builds.",
        "See the history of your pipeline builds",
        "",
    ),
    Row(
        "repo-platform-detail",
        BOTH,
        "Development spaces",
        "Covers looking up or deleting cloud-native development spaces.",
        "See your cloud development spaces",
        "See and delete your cloud development spaces",
    ),
    Row(
        "repo-basic-info",
        READ,
        "Basic information",
        "Covers the name, description, language, license and similar facts of your repositories.",
        "See basic facts of your repositories, such as name, language and license",
        "",
    ),
    Row(
        "repo-manage",
        BOTH,
        "Members and settings",
        "Covers members and settings of your repositories.",
        "See the members and settings of your repositories",
        "See and change the members and settings of your repositories",
    ),
    Row(
        "repo-delete",
        WRITE,
        "Delete repositories",
        "Allows deleting a repository with everything in it.",
        "",
        "Delete your repositories with everything in them",
    ),
    Row(
        "repo-security",
        READ,
        "Security findings",
        "Covers what the security module reports about your repositories.",
        "See what the security module reports about your repositories",
        "",
    ),
];

const REGISTRIES: &[Row] = &[
    Row(
        "registry-package",
        BOTH,
        "Artifacts",
        "Covers artifacts in your registries.",
        "Read the artifacts in your registries",
        "Read, publish and change the artifacts in your registries",
    ),
    Row(
        "registry-package-delete",
        WRITE,
        "Delete artifacts",
        "Allows deleting artifacts from your registries.",
        "",
        "Delete artifacts from your registries",
    ),
    Row(
        "registry-security",
        READ,
        "Package security",
        "Covers security, license and component list (SBOM) data of packages.",
        "See the security, license and SBOM data of your packages",
        "",
    ),
    Row(
        "registry-manage",
        BOTH,
        "Members and settings",
        "Covers members and settings of your artifact registries.",
        "See the members and settings of your artifact registries",
        "See and change the members and settings of your artifact registries",
    ),
    Row(
        "registry-delete",
        WRITE,
        "Delete registries",
        "Allows deleting an artifact registry with everything in it.",
        "",
        "Delete your artifact registries with everything in them",
    ),
];

const ACCOUNT: &[Row] = &[
    Row(
        "account-profile",
        BOTH,
        "Profile",
        "Covers your user profile.",
        "See your profile",
        "See and change your profile",
    ),
    Row(
        "account-email",
        BOTH,
        "E-mail address",
        "Covers your verified e-mail address.",
        "See your verified e-mail address",
        "See and change your verified e-mail address",
    ),
    Row(
        "account-engage",
        BOTH,
        "Activity",
        "Covers followed repositories, your followers, development environments and similar items.",
        "See the repositories you follow, your followers and your development environments",
        "See and change the repositories you follow, your followers and your development environments",
    ),
];

const ORGANIZATIONS: &[Row] = &[
    Row(
        "group-resource",
        BOTH,
        "Contents",
        "Covers sub-organizations and repositories of your organizations.",
        "See the sub-organizations and repositories of your organizations",
        "See, create and change the sub-organizations and repositories of your organizations",
    ),
    Row(
        "group-manage",
        BOTH,
        "Members and settings",
        "Covers members, repository wall and settings of your organizations.",
        "See the members, repository wall and settings of your organizations",
        "See and change the members, repository wall and settings of your organizations",
    ),
    Row(
        "group-delete",
        WRITE,
        "Delete organizations",
        "Allows deleting an organization with everything in it.",
        "",
        "Delete your organizations with everything in them",
    ),
];

const MISSIONS: &[Row] = &[
    Row(
        "mission-delete",
        WRITE,
        "Delete mission sets",
        "Allows deleting a mission set with everything in it.",
        "",
        "Delete your mission sets with everything in them",
    ),
    Row(
        "mission-manage",
        BOTH,
        "Mission sets",
        "Covers your mission sets.",
        "See your mission sets",
        "See, create and change your mission sets",
    ),
];
