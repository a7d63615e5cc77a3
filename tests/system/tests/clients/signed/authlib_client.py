"""Authlib: private_key_jwt alone. Its audience is the token endpoint unless another one is set."""

import html
import json
import re
import sys

import httpx
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oauth2.rfc7523 import PrivateKeyJWT
from authlib.common.security import generate_token
from joserfc.jwk import import_key


def decide(link, verify):
    """What the user's browser does."""
    with httpx.Client(verify=verify) as browser:
        page = browser.get(link)
        assert page.status_code == 200, page.text
        inputs = re.findall(r'<input [^>]*name="([^"]*)" value="([^"]*)"', page.text)
        fields = {}
        for name, value in inputs:
            fields.setdefault(name, []).append(html.unescape(value))
        action = re.search(r'<form [^>]*action="([^"]*)"', page.text)[1]
        answer = browser.post(httpx.URL(link).join(action), data={**fields, "decision": "allow"})
        return answer.headers["location"]


def client(job, audience):
    own = OAuth2Client(
        client_id=job["client_id"],
        client_secret=import_key(job["jwk"]),
        token_endpoint_auth_method="private_key_jwt",
        redirect_uri=job["redirect_uri"],
        scope=job["scope"],
        code_challenge_method="S256",
        verify=job["verify"],
    )
    own.register_client_auth_method(
        PrivateKeyJWT(token_endpoint=audience, alg=job["jwk"]["alg"], headers={"kid": job["jwk"]["kid"]})
    )
    return own


def main():
    job = json.loads(sys.argv[1])
    issuer = job["issuer"]
    metadata = httpx.get(f"{issuer}/.well-known/oauth-authorization-server", verify=job["verify"]).json()
    token_url = metadata["token_endpoint"]

    def code(own):
        verifier = generate_token(48)
        link, state = own.create_authorization_url(metadata["authorization_endpoint"], code_verifier=verifier)
        return decide(link, job["verify"]), verifier, state

    own = client(job, issuer)
    callback, verifier, state = code(own)
    first = own.fetch_token(token_url, authorization_response=callback, code_verifier=verifier, state=state)
    me = own.get(job["resource_url"]).json()
    second = own.refresh_token(token_url, refresh_token=first["refresh_token"])
    again = own.get(job["resource_url"]).json()

    # Its default: the token endpoint.
    old = client(job, token_url)
    callback, verifier, state = code(old)
    try:
        old.fetch_token(token_url, authorization_response=callback, code_verifier=verifier, state=state)
        endpoint = "accepted"
    except Exception as error:  # Authlib has its own error for each way.
        endpoint = getattr(error, "error", repr(error))

    print(
        json.dumps(
            {
                "token_type": first["token_type"],
                "user": [me["user"], again["user"]],
                "is_new": first["access_token"] != second["access_token"],
                "endpoint": endpoint,
            }
        )
    )


main()
