//! What is known of every request from outside: its span, and the figures of the feature `metrics`.

/// An answer, as spans and figures show it.
#[cfg(any(feature = "tracing", feature = "metrics"))]
pub(crate) trait Answered {
    /// Returns the status of the response.
    fn status(&self) -> u16;
}

#[cfg(any(feature = "tracing", feature = "metrics"))]
impl Answered for crate::wire::Response {
    fn status(&self) -> u16 {
        self.status()
    }
}

/// Answers a request in its span, so that log lines of stores and hooks can be attributed to it, and measures it. The
/// span gets the status, and the client once it is known.
#[cfg(feature = "tracing")]
pub(crate) async fn observed<T: Answered>(request: &'static str, answer: impl Future<Output = T>) -> T {
    use tracing::Instrument;
    use tracing::field::Empty;

    let begun = crate::base::measure::Stopwatch::start();
    let span = tracing::info_span!(target: TARGET, "grantor", request, client = Empty, status = Empty);
    let answer = answer.instrument(span.clone()).await;
    span.record("status", answer.status());
    crate::base::measure::request(begun, request, answer.status());
    answer
}

/// Measures a request.
#[cfg(all(feature = "metrics", not(feature = "tracing")))]
pub(crate) async fn observed<T: Answered>(request: &'static str, answer: impl Future<Output = T>) -> T {
    let begun = crate::base::measure::Stopwatch::start();
    let answer = answer.await;
    crate::base::measure::request(begun, request, answer.status());
    answer
}

/// Answers the request as it is: without the features nothing is observed.
#[cfg(not(any(feature = "tracing", feature = "metrics")))]
pub(crate) const fn observed<F: Future>(_: &'static str, answer: F) -> F {
    answer
}

#[cfg(feature = "tracing")]
const TARGET: &str = "grantor";

/// Notes in the span of the request which client it comes from.
#[cfg(feature = "tracing")]
pub(crate) fn note_client(client: &crate::base::id::ClientId) {
    let span = tracing::Span::current();
    // If the span of the request is filtered out, this is one of your service.
    if span.metadata().is_some_and(|own| own.target() == TARGET) {
        span.record("client", client.as_str());
    }
}

/// Notes nothing: without the feature there are no spans.
#[cfg(not(feature = "tracing"))]
pub(crate) const fn note_client(_: &crate::base::id::ClientId) {}

/// Makes a call of a store in a span of its own, at the level debug, which gets the outcome.
#[cfg(feature = "tracing")]
pub(crate) async fn in_store_span<T, E>(
    table: &'static str,
    call: &'static str,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    use tracing::Instrument;
    use tracing::field::Empty;

    let span = tracing::debug_span!(target: TARGET, "grantor.store", table, call, outcome = Empty);
    let answer = answer.instrument(span.clone()).await;
    span.record("outcome", if answer.is_ok() { "answered" } else { "failed" });
    answer
}

/// Makes the call as it is.
#[cfg(not(feature = "tracing"))]
pub(crate) const fn in_store_span<F: Future>(_: &'static str, _: &'static str, answer: F) -> F {
    answer
}
