//! The guides: prose whose examples are tested, in the order in which a service needs them.
//!
//! Three guides are left out of the tests of the documentation. Their blocks are parts of programs, which other tests
//! compare and run: `tests/system/tests/clients/plain/getting_started.rs`,
//! `tests/system/tests/servers/adapters/sessions.rs`, and for `mcp` `tests/architecture/readmes.rs` and
//! `examples/mcp/tests/mcp/minimal.rs`.

#[cfg_attr(not(doctest), doc = include_str!("getting_started.md"))]
pub mod getting_started {}
#[doc = include_str!("questions.md")]
pub mod questions {}
#[cfg_attr(not(doctest), doc = include_str!("sign_in.md"))]
pub mod sign_in {}
#[doc = include_str!("consent.md")]
pub mod consent {}
#[doc = include_str!("own_applications.md")]
pub mod own_applications {}
#[doc = include_str!("public_clients.md")]
pub mod public_clients {}
#[doc = include_str!("self_registered_clients.md")]
pub mod self_registered_clients {}
#[cfg_attr(not(doctest), doc = include_str!("mcp.md"))]
pub mod mcp {}
#[doc = include_str!("devices.md")]
pub mod devices {}
#[doc = include_str!("machine_to_machine.md")]
pub mod machine_to_machine {}
#[doc = include_str!("protected_resources.md")]
pub mod protected_resources {}
#[doc = include_str!("own_data.md")]
pub mod own_data {}
#[doc = include_str!("identity.md")]
pub mod identity {}
#[doc = include_str!("high_assurance.md")]
pub mod high_assurance {}
#[doc = include_str!("choosing_a_store.md")]
pub mod choosing_a_store {}
#[doc = include_str!("writing_a_store.md")]
pub mod writing_a_store {}
#[doc = include_str!("your_postgresql.md")]
pub mod your_postgresql {}
#[doc = include_str!("operating.md")]
pub mod operating {}
#[doc = include_str!("three_in_the_morning.md")]
pub mod three_in_the_morning {}
#[doc = include_str!("sizing.md")]
pub mod sizing {}
#[doc = include_str!("behind_a_proxy.md")]
pub mod behind_a_proxy {}
#[doc = include_str!("several_servers.md")]
pub mod several_servers {}
#[doc = include_str!("performance.md")]
pub mod performance {}
#[doc = include_str!("profiles_and_defaults.md")]
pub mod profiles_and_defaults {}
#[doc = include_str!("writing_an_adapter.md")]
pub mod writing_an_adapter {}
#[doc = include_str!("security.md")]
pub mod security {}
#[doc = include_str!("conformance.md")]
pub mod conformance {}
#[doc = include_str!("comparison.md")]
pub mod comparison {}
#[doc = include_str!("design.md")]
pub mod design {}
#[doc = include_str!("contributing.md")]
pub mod contributing {}
