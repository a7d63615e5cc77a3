// oauth4webapi 3: the same flow, where every step is the caller's work.
import * as oauth from 'oauth4webapi';
import { decide } from './browser.mjs';

const { issuer, client_id, client_secret, redirect_uri, scope } = JSON.parse(process.argv[2]);
const http = { [oauth.allowInsecureRequests]: true };
const client = { client_id };
const clientAuth = oauth.ClientSecretBasic(client_secret);
const discovered = await oauth.discoveryRequest(new URL(issuer), http);
const as = await oauth.processDiscoveryResponse(new URL(issuer), discovered);

const verifier = oauth.generateRandomCodeVerifier();
const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
const link = new URL(as.authorization_endpoint);
link.search = new URLSearchParams({
    client_id,
    response_type: 'code',
    redirect_uri,
    scope,
    state,
    nonce,
    max_age: '3600',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
});

async function exchanged(expectedNonce) {
    const callback = oauth.validateAuthResponse(as, client, await decide(link, 'allow'), state);
    const response = await oauth.authorizationCodeGrantRequest(as, client, clientAuth, callback, redirect_uri, verifier, http);
    const options = { expectedNonce, maxAge: 3600, requireIdToken: true };
    const answer = await oauth.processAuthorizationCodeResponse(as, client, response, options);
    await oauth.validateApplicationLevelSignature(as, response, http);
    return answer;
}

async function userinfo(token, subject) {
    const response = await oauth.userInfoRequest(as, client, token, http);
    return oauth.processUserInfoResponse(as, client, subject, response);
}

const first = await exchanged(nonce);
const claims = oauth.getValidatedIdTokenClaims(first);
const user = await userinfo(first.access_token, claims.sub);

const refreshed = await oauth.refreshTokenGrantRequest(as, client, clientAuth, first.refresh_token, http);
const second = await oauth.processRefreshTokenResponse(as, client, refreshed);
const again = oauth.getValidatedIdTokenClaims(second);
await userinfo(second.access_token, again.sub);

const wrong = await exchanged('another').catch((error) => error.code);

console.log(JSON.stringify({ claims, user, again, wrong }));
