// openid-client 6 on a device without a browser: both codes, polls, refresh.
import * as client from 'openid-client';

const job = JSON.parse(process.argv[2]);
const authentication = job.client_secret ? client.ClientSecretBasic(job.client_secret) : client.None();
const config = await client.discovery(new URL(job.issuer), job.client_id, {}, authentication, {
    algorithm: 'oauth2',
    execute: [client.allowInsecureRequests],
});
const asked = await client.initiateDeviceAuthorization(config, { scope: job.scope });
config[client.customFetch] = async (url, options) => {
    const answer = await fetch(url, options);
    const { error } = await answer.clone().json();
    if (error) say({ error });
    return answer;
};
say({ verification_uri: asked.verification_uri, user_code: asked.user_code });
if (job.interval) asked.interval = job.interval;
try {
    const first = await client.pollDeviceAuthorizationGrant(config, asked);
    const user = [await read(first)];
    const second = await client.refreshTokenGrant(config, first.refresh_token);
    user.push(await read(second));
    const is_new = first.access_token !== second.access_token;
    say({ result: { token_type: first.token_type, user, is_new } });
} catch (error) {
    say({ result: { error: error.error ?? `${error}` } });
}

async function read(tokens) {
    const answer = await client.fetchProtectedResource(config, tokens.access_token, new URL(job.resource_url), 'GET');
    return (await answer.json()).user;
}

function say(line) {
    console.log(JSON.stringify(line));
}
