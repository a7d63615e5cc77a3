// What the user's browser does: it opens the link of a client, presses a button of the consent page, and follows the
// redirect.
export async function decide(link, button) {
    const page = await fetch(link, { redirect: 'manual' });
    const html = await page.text();
    if (page.status !== 200) throw new Error(`no consent page but ${page.status}: ${html}`);
    const fields = new URLSearchParams();
    for (const [input] of html.matchAll(/<input [^>]*>/g)) {
        fields.append(attribute(input, 'name'), attribute(input, 'value'));
    }
    fields.append('decision', button);
    const cookies = page.headers.getSetCookie().map((line) => line.split(';')[0]);
    const answer = await fetch(new URL(attribute(html, 'action'), link), {
        method: 'POST',
        headers: { Cookie: cookies.join('; ') },
        body: fields,
        redirect: 'manual',
    });
    return new URL(answer.headers.get('location'));
}

function attribute(html, name) {
    return new RegExp(`${name}="([^"]*)"`).exec(html)[1].replaceAll('&amp;', '&');
}

// The job of the command line, with the private key of the client as the libraries want it.
export async function job() {
    const job = JSON.parse(process.argv[2]);
    const { kid, ...jwk } = job.jwk;
    const algorithms = {
        ES256: { name: 'ECDSA', namedCurve: 'P-256' },
        PS256: { name: 'RSA-PSS', hash: 'SHA-256' },
    };
    const key = await crypto.subtle.importKey('jwk', jwk, algorithms[jwk.alg], false, ['sign']);
    return { ...job, key: { key, kid } };
}

// Counts the answers that demand a nonce, and passes them on.
export function counting() {
    const seen = { nonces: 0, requests: 0 };
    const own = globalThis.fetch;
    globalThis.fetch = async (...request) => {
        const answer = await own(...request);
        seen.requests += 1;
        const challenge = answer.headers.get('www-authenticate') ?? '';
        const body = answer.status === 400 ? await answer.clone().text() : '';
        if (`${challenge}${body}`.includes('use_dpop_nonce')) seen.nonces += 1;
        return answer;
    };
    return seen;
}
