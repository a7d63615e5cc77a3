// jose, as APIs use it: `createRemoteJWKSet` fetches and keeps the key set.
import { createRemoteJWKSet, jwtVerify } from 'jose';

const { issuer, audience, tokens } = JSON.parse(process.argv[2]);
const metadata = await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json();
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri), { cacheMaxAge: 300_000 });
const options = {
    issuer,
    audience,
    algorithms: ['ES256', 'RS256', 'EdDSA'],
    typ: 'at+jwt',
    requiredClaims: ['exp', 'sub', 'client_id', 'iat', 'jti'],
};

for (const token of tokens) {
    const verdict = await jwtVerify(token, keys, options).then(
        ({ payload }) => ({ claims: payload }),
        (error) => ({ refused: `${error}` }),
    );
    console.log(JSON.stringify(verdict));
}
