//! The whole server against a model of its description, and every order in which its requests can meet.

mod interleavings;
mod properties;
