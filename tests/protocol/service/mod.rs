//! The described service, in the order of its sections.

mod application;
mod endpoints;
