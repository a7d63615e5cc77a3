// The client of the Model Context Protocol, with DPoP: it registers itself, and its tokens are bound to a key.
import { DpopSession, UnauthorizedError, auth, withOAuth } from '@modelcontextprotocol/client';
import { counting, decide } from './browser.mjs';

const { issuer, redirect_uri, resource_url, scope } = JSON.parse(process.argv[2]);
const seen = counting();
const session = await DpopSession.create();
const kept = {};
const provider = {
    redirectUrl: redirect_uri,
    clientMetadata: { client_name: 'Notes', redirect_uris: [redirect_uri], token_endpoint_auth_method: 'none', scope },
    dpop: () => session,
    state: () => (kept.state ??= crypto.randomUUID()),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    codeVerifier: () => kept.verifier,
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    redirectToAuthorization: (url) => void (kept.link = url),
    invalidateCredentials: (scope) => void (kept.invalidated = scope),
};
const call = withOAuth(provider, issuer)(fetch);
const before = await call(resource_url).catch((error) => error instanceof UnauthorizedError);
const callback = await decide(kept.link, 'allow');
const parameters = callback.searchParams;
await auth(provider, { serverUrl: issuer, authorizationCode: parameters.get('code'), iss: parameters.get('iss') });
const first = kept.tokens;
const me = await (await call(resource_url)).json();

const refreshed = await auth(provider, { serverUrl: issuer });
const again = await (await call(resource_url)).json();
const bearer = await fetch(resource_url, { headers: { Authorization: `Bearer ${kept.tokens.access_token}` } });

console.log(
    JSON.stringify({
        before,
        token_type: first.token_type,
        user: [me.user, again.user],
        refreshed,
        is_new: first.access_token !== kept.tokens.access_token,
        bearer: bearer.status,
        invalidated: kept.invalidated ?? null,
        nonces: seen.nonces,
    }),
);
