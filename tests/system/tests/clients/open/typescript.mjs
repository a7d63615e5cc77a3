// Drives a client: one command a line on standard input, one line of JSON for each on standard output. A line with
// `authorize` is a link for the browser of the user; the next line of the input is where that browser came back.
import { createInterface } from 'node:readline';
import { Provider } from './provider.mjs';
import { Client, Transport, UnauthorizedError, finish, options, revision } from './sdk.mjs';

const job = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const next = async () => (await lines.next()).value;
const report = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const provider = new Provider(job, {});
let client;
let transport;

async function open() {
    client = new Client({ name: job.name, version: '1.0.0' }, options(job.modern));
    transport = new Transport(new URL(job.server), { authProvider: provider });
    await client.connect(transport);
}

// Signs in when the SDK asks for it, and then tries again, as hosts do.
async function withSignIn(action) {
    provider.link = undefined;
    try {
        return await action();
    } catch (error) {
        if (!(error instanceof UnauthorizedError) || !provider.link) throw error;
    }
    report({ authorize: provider.link });
    await finish(transport, provider.returned(await next()));
    return action();
}

const commands = {
    async connect() {
        await withSignIn(open);
        const { tools } = await client.listTools();
        return { tools: tools.map((tool) => tool.name), revision: revision(client, transport) };
    },
    async call(name) {
        return withSignIn(() => commands.try(name));
    },
    // Calls a tool without asking the user.
    async try(name) {
        const result = await client.callTool({ name, arguments: { note: 'bread' } });
        return { text: result.content.map((part) => part.text).join(' ') };
    },
};

for (let line = await next(); line; line = await next()) {
    const [command, argument] = line.split(' ');
    try {
        report({ ok: true, ...(await commands[command](argument)) });
    } catch (error) {
        const cause = error.cause ? ` (${error.cause.code ?? error.cause.message})` : '';
        report({ ok: false, error: `${error.name}: ${error.message}${cause}` });
    }
}
process.exit(0);
