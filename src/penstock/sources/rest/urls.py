"""Addresses: joined, and without what should not be shown. Also runs where penstock is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, quote, quote_plus, urlsplit, urlunsplit

if TYPE_CHECKING:
    from collections.abc import Iterable

MASK: Final = "***"
SECRET_PARAMS: Final = frozenset(
    (
        *("api_key", "apikey", "api-key", "key", "token", "access_token", "access-token", "auth"),
        *("secret", "client_secret", "password", "pwd", "signature", "sig"),
    )
)
"""Names of query parameters whose values are never shown."""


def join_url(base_url: str, path: str) -> str:
    """The address of a path below another; one that is whole already stays as it is.

    >>> join_url("https://api.example.com/v1/", "/orders")
    'https://api.example.com/v1/orders'
    >>> join_url("https://api.example.com/v1", "https://other.example.com/x")
    'https://other.example.com/x'
    """
    if urlsplit(path).scheme in {"http", "https"} or not base_url:
        return path
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}" if path else base_url


def clean_url(url: str, *hidden: str) -> str:
    """The address with the user, and the values of secret parameters and those called `hidden`, masked.

    >>> clean_url("https://ada:love@example.com/x?page=2&api_key=hush&k=psst", "k")
    'https://***@example.com/x?page=2&api_key=***&k=***'
    """
    parts = urlsplit(url)
    names = SECRET_PARAMS | {name.lower() for name in hidden}
    query = "&".join(
        f"{quote_plus(name)}={MASK if name.lower() in names else quote_plus(value)}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    _, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}" if at else host, query=query))


def clean_text(text: str, url: str, *hidden: str) -> str:
    """A message without the secret parts of the address that it may show."""
    for secret in sorted(set(_secrets_of(url, hidden)), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets_of(url: str, hidden: Iterable[str]) -> Iterable[str]:
    parts = urlsplit(url)
    names = SECRET_PARAMS | {name.lower() for name in hidden}
    for name, value in parse_qsl(parts.query):
        if name.lower() in names:
            yield from (value, quote(value), quote(value, safe=""), quote_plus(value))
    user, at, _ = parts.netloc.rpartition("@")
    if at:
        yield user
