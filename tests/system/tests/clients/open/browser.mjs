// A client in a page of another origin: it connects, leaves the page to sign in, returns, and continues.
import { Provider } from './provider.mjs';
import { Client, Transport, UnauthorizedError, finish, options } from './sdk.mjs';

// State that survives a page load.
const kept = new Proxy(sessionStorage, {
    get: (storage, name) => JSON.parse(storage.getItem(name) ?? 'null') ?? undefined,
    set: (storage, name, value) => {
        if (value === undefined) storage.removeItem(name);
        else storage.setItem(name, JSON.stringify(value));
        return true;
    },
});
const here = new URL(location.href);
kept.server ??= here.searchParams.get('server');
const job = { server: kept.server, redirect_uri: `${here.origin}/`, name: 'Judge in a page', method: 'none' };
const provider = new Provider(job, kept);
const show = (text) => document.body.appendChild(document.createElement('p')).append(text);

async function run() {
    const makeTransport = () => new Transport(new URL(job.server), { authProvider: provider });
    if (here.searchParams.has('code')) await finish(makeTransport(), provider.returned(here.href));
    const client = new Client({ name: job.name, version: '1.0.0' }, options(false));
    try {
        await client.connect(makeTransport());
    } catch (error) {
        if (!(error instanceof UnauthorizedError) || !provider.link) throw error;
        location.assign(provider.link);
        return;
    }
    const { tools } = await client.listTools();
    const result = await client.callTool({ name: tools[0].name, arguments: {} });
    show(`called ${tools[0].name}: ${result.content.map((part) => part.text).join(' ')}`);
}

run().catch((error) => show(`failed: ${error.name}: ${error.message}`));
