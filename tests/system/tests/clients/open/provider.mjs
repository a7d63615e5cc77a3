// The storage of a host of the TypeScript SDK, in an object that may survive a page load.
import { metadata } from './sdk.mjs';

export class Provider {
    constructor(job, kept) {
        this.job = job;
        this.kept = kept;
        if (job.client) this.kept.client ??= job.client;
        if (job.document) this.clientMetadataUrl = job.document;
    }

    get redirectUrl() {
        return this.job.redirect_uri;
    }

    get clientMetadata() {
        const method = this.job.method ? { token_endpoint_auth_method: this.job.method } : {};
        return { client_name: this.job.name, redirect_uris: [this.job.redirect_uri], ...metadata, ...method };
    }

    state() {
        return (this.kept.state = crypto.randomUUID());
    }

    clientInformation() {
        return this.kept.client;
    }

    saveClientInformation(client) {
        this.kept.client = client;
    }

    tokens() {
        return this.kept.tokens;
    }

    saveTokens(tokens) {
        this.kept.tokens = tokens;
    }

    codeVerifier() {
        return this.kept.verifier;
    }

    saveCodeVerifier(verifier) {
        this.kept.verifier = verifier;
    }

    discoveryState() {
        return this.kept.discovery;
    }

    saveDiscoveryState(discovery) {
        this.kept.discovery = discovery;
    }

    // Called when the server rejects stored credentials.
    invalidateCredentials(scope) {
        const all = ['client', 'tokens', 'verifier', 'discovery'];
        for (const name of scope === 'all' ? all : [scope]) this.kept[name] = undefined;
    }

    redirectToAuthorization(url) {
        this.link = url.href;
    }

    // The parameters of the callback; the SDK leaves the check of `state` to its host.
    returned(url) {
        const parameters = new URL(url).searchParams;
        if (parameters.get('state') !== this.kept.state) throw new Error(`another state in ${url}`);
        return parameters;
    }
}
