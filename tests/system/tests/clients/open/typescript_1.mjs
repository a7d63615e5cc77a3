// What differs for the drivers in the TypeScript SDK, major version 1.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';

// With this SDK, the host itself asks for refresh tokens.
const metadata = { grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] };
const options = () => ({});
const finish = (transport, parameters) => transport.finishAuth(parameters.get('code'));
const revision = (_client, transport) => transport.protocolVersion;

export { Client, Transport, UnauthorizedError, finish, metadata, options, revision };
