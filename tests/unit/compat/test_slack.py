"""Messages to Slack reach the webhook, and refused ones raise."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
import requests

from penstock.common.runtime.slack import send_slack_message

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Webhook(BaseHTTPRequestHandler):
    bodies: list[Any]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.bodies.append(body)
        self.send_response(400 if body["text"] == "bad" else 200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the argument of the base class
        """Keep the output of tests free of requests."""


@pytest.fixture
def webhook() -> Iterator[tuple[str, list[Any]]]:
    """The address of a server, and the bodies that it received."""
    _Webhook.bodies = []
    with HTTPServer(("127.0.0.1", 0), _Webhook) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/hook", _Webhook.bodies
        server.shutdown()
        thread.join()


def test_a_message_is_posted_with_its_format(webhook: tuple[str, list[Any]]) -> None:
    address, bodies = webhook

    send_slack_message(address, "*done*")
    send_slack_message(address, "plain", is_markdown=False)

    assert bodies == [{"text": "*done*", "mrkdwn": True}, {"text": "plain", "mrkdwn": False}]


def test_a_refused_message_is_an_error(webhook: tuple[str, list[Any]]) -> None:
    with pytest.raises(requests.HTTPError):
        send_slack_message(webhook[0], "bad")
