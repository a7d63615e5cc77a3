"""PyJWT, as APIs use it: `PyJWKClient` fetches and keeps the key set."""

import json
import sys
import urllib.request

import jwt

JOB = json.loads(sys.argv[1])


def verify(keys, token):
    verified = jwt.decode_complete(
        token,
        keys.get_signing_key_from_jwt(token),
        algorithms=["ES256", "RS256", "EdDSA"],
        audience=JOB["audience"],
        issuer=JOB["issuer"],
        # For `iat`. It applies to `exp` too.
        leeway=60,
        options={"require": ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"]},
    )
    # PyJWT does not check the type.
    if verified["header"].get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("The token is not an access token")
    return verified["payload"]


def main():
    with urllib.request.urlopen(f"{JOB['issuer']}/.well-known/oauth-authorization-server") as answer:
        keys = jwt.PyJWKClient(json.load(answer)["jwks_uri"], lifespan=300)
    for token in JOB["tokens"]:
        try:
            verdict = {"claims": verify(keys, token)}
        except jwt.PyJWTError as error:
            verdict = {"refused": repr(error)}
        print(json.dumps(verdict))


main()
