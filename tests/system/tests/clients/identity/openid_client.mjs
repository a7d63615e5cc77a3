// openid-client 6: discovery, the code flow with nonce and max_age, userinfo, a refresh.
import * as client from 'openid-client';
import { decide } from './browser.mjs';

const { issuer, client_id, client_secret, redirect_uri, scope } = JSON.parse(process.argv[2]);
const options = { execute: [client.allowInsecureRequests] };
const config = await client.discovery(new URL(issuer), client_id, undefined, client.ClientSecretBasic(client_secret), options);
// Checks the signature too, which the library leaves out for a token that came over TLS.
client.enableNonRepudiationChecks(config);

const pkceCodeVerifier = client.randomPKCECodeVerifier();
const [expectedState, expectedNonce, maxAge] = [client.randomState(), client.randomNonce(), 3600];
const link = client.buildAuthorizationUrl(config, {
    redirect_uri,
    scope,
    state: expectedState,
    nonce: expectedNonce,
    max_age: `${maxAge}`,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
});
const checks = { pkceCodeVerifier, expectedState, expectedNonce, maxAge, idTokenExpected: true };
const first = await client.authorizationCodeGrant(config, await decide(link, 'allow'), checks);
const claims = first.claims();
const user = await client.fetchUserInfo(config, first.access_token, claims.sub);

const second = await client.refreshTokenGrant(config, first.refresh_token);
const again = second.claims();
await client.fetchUserInfo(config, second.access_token, again.sub);

const wrong = await client
    .authorizationCodeGrant(config, await decide(link, 'allow'), { ...checks, expectedNonce: 'another' })
    .catch((error) => error.code);

console.log(JSON.stringify({ claims, user, again, wrong }));
