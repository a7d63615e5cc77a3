//! What a store on a server needs beside it, whatever executor polls the tests.

use std::env;
use std::sync::LazyLock;

use tokio::runtime::Runtime;

const VARIABLE: &str = "GRANTOR_TEST_SERVER";

/// Drives the connections of all stores, as long as the process lives.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap());

/// The server that was named.
pub(crate) fn server() -> String {
    env::var(VARIABLE).unwrap_or_else(|error| panic!("{VARIABLE} must name a server: {error}"))
}

/// Runs what needs a runtime, or makes something that does.
pub(crate) async fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    RUNTIME.spawn(future).await.unwrap()
}
