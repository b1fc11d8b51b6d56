"""Messages to a channel of Slack."""

from __future__ import annotations

from importlib import import_module

from penstock.sources.extras import required_extra

_TIMEOUT_SECONDS = 30


def send_slack_message(incoming_hook: str, message: str, is_markdown: bool = True) -> None:
    """Send a message to the channel of an incoming webhook; a refused message is an error of requests."""
    with required_extra("rest", module="requests", needed_for="send_slack_message"):
        requests = import_module("requests")
    body = {"text": message, "mrkdwn": is_markdown}
    requests.post(incoming_hook, json=body, timeout=_TIMEOUT_SECONDS).raise_for_status()
