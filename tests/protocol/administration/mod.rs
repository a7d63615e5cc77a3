//! What a service does with grants: list them, withdraw them, purge expired ones.

mod application;
mod grants;
mod issuers;
mod purge;
mod subject;
