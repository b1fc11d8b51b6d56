"""The block of the documentation with a login of OAuth by client credentials in a header of its own."""

import os
import runpy
from base64 import b64encode
from typing import Any

import dlt
from program import SCRIPT
from server import Reply, page

TURNS = 2
TOKEN = "token-of-zoom"  # noqa: S105 - of a server that this file is
os.environ |= {
    "SOURCES__ZOOM__ACCESS_TOKEN_URL": "https://zoom.us/oauth/token",
    "SOURCES__ZOOM__CLIENT_ID": "id-8",
    "SOURCES__ZOOM__CLIENT_SECRET": "secret-8",
    "SOURCES__ZOOM__ACCOUNT_ID": "account-8",
}


def answer(request):
    """Return a token to the client, and pages of users to those who have it."""
    if request.host == "zoom.us":
        known = request.headers["Authorization"] == f"Basic {b64encode(b'id-8:secret-8').decode()}"
        known = known and "account_id=account-8" in request.body
        return (
            Reply({"access_token": TOKEN, "expires_in": 3600}) if known else Reply({"error": "unknown"}, 401)
        )
    if request.headers.get("Authorization") != f"Bearer {TOKEN}":
        return Reply({"error": "no token"}, 401)
    users = [
        {"id": f"u{number}", "type": number % 2, "dept": None, "group_ids": ["g"]} for number in range(12)
    ]
    rows, after = page(users, int(request.query.get("at", 0)), 5)
    following = f"https://api.zoom.us{request.path}?at={after}" if after else None
    return Reply({"users": rows, "links": {"next": following}})


def run(turn):
    """Run the block, and load users by the client that it makes."""
    names = {"dlt": dlt, "Dict": dict, "Any": Any}
    client = runpy.run_path(SCRIPT, init_globals=names)["client"]
    from_page = client.get("/users").json()["users"]
    pipeline = dlt.pipeline("zoom", destination="duckdb", dataset_name="zoom_data")
    pipeline.run(from_page if turn == 1 else client.paginate("/users"), table_name="users")
    return pipeline
