"""Errors for responses without data. Also runs where penstock is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from requests.exceptions import HTTPError

from penstock.sources.rest.urls import masked_url

if TYPE_CHECKING:
    from requests import Response

_CLIENT_ERROR: Final = 400
_SERVER_ERROR: Final = 500


class IgnoreResponseException(Exception):
    """Raised in a hook to ignore a response: it has no data, and no page follows."""


def raise_for_status(
    response: Response, *_: Any, hidden: tuple[str, ...] = (), max_body_length: int = 0, **__: Any
) -> None:
    """Raise for an error status, with secrets masked in the URL; also usable as a hook.

    The message ends with up to `max_body_length` characters of the body.
    """
    if response.status_code >= _CLIENT_ERROR:
        side = "Client" if response.status_code < _SERVER_ERROR else "Server"
        url = masked_url(response.url, *hidden)
        message = f"{response.status_code} {side} Error: {response.reason} for url: {url}"
        if max_body_length and response.text:
            message += f"; body: {response.text[:max_body_length]}"
        raise HTTPError(message, response=response)
