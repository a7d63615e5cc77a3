"""The Python SDK, major version 2."""

import asyncio
from contextlib import asynccontextmanager

import httpx2
from driver import JOB, came_back, drive, provider
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult
from mcp.client.streamable_http import streamable_http_client


async def callback():
    parameters = await came_back()
    return AuthorizationCodeResult(**{name: parameters.get(name) for name in ("code", "state", "iss")})


AUTH = provider(callback)


@asynccontextmanager
async def connected():
    async with httpx2.AsyncClient(auth=AUTH, follow_redirects=True, timeout=10) as http_client:
        transport = streamable_http_client(JOB["server"], http_client=http_client)
        async with Client(transport, mode="auto" if JOB.get("modern") else "legacy") as client:
            yield client, client.protocol_version


asyncio.run(drive(AUTH, connected))
