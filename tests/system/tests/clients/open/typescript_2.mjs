// What differs for the drivers in the TypeScript SDK, major version 2.
import { Client, StreamableHTTPClientTransport as Transport, UnauthorizedError } from '@modelcontextprotocol/client';

const metadata = {};
const options = (modern) => ({ versionNegotiation: { mode: modern ? 'auto' : 'legacy' } });
// The SDK compares `iss` with the issuer.
const finish = (transport, parameters) => transport.finishAuth(parameters);
const revision = (client) => client.getNegotiatedProtocolVersion();

export { Client, Transport, UnauthorizedError, finish, metadata, options, revision };
