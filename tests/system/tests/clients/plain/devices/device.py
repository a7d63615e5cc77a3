"""Authlib on a device without a browser. Its client has no device flow of its own: the session asks for both codes, and
`fetch_token` polls with the grant type. The loop is the application's."""

import json
import sys
import time

from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import OAuth2Client
from authlib.oauth2.rfc8628 import DEVICE_CODE_GRANT_TYPE


def say(line):
    print(json.dumps(line), flush=True)


def poll(client, job, asked, interval):
    while True:
        time.sleep(interval)
        try:
            return client.fetch_token(
                job["token_endpoint"], grant_type=DEVICE_CODE_GRANT_TYPE, device_code=asked["device_code"]
            )
        except OAuthError as error:
            say({"error": error.error})
            if error.error == "slow_down":
                interval += 5
            elif error.error != "authorization_pending":
                raise


def main():
    job = json.loads(sys.argv[1])
    secret = job["client_secret"] or None
    client = OAuth2Client(
        client_id=job["client_id"],
        client_secret=secret,
        token_endpoint_auth_method="client_secret_basic" if secret else "none",
        scope=job["scope"],
    )
    # With credentials in place of a token, which it does not have yet.
    answer = client.post(
        job["device_authorization_endpoint"],
        data={"scope": job["scope"]},
        auth=client.client_auth(client.token_endpoint_auth_method),
    )
    asked = answer.json()
    assert answer.status_code == 200, answer.text
    say({"verification_uri": asked["verification_uri"], "user_code": asked["user_code"]})
    try:
        first = poll(client, job, asked, job["interval"] or asked["interval"])
    except OAuthError as error:
        say({"result": {"error": error.error}})
        return
    user = [client.get(job["resource_url"]).json()["user"]]
    second = client.refresh_token(job["token_endpoint"], refresh_token=first["refresh_token"])
    user.append(client.get(job["resource_url"]).json()["user"])
    is_new = first["access_token"] != second["access_token"]
    say({"result": {"token_type": first["token_type"], "user": user, "is_new": is_new}})


main()
