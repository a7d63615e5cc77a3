//! The check in front of the MCP server.
//!
//! `rmcp` answers every tool call with 200, but a client learns only from a 403 which scopes it lacks [RFC 6750 section
//! 3.1]. So the guard reads the message before `rmcp` does, and checks the scopes of the called tool.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::ORIGIN;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use grantor::scope::ScopeSet;
use grantor::{ConfigError, ResourceServer, wire};
use grantor_axum::{Refused, to_request};
use serde_json::Value;
use tokio::time::timeout;

use crate::origins::Origins;
use crate::tools::TOOLS;

/// The maximum size of a message in bytes: far more than a call of one of these tools needs.
pub(crate) const MESSAGE_BYTES: usize = 64 * 1024;
/// How long the body of a message may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The check of access tokens at the MCP server, with what each tool needs.
#[derive(Clone, Debug)]
pub(crate) struct Guard {
    resource: ResourceServer,
    origins: Origins,
    tools: Vec<(&'static str, ScopeSet)>,
}

impl Guard {
    /// Reads the scopes of the tools once, at the start.
    pub(crate) fn new(resource: ResourceServer, origins: Origins) -> Result<Self, ConfigError> {
        let needed = |scopes: &[&'static str]| resource.scopes(scopes.iter().copied());
        let tools = TOOLS.iter().map(|tool| Ok((tool.name, needed(tool.scopes)?)));
        let tools = tools.collect::<Result<Vec<_>, ConfigError>>()?;
        Ok(Self { resource, origins, tools })
    }

    /// The scopes that a tool needs; `None` if there is no such tool.
    pub(crate) fn needed(&self, tool: &str) -> Option<&ScopeSet> {
        self.tools.iter().find(|(name, _)| *name == tool).map(|(_, needed)| needed)
    }

    pub(crate) const fn resource(&self) -> &ResourceServer {
        &self.resource
    }
}

/// Requires an access token for the MCP server, and for a tool call the scopes of the tool. It puts the token in the
/// extensions of the request.
///
/// A request of a page whose origin is not allowed is refused with 403 [MCP, Transports], and one without a token
/// before its body is read.
pub(crate) async fn check(State(guard): State<Guard>, request: Request, next: Next) -> Result<Response, Refused> {
    let (mut parts, body) = request.into_parts();
    if !parts.headers.get_all(ORIGIN).iter().all(|origin| guard.origins.contain(origin)) {
        return Err(Refused(StatusCode::FORBIDDEN.into_response()));
    }
    let token = guard.resource.authenticate(&to_request(&parts, wire::Body::Empty)).await?;
    let Ok(body) = timeout(PATIENCE, to_bytes(body, MESSAGE_BYTES)).await else {
        return Err(Refused(StatusCode::REQUEST_TIMEOUT.into_response()));
    };
    let Ok(body) = body else { return Err(Refused(StatusCode::PAYLOAD_TOO_LARGE.into_response())) };
    if let Some(needed) = called_tool(&body).and_then(|tool| guard.needed(&tool)) {
        guard.resource.require_scopes(&token, needed)?;
    }
    parts.extensions.insert(token);
    Ok(next.run(Request::from_parts(parts, Body::from(body))).await)
}

/// The tool that a message calls, if it calls one.
fn called_tool(body: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(body).ok()?;
    let is_call = message.get("method")?.as_str()? == "tools/call";
    let name = message.get("params")?.get("name")?.as_str()?;
    is_call.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::called_tool;

    #[test]
    fn the_tool_is_read_from_the_message() {
        for (message, tool) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_notes"}}"#, Some("list_notes")),
            (r#"{"params":{"name":"list_notes"},"method":"tools/call"}"#, Some("list_notes")),
            (r#"{"method":"tools/list","params":{"name":"list_notes"}}"#, None),
            (r#"{"method":"tools/call","params":{"name":1}}"#, None),
            (r#"{"method":"tools/call"}"#, None),
            (r#"[{"method":"tools/call","params":{"name":"list_notes"}}]"#, None),
            ("", None),
            ("{", None),
        ] {
            assert_eq!(called_tool(message.as_bytes()).as_deref(), tool, "{message}");
        }
    }
}
