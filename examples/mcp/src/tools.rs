//! The MCP server: two tools. One of them needs more scopes than a client asks for first.

use std::sync::Arc;

use axum::http::request::Parts;
use grantor::Authenticated;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;

use crate::guard::Guard;

/// A tool, and the scopes that a token needs to call it.
pub(crate) struct ProtectedTool {
    pub(crate) name: &'static str,
    description: &'static str,
    /// Its argument, if it has one.
    argument: Option<&'static str>,
    pub(crate) scopes: &'static [&'static str],
}

/// The tools.
pub(crate) const TOOLS: [ProtectedTool; 2] = [
    ProtectedTool { name: "list_notes", description: "Lists the notes.", argument: None, scopes: &["notes:r"] },
    ProtectedTool {
        name: "publish_note",
        description: "Shows a note to everybody.",
        argument: Some("note"),
        scopes: &["notes:rw", "publish"],
    },
];

/// The MCP server's handler.
#[derive(Clone, Debug)]
pub(crate) struct Notes {
    guard: Guard,
}

impl Notes {
    pub(crate) const fn new(guard: Guard) -> Self {
        Self { guard }
    }

    /// The token of the request, if it covers this tool. The guard has checked it already, but the guard and `rmcp`
    /// might read a message differently.
    fn token<'c>(&self, tool: &str, context: &'c RequestContext<RoleServer>) -> Result<&'c Authenticated, ErrorData> {
        let token = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Authenticated>());
        let token = token.ok_or_else(|| ErrorData::internal_error("the request passed no guard", None))?;
        let needed = self.guard.needed(tool).ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
        let covered = self.guard.resource().require_scopes(token, needed);
        covered.map_err(|_| ErrorData::invalid_request("the access token does not cover this tool", None))?;
        Ok(token)
    }
}

impl ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("notes", env!("CARGO_PKG_VERSION")))
            .with_instructions("The notes of the user who authorized the client.")
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(ProtectedTool::describe).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let token = self.token(&request.name, &context)?;
        let user = token.subject().map_or("no user", |subject| subject.as_str());
        let note = request.arguments.as_ref().and_then(|arguments| arguments.get("note")?.as_str());
        let text = match (&*request.name, note) {
            ("list_notes", _) => format!("Notes of {user}: milk, bread, a present for Bob"),
            ("publish_note", Some(note)) => format!("Published by {user}: {note}"),
            ("publish_note", None) => return Err(ErrorData::invalid_params("the argument note is missing", None)),
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

impl ProtectedTool {
    fn describe(&self) -> Tool {
        let properties: JsonObject =
            self.argument.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" }))).collect();
        let required: Vec<_> = self.argument.iter().copied().collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(self.name, self.description, Arc::new(schema))
    }
}
