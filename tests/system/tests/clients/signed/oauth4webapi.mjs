// oauth4webapi 3: the same flow, where every step and every nonce is the caller's work.
import * as oauth from 'oauth4webapi';
import { counting, decide, job } from './browser.mjs';

const { issuer, client_id, key, redirect_uri, resource_url, scope } = await job();
const seen = counting();
const client = { client_id };
const clientAuth = oauth.PrivateKeyJwt(key);
const discovered = await oauth.discoveryRequest(new URL(issuer), { algorithm: 'oauth2' });
const as = await oauth.processDiscoveryResponse(new URL(issuer), discovered);
const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));

// A demand for a nonce is tried again once, as the library's examples do.
async function withNonce(request, process) {
    try {
        return await process(await request());
    } catch (error) {
        if (!oauth.isDPoPNonceError(error)) throw error;
        return process(await request());
    }
}

const verifier = oauth.generateRandomCodeVerifier();
const state = oauth.generateRandomState();
const parameters = new URLSearchParams({
    response_type: 'code',
    redirect_uri,
    scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
});
const pushed = await withNonce(
    () => oauth.pushedAuthorizationRequest(as, client, clientAuth, parameters, { DPoP }),
    (answer) => oauth.processPushedAuthorizationResponse(as, client, answer),
);
const link = new URL(as.authorization_endpoint);
link.searchParams.set('client_id', client_id);
link.searchParams.set('request_uri', pushed.request_uri);

const callback = oauth.validateAuthResponse(as, client, await decide(link, 'allow'), state);
const first = await withNonce(
    () => oauth.authorizationCodeGrantRequest(as, client, clientAuth, callback, redirect_uri, verifier, { DPoP }),
    (answer) => oauth.processAuthorizationCodeResponse(as, client, answer),
);
const me = await read(first.access_token, { DPoP });

const second = await withNonce(
    () => oauth.refreshTokenGrantRequest(as, client, clientAuth, first.refresh_token, { DPoP }),
    (answer) => oauth.processRefreshTokenResponse(as, client, answer),
);
const again = await read(second.access_token, { DPoP });
const earlier = await read(first.access_token, { DPoP });

const another = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
const stolen = await read(first.access_token, { DPoP: another }).catch((error) => error.cause?.[0]?.parameters?.error ?? `${error}`);
const own = await withNonce(
    () => oauth.clientCredentialsGrantRequest(as, client, clientAuth, { scope }, { DPoP }),
    (answer) => oauth.processClientCredentialsResponse(as, client, answer),
);
const application = await read(own.access_token, { DPoP });
await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, clientAuth, second.refresh_token));
const ended = await withNonce(
    () => oauth.refreshTokenGrantRequest(as, client, clientAuth, second.refresh_token, { DPoP }),
    (answer) => oauth.processRefreshTokenResponse(as, client, answer),
).catch((error) => error.error);

async function read(token, options) {
    return withNonce(
        () => oauth.protectedResourceRequest(token, 'GET', new URL(resource_url), undefined, undefined, options),
        (answer) => answer.json(),
    );
}

console.log(
    JSON.stringify({
        pushed: [...link.searchParams.keys()].sort(),
        token_type: first.token_type,
        user: [me.user, again.user, earlier.user],
        kept: first.refresh_token === second.refresh_token,
        stolen,
        application: application.application,
        ended,
        nonces: seen.nonces,
    }),
);
