//! Everything public may be shared between threads.

use std::collections::BTreeSet;
use std::fs;

use grantor::application::*;
use grantor::authorization::*;
use grantor::client::*;
use grantor::client_metadata::*;
use grantor::config::*;
use grantor::error::*;
use grantor::fetch::*;
use grantor::hooks::*;
use grantor::id::*;
use grantor::interaction::*;
use grantor::jose::*;
use grantor::protected_resource::*;
use grantor::redirect_uri::*;
use grantor::registration::*;
use grantor::resource::*;
use grantor::scope::*;
use grantor::secret::*;
use grantor::server::*;
use grantor::store::postgres::*;
use grantor::store::redis::*;
use grantor::store::sqlite::*;
use grantor::store::*;
use grantor::testing::*;
use grantor::text::*;
use grantor::wire::message::*;
use grantor::wire::*;
use grantor::*;

use crate::source;

/// Compiles only if every one of the types is `Send` and `Sync`, and keeps their names.
macro_rules! shared {
    ($($name:ty),* $(,)?) => {
        const _: () = { $(is_send_and_sync::<$name>();)* };
        const NAMES: &[&str] = &[$(stringify!($name)),*];
    };
}

const fn is_send_and_sync<T: ?Sized + Send + Sync>() {}

/// Engines and kinds of records are traits, not types: every implementation of them can be shared.
const fn every_engine_is_shared<E: Engine>() {
    is_send_and_sync::<E>();
}

const fn every_record_is_shared<R: Record>() {
    is_send_and_sync::<R>();
}

const _: () = (every_engine_is_shared::<SqliteStore>(), every_record_is_shared::<Grant>()).0;

shared! {
    ApplicationsPage<'static>,
    Browser,
    ConnectedApplication<'static>,
    ConsentPage<'static>,
    ConsentProblem,
    ErrorKind,
    ErrorLink<'static>,
    ErrorPage<'static>,
    Flow,
    dyn Pages,
    ReturnTo,
    Reviewed,
    Route,
    SignIn,
    SignInHints,
    SignedIn,
    Step,
    Visitor<'static>,
    AccessToken,
    AccessTokenFormat,
    AccessTokenRevocation,
    Application,
    AskConsent,
    MustAsk,
    ApplicationChange<'static>,
    ApplicationFilter,
    ApplicationForm,
    ApplicationType,
    Approval,
    ApproveWithin,
    Approved,
    AssertionAudience,
    Attempt<'static>,
    AttemptKind,
    Authenticated,
    AuthenticationMethod,
    AuthenticationMethods,
    Authorization,
    AuthorizationError,
    AuthorizationErrors,
    ConsentTicket,
    AuthorizationId,
    AuthorizationServer,
    BasicDecoding,
    Body<'static>,
    DpopBoundTokens,
    Builder,
    CachedClients<MemoryStore>,
    CheckedForm,
    Client,
    ClientBuilder,
    ClientId,
    ClientKeys,
    dyn RecordStore<Application>,
    ClientInformationResponse,
    ClientKeys,
    ClientMetadata,
    ClientOrigin,
    ClientPlace,
    ClientSecret,
    ClientSecretError,
    ClientState,
    dyn ClientStore,
    ClientType,
    dyn Clock,
    CodeChallenge,
    dyn RecordStore<Authorization>,
    CodeVerifier,
    Columns,
    Config,
    Confirmation,
    ConfigError,
    Consent,
    Cors,
    Credential,
    Decision,
    DecodeError,
    DerivationKey,
    DocumentError,
    DocumentHosts,
    DocumentRequest<'static>,
    Ended,
    Endpoint,
    dyn Entropy,
    ErrorCode,
    ErrorResponse,
    Event<'static>,
    dyn EventSink,
    ExchangeRedirectUri,
    ExpectedAudience,
    FetchError,
    FetchErrorKind,
    FetchPurpose,
    FetchRequest<'static>,
    FetchResponse,
    dyn Fetcher,
    Field,
    FieldError,
    Finding,
    UserClaims,
    UserContext<'static>,
    Email,
    PhoneNumber,
    Address,
    ProfileError,
    UserProfile,
    Identity,
    RefreshSettings,
    GraceEnd,
    Grant,
    GrantId,
    GrantType,
    GrantTypes,
    Hosts,
    InitialAccessToken,
    InitialAccessTokenTerms,
    Insertion,
    IntrospectionError,
    IntrospectionResponse,
    IntrospectionSettings,
    JwkError,
    JwkSet,
    JwkSetError,
    JwkThumbprint,
    JwtSettings,
    JwtVerifier,
    KeySetError,
    LastPurge,
    List,
    Logo,
    LogoSlot,
    ApplicationLogo,
    InitialToken,
    Lists,
    LogoId,
    LookAlikeKey,
    ClientCredentialsToken,
    MadeInitialAccessToken,
    ManualClock,
    MemoryStore,
    MemoryThrottle,
    Metadata,
    MetadataError,
    MoreMetadata,
    Reduction,
    NonceKey,
    OwnClient,
    SelfRegistration,
    RegistrationSettings,
    Page<ClientId>,
    PendingAuthorization,
    Permission,
    Permissions,
    PkceRequirement,
    PostgresConnection,
    dyn PostgresConnector,
    PostgresError,
    PostgresOptions,
    PostgresProblem,
    PostgresStore,
    PresentedSecret,
    Privileges,
    Problem,
    Profile,
    ProtectedResource,
    Purge,
    PurgeError,
    dyn RecordStore<LastPurge>,
    PushedAuthorizationResponse,
    PushedRequest,
    DeviceAuthorizationResponse,
    DeviceConsent,
    DeviceOutcome,
    DevicePage<'static>,
    DeviceRequest,
    DeviceSettings,
    TypedUserCode<'static>,
    UserCodeFormat,
    UserCodeKey,
    UserCodeProblem,
    UserCodeRecord,
    dyn RecordStore<DeviceRequest>,
    dyn RecordStore<UserCodeRecord>,
    PushedRequestId,
    dyn RecordStore<PushedRequest>,
    QueueAll,
    Rate,
    Reason,
    RedirectStatus,
    RedirectUri,
    LoopbackHttp,
    PrivateUseSchemes,
    RedirectUriComparison,
    RedirectUriError,
    RedirectUriPolicy,
    RedisError,
    RedisOptions,
    RedisProblem,
    RedisStore,
    RefreshRotation,
    RefreshToken,
    RegisteredRedirectUri,
    Registrar,
    RegistrarError,
    RegistrationAccessToken,
    RegistrationBounds,
    RegistrationDecision,
    RegistrationLimits,
    dyn RegistrationPolicy,
    RegistrationRequest<'static>,
    Replacement,
    Replay,
    dyn RecordStore<Replay>,
    Request<'static>,
    RequestedScope<'static>,
    Resource<'static>,
    ResourceClient,
    ResourceError,
    ResourceList,
    ResourceMetadata,
    ResourceScope,
    ResourceScopeError,
    ResourceServer,
    Response,
    Revocation,
    RevocationReason,
    Row,
    Scope<'static>,
    ScopeCatalog,
    ScopeCatalogBuilder,
    ScopeCatalogError,
    ScopeDefinition,
    IdentityScope,
    ScopeError,
    ScopeNotation,
    ScopeSet,
    SecurityReport,
    Severity,
    dyn Signer,
    SignerError,
    SigningKey,
    SigningKeyError,
    SeededEntropy,
    Settled<MemoryStore, fn(MemoryStore) -> std::future::Ready<()>>,
    SigningAlgorithm,
    SqliteError,
    SqliteOptions,
    SqliteProblem,
    SqliteStore,
    StateCharacters,
    SupersededTokenRevocation,
    StoreError,
    Stores,
    Subject,
    dyn Subjects,
    SubjectStatus,
    dyn Claims,
    ClaimsError,
    TokenContext<'static>,
    GrantData,
    DataChange,
    DecidingUser<'static>,
    NextStep,
    NotReady,
    SystemClock,
    SystemEntropy,
    Table,
    TextError,
    TextFault,
    dyn Throttle,
    ThrottleDecision,
    ThrottleLimits,
    Timestamp,
    ValueError,
    TokenRefusal,
    TokenResponse,
    dyn RecordStore<Grant>,
    dyn CodeStore,
    dyn Store,
    dyn TokenStore,
    TokenType,
    TracingEvents,
    dyn Transport,
    TransportRequest<'static>,
    AskingDevice,
    AuthorizationSettings,
    ClientAuthenticationSettings,
    ClientCredentialsSettings,
    DpopSettings,
    DynamicRegistration,
    ExcessScopes,
    Limits,
    PushedRequestSettings,
    PushedRequests,
    RevocationSettings,
    TokenSettings,
    Extension,
    Write,
}

/// C-SEND-SYNC of the API guidelines.
#[test]
fn every_public_type_is_in_the_list_of_those_that_threads_share() {
    let bare = |name: &str| name.trim_start_matches("dyn ").split('<').next().unwrap_or_default().trim().to_owned();
    let listed: BTreeSet<_> = NAMES.iter().chain(&["Engine", "Record", "Sealed"]).map(|name| bare(name)).collect();
    let mut public = BTreeSet::new();
    for file in source::files_below(&crate::root().join("src")) {
        let tokens = source::tokens(&fs::read_to_string(file).unwrap());
        for three in tokens.windows(3) {
            let is_type = three[0] == "pub" && matches!(three[1].as_str(), "struct" | "enum" | "union" | "trait");
            // `$name` is a secret text, made by a macro.
            if is_type && three[2] != "$" {
                public.insert(three[2].clone());
            }
        }
    }
    let missing: Vec<_> = public.difference(&listed).collect();
    assert!(public.len() > 100 && missing.is_empty(), "public types without a check: {missing:?}");
}

/// Read in a `match`, or the cause of another error: no public function returns one of these.
const KINDS_AND_CAUSES: [&str; 12] = [
    "DocumentError",
    "FetchErrorKind",
    "JwkError",
    "MetadataError",
    "MustAsk",
    "PostgresProblem",
    "Problem",
    "Reason",
    "RedisProblem",
    "SqliteProblem",
    "TextError",
    "TextFault",
];

/// A program whose `main` returns an error prints it with `Debug`.
#[test]
fn every_error_that_a_function_returns_prints_its_text_in_debug() {
    let mut errors = BTreeSet::new();
    let mut printed = BTreeSet::new();
    for file in source::files_below(&crate::root().join("src")) {
        let tokens = source::tokens(&fs::read_to_string(file).unwrap());
        let mut is_error = false;
        for (place, five) in tokens.windows(5).enumerate() {
            match [&*five[0], &*five[1], &*five[2], &*five[3], &*five[4]] {
                ["debug_as_text", "!", "(", name, ")"] => _ = printed.insert(name.to_owned()),
                [.., "Error", "for"] => errors.extend(tokens.get(place + 5).cloned()),
                ["derive", "(", ..] => {
                    let derived = tokens[place..].iter().take_while(|token| *token != ")");
                    is_error = derived.into_iter().any(|token| token == "Error");
                }
                ["pub", "struct" | "enum", name, ..] if is_error => _ = errors.insert(name.to_owned()),
                ["struct" | "enum", ..] => is_error = false,
                _ => {}
            }
        }
    }
    assert!(errors.len() > 30, "{errors:?}");
    let other: Vec<_> = errors.difference(&printed).collect();
    assert_eq!(other, KINDS_AND_CAUSES, "errors that do not print their text");
}
