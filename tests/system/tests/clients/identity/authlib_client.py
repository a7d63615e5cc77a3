"""Authlib: the code flow with its session, the ID token with its class of claims, and userinfo."""

import html
import json
import re
import sys

import httpx
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oidc.core import CodeIDToken, UserInfo
from joserfc import jwt
from joserfc.jwk import KeySet


def decide(link):
    """What the user's browser does."""
    with httpx.Client() as browser:
        page = browser.get(link)
        assert page.status_code == 200, page.text
        fields = {}
        for name, value in re.findall(r'<input [^>]*name="([^"]*)" value="([^"]*)"', page.text):
            fields.setdefault(name, []).append(html.unescape(value))
        action = re.search(r'<form [^>]*action="([^"]*)"', page.text)[1]
        answer = browser.post(httpx.URL(link).join(action), data={**fields, "decision": "allow"})
        return answer.headers["location"]


def verified(metadata, token, nonce, client_id):
    """The claims of the ID token of an answer."""
    keys = KeySet.import_key_set(httpx.get(metadata["jwks_uri"]).json())
    decoded = jwt.decode(token["id_token"], keys, metadata["id_token_signing_alg_values_supported"])
    options = {"iss": {"values": [metadata["issuer"]]}, "aud": {"value": client_id}}
    params = {"nonce": nonce, "client_id": client_id, "access_token": token["access_token"]}
    claims = CodeIDToken(decoded.claims, decoded.header, options, params)
    claims.validate(leeway=120)
    return dict(claims)


def main():
    job = json.loads(sys.argv[1])
    metadata = httpx.get(f"{job['issuer']}/.well-known/openid-configuration").json()
    own = OAuth2Client(
        client_id=job["client_id"],
        client_secret=job["client_secret"],
        redirect_uri=job["redirect_uri"],
        scope=job["scope"],
        code_challenge_method="S256",
    )

    def exchanged():
        verifier, nonce = generate_token(48), generate_token(20)
        link, state = own.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=verifier, nonce=nonce, max_age=3600
        )
        callback = decide(link)
        token = own.fetch_token(
            metadata["token_endpoint"], authorization_response=callback, code_verifier=verifier, state=state
        )
        return token, nonce

    first, nonce = exchanged()
    claims = verified(metadata, first, nonce, job["client_id"])
    user = dict(UserInfo(own.get(metadata["userinfo_endpoint"]).json()))
    second = own.refresh_token(metadata["token_endpoint"], refresh_token=first["refresh_token"])
    again = verified(metadata, second, None, job["client_id"])
    token, _ = exchanged()
    try:
        verified(metadata, token, "another", job["client_id"])
        wrong = "accepted"
    except Exception as error:  # Its errors have no common class.
        wrong = getattr(error, "error", repr(error))
    print(json.dumps({"claims": claims, "user": user, "again": again, "wrong": wrong}))


main()
