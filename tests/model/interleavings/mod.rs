//! Every order in which two requests can meet, and many in which three and more can.
//!
//! A scheduler decides before each call of the store which request continues. Two requests meet in every possible
//! order: about a hundred where the other only reads, and up to 19,158 beside a withdrawal. By default, a scene with
//! more than 150 orders runs the first 150 and 150 random ones, the same in each run. `GRANTOR_SCHEDULES=all` runs
//! every order; `.ci/run` sets it. Refreshes of one token meet over a store whose reads are settled, and over one where
//! reads are confirmed first. Calls to clients wait only where a client is changed. Larger scenes are run under random
//! schedules: 150 in which every choice is random, and 150 with priorities that change at random places. They are the
//! same in each run. `GRANTOR_SCHEDULES=100000` runs that many new ones, and `--nocapture` shows how many each scene
//! had. All scenes run over the memory store: its calls take effect at once, so only the order of calls is left to
//! explore. A schedule that fails is printed, to be run again.

mod codes;
mod devices;
mod explore;
mod many;
mod purge;
mod pushed;
mod refreshes;
