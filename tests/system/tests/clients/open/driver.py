"""Drives a client: one command a line on standard input, one line of JSON for each on standard output.

A line with `authorize` is a link for the browser of the user; the next line of the input is where that browser came
back.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qsl, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)

JOB = json.loads(sys.argv[1])
# After an error in the transport, some releases wait for a response forever.
PATIENCE = 15


def report(**value):
    print(json.dumps(value), flush=True)


async def next_line():
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def open_browser(link):
    report(authorize=link)


async def came_back():
    """Returns the parameters of the callback."""
    return dict(parse_qsl(urlsplit(await next_line()).query))


class Storage:
    """The state that the host stores."""

    client = tokens = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


STORAGE = Storage()


def provider(callback):
    """The SDK's provider, as a host sets it up."""
    if JOB.get("client"):
        STORAGE.client = OAuthClientInformationFull.model_validate(JOB["client"])
    method = {"token_endpoint_auth_method": JOB["method"]} if JOB.get("method") else {}
    auth = OAuthClientProvider(
        server_url=JOB["server"],
        client_metadata=OAuthClientMetadata(client_name=JOB["name"], redirect_uris=[JOB["redirect_uri"]], **method),
        storage=STORAGE,
        redirect_handler=open_browser,
        callback_handler=callback,
        client_metadata_url=JOB.get("document"),
    )
    if JOB.get("kept"):
        restore(auth.context, JOB["kept"])
    return auth


def restore(context, kept):
    """Restores what the SDK does not store: the expiry of a token, and metadata."""
    STORAGE.client = OAuthClientInformationFull.model_validate(kept["client"])
    STORAGE.tokens = OAuthToken.model_validate(kept["tokens"])
    context.oauth_metadata = OAuthMetadata.model_validate(kept["metadata"])
    context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(kept["resource"])
    context.token_expiry_time = 1.0


def kept(context):
    """Returns the state that `restore` reads, for another process."""
    values = {
        "client": STORAGE.client,
        "tokens": STORAGE.tokens,
        "metadata": context.oauth_metadata,
        "resource": context.protected_resource_metadata,
    }
    return {name: value.model_dump(mode="json", exclude_none=True) for name, value in values.items()}


def in_words(error):
    """Returns the innermost errors of a group."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(in_words(inner) for inner in error.exceptions)
    return f"{type(error).__name__}: {error}"


async def answer(auth, connected, verb, name):
    if verb == "kept":
        return {"kept": kept(auth.context)}
    async with asyncio.timeout(PATIENCE), connected() as (session, revision):
        if verb == "connect":
            tools = (await session.list_tools()).tools
            return {"tools": [tool.name for tool in tools], "revision": revision}
        result = await session.call_tool(name, {"note": "bread"})
        return {"text": " ".join(part.text for part in result.content)}


async def drive(auth, connected):
    """`connected` opens a session, and returns it with its revision, at each call."""
    while line := await next_line():
        verb, _, name = line.partition(" ")
        try:
            report(ok=True, **await answer(auth, connected, verb, name))
        except (Exception, asyncio.CancelledError) as error:
            report(ok=False, error=in_words(error))
