//! The platform's 26 scopes.

use crate::scope::Permissions;
use crate::scope::definition::{ScopeDefinition, Words};

/// The scopes of the service, in the order of its table.
pub(super) static SCOPES: [ScopeDefinition; 26] = [
    ScopeDefinition::fixed(
        "repo-code",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Code",
            description: "Covers the code in your repositories, through Git commands.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-pr",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Pull requests",
            description: "Covers pull requests in your repositories.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-issue",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: REPOSITORIES, title: "Issues", description: "Covers issues in your repositories." },
    ),
    ScopeDefinition::fixed(
        "repo-notes",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: REPOSITORIES, title: "Comments", description: "Covers comments on issues and pull requests." },
    ),
    ScopeDefinition::fixed(
        "repo-release",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: REPOSITORIES, title: "Releases", description: "Covers tags and releases of your repositories." },
    ),
    ScopeDefinition::fixed(
        "repo-commit-status",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Commit status",
            description: "Covers pipeline status, badges and metadata of commits.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-platform-trigger",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Cloud builds",
            description: "Covers looking up, triggering and running cloud-native builds and development.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-platform-history",
        Permissions::ReadOnly,
        Words { group: REPOSITORIES, title: "Build history", description: "Covers the history of pipeline builds." },
    ),
    ScopeDefinition::fixed(
        "repo-platform-detail",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Development spaces",
            description: "Covers looking up or deleting cloud-native development spaces.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-basic-info",
        Permissions::ReadOnly,
        Words {
            group: REPOSITORIES,
            title: "Basic information",
            description: "Covers the name, description, language, license and similar facts of your repositories.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-manage",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REPOSITORIES,
            title: "Members and settings",
            description: "Covers members and settings of your repositories.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-delete",
        Permissions::ReadWriteOnly,
        Words {
            group: REPOSITORIES,
            title: "Delete repositories",
            description: "Allows deleting a repository with everything in it.",
        },
    ),
    ScopeDefinition::fixed(
        "repo-security",
        Permissions::ReadOnly,
        Words {
            group: REPOSITORIES,
            title: "Security findings",
            description: "Covers what the security module reports about your repositories.",
        },
    ),
    ScopeDefinition::fixed(
        "registry-package",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: REGISTRIES, title: "Artifacts", description: "Covers artifacts in your registries." },
    ),
    ScopeDefinition::fixed(
        "registry-package-delete",
        Permissions::ReadWriteOnly,
        Words {
            group: REGISTRIES,
            title: "Delete artifacts",
            description: "Allows deleting artifacts from your registries.",
        },
    ),
    ScopeDefinition::fixed(
        "registry-security",
        Permissions::ReadOnly,
        Words {
            group: REGISTRIES,
            title: "Package security",
            description: "Covers security, license and component list (SBOM) data of packages.",
        },
    ),
    ScopeDefinition::fixed(
        "registry-manage",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: REGISTRIES,
            title: "Members and settings",
            description: "Covers members and settings of your artifact registries.",
        },
    ),
    ScopeDefinition::fixed(
        "registry-delete",
        Permissions::ReadWriteOnly,
        Words {
            group: REGISTRIES,
            title: "Delete registries",
            description: "Allows deleting an artifact registry with everything in it.",
        },
    ),
    ScopeDefinition::fixed(
        "account-profile",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: ACCOUNT, title: "Profile", description: "Covers your user profile." },
    ),
    ScopeDefinition::fixed(
        "account-email",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: ACCOUNT, title: "E-mail address", description: "Covers your verified e-mail address." },
    ),
    ScopeDefinition::fixed(
        "account-engage",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: ACCOUNT,
            title: "Activity",
            description: "Covers followed repositories, your followers, development environments and similar items.",
        },
    ),
    ScopeDefinition::fixed(
        "group-resource",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: ORGANIZATIONS,
            title: "Contents",
            description: "Covers sub-organizations and repositories of your organizations.",
        },
    ),
    ScopeDefinition::fixed(
        "group-manage",
        Permissions::ReadOnlyOrReadWrite,
        Words {
            group: ORGANIZATIONS,
            title: "Members and settings",
            description: "Covers members, repository wall and settings of your organizations.",
        },
    ),
    ScopeDefinition::fixed(
        "group-delete",
        Permissions::ReadWriteOnly,
        Words {
            group: ORGANIZATIONS,
            title: "Delete organizations",
            description: "Allows deleting an organization with everything in it.",
        },
    ),
    ScopeDefinition::fixed(
        "mission-delete",
        Permissions::ReadWriteOnly,
        Words {
            group: MISSIONS,
            title: "Delete mission sets",
            description: "Allows deleting a mission set with everything in it.",
        },
    ),
    ScopeDefinition::fixed(
        "mission-manage",
        Permissions::ReadOnlyOrReadWrite,
        Words { group: MISSIONS, title: "Mission sets", description: "Covers your mission sets." },
    ),
];

const REPOSITORIES: &str = "Repositories";
const REGISTRIES: &str = "Artifact registries";
const ACCOUNT: &str = "Account";
const ORGANIZATIONS: &str = "Organizations";
const MISSIONS: &str = "Mission sets";
