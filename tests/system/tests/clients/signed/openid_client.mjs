// openid-client 6: pushed request, private_key_jwt, DPoP, refresh, resource, revocation, client credentials.
import * as client from 'openid-client';
import { counting, decide, job } from './browser.mjs';

const { issuer, client_id, key, redirect_uri, resource_url, scope } = await job();
const seen = counting();
const config = await client.discovery(new URL(issuer), client_id, {}, client.PrivateKeyJwt(key), { algorithm: 'oauth2' });
const DPoP = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));

const pkceCodeVerifier = client.randomPKCECodeVerifier();
const expectedState = client.randomState();
const link = await client.buildAuthorizationUrlWithPAR(
    config,
    {
        redirect_uri,
        scope,
        state: expectedState,
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
    },
    { DPoP },
);
const pushed = [...link.searchParams.keys()].sort();
const callback = await decide(link, 'allow');
const first = await client.authorizationCodeGrant(config, callback, { pkceCodeVerifier, expectedState }, undefined, { DPoP });
const me = await read(first.access_token, { DPoP });

const second = await client.refreshTokenGrant(config, first.refresh_token, {}, { DPoP });
const again = await read(second.access_token, { DPoP });
const earlier = await read(first.access_token, { DPoP });

const another = client.getDPoPHandle(config, await client.randomDPoPKeyPair('ES256'));
const stolen = await read(first.access_token, { DPoP: another }).catch((error) => error.cause?.[0]?.parameters?.error ?? `${error}`);
const own = await client.clientCredentialsGrant(config, { scope }, { DPoP });
const application = await read(own.access_token, { DPoP });
await client.tokenRevocation(config, second.refresh_token);
const ended = await client.refreshTokenGrant(config, second.refresh_token, {}, { DPoP }).catch((error) => error.error);

async function read(token, options) {
    const answer = await client.fetchProtectedResource(config, token, new URL(resource_url), 'GET', null, undefined, options);
    return answer.json();
}

console.log(
    JSON.stringify({
        pushed,
        token_type: first.token_type,
        user: [me.user, again.user, earlier.user],
        kept: first.refresh_token === second.refresh_token,
        stolen,
        application: application.application,
        ended,
        nonces: seen.nonces,
    }),
);
