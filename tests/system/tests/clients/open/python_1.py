"""The Python SDK, major version 1."""

import asyncio
from contextlib import asynccontextmanager

import httpx
from driver import JOB, came_back, drive, provider
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def callback():
    parameters = await came_back()
    return parameters["code"], parameters.get("state")


AUTH = provider(callback)


@asynccontextmanager
async def connected():
    async with (
        httpx.AsyncClient(auth=AUTH, follow_redirects=True, timeout=10) as http_client,
        streamable_http_client(JOB["server"], http_client=http_client) as (incoming, outgoing, *_),
        ClientSession(incoming, outgoing) as session,
    ):
        started = await session.initialize()
        yield session, started.protocolVersion


asyncio.run(drive(AUTH, connected))
