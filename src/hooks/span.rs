//! One `tracing` span for each request, with the feature `tracing`.

/// Runs a request in its span, so that log lines of stores and hooks can be attributed to it.
#[cfg(feature = "tracing")]
pub(crate) fn in_span<F: Future>(request: &'static str, future: F) -> impl Future<Output = F::Output> {
    use tracing::Instrument;

    future.instrument(tracing::info_span!(target: "grantor", "grantor", request))
}

/// Runs the request as it is: without the feature there are no spans.
#[cfg(not(feature = "tracing"))]
pub(crate) const fn in_span<F: Future>(_: &'static str, future: F) -> F {
    future
}
