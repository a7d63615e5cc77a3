// oidc-provider as an authorization server for one confidential client, with refresh tokens that rotate.
//
// Its own memory store keeps only 1000 entries, so a Map replaces it. No OpenID scope is granted, so there is no ID
// token to sign. Tokens are checked with its own AccessToken.find, in front of its routes.

import { Provider } from 'oidc-provider';

const [clientId, clientSecret, redirectUri, scope, chains] = process.argv.slice(2);

const records = new Map();

class MapAdapter {
  constructor(kind) {
    this.kind = kind;
  }

  key(id) {
    return `${this.kind}:${id}`;
  }

  async upsert(id, payload) {
    records.set(this.key(id), payload);
  }

  async find(id) {
    return records.get(this.key(id));
  }

  async consume(id) {
    records.get(this.key(id)).consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    records.delete(this.key(id));
  }

  async revokeByGrantId(grantId) {
    for (const [key, payload] of records) {
      if (payload.grantId === grantId) records.delete(key);
    }
  }
}

const provider = new Provider('http://127.0.0.1', {
  adapter: MapAdapter,
  clients: [{
    client_id: clientId,
    client_secret: clientSecret,
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [redirectUri],
  }],
  cookies: { keys: ['of no use here'] },
  features: { devInteractions: { enabled: false } },
  findAccount: async (ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
  issueRefreshToken: async (ctx, client) => client.grantTypeAllowed('refresh_token'),
  rotateRefreshToken: true,
  scopes: scope.split(' '),
  ttl: { AccessToken: 8 * 3600, Grant: 180 * 86400, RefreshToken: 180 * 86400 },
});

provider.use(async (ctx, next) => {
  if (ctx.path !== '/api/me') return next();
  const [scheme, value] = (ctx.get('authorization')).split(' ');
  const token = scheme === 'Bearer' ? await provider.AccessToken.find(value) : undefined;
  if (!token?.isValid || !token.scopes.has('account-profile:r')) {
    ctx.status = 401;
    return undefined;
  }
  ctx.body = { user: token.accountId, scope: token.scope };
  return undefined;
});

const client = await provider.Client.find(clientId);
const tokens = [];
for (let number = 0; number < Number(chains); number += 1) {
  const accountId = `user-${String(number).padStart(8, '0')}`;
  const grant = new provider.Grant({ clientId, accountId });
  grant.addOIDCScope(scope);
  const grantId = await grant.save();
  const common = { accountId, client, grantId, gty: 'authorization_code', scope };
  const access = await new provider.AccessToken(common).save();
  const refresh = await new provider.RefreshToken(common).save();
  tokens.push({ access, refresh });
}

const basic = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
const server = provider.listen(0, '127.0.0.1', () => {
  const address = `127.0.0.1:${server.address().port}`;
  console.log(JSON.stringify({
    address, token_path: '/token', client_id: clientId, basic, tokens,
  }));
});
process.stdin.on('end', () => process.exit()).resume();
