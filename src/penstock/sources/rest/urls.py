"""Functions that join URLs and mask secrets in them. Also runs where penstock is not installed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, parse_qsl, quote, quote_plus, urlsplit, urlunsplit

from requests import PreparedRequest
from requests.sessions import SessionRedirectMixin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MASK: Final = "***"
_SECRET_NAME: Final = re.compile(
    "(token|secret|password|pwd|signature|sig|key|auth|credential)s?$", re.IGNORECASE
)
"""The ending of names of query parameters whose values are always masked."""
_DEFAULT_PORTS: Final = frozenset(((None, None), (443, None), (None, 80), (443, 80)))
"""Pairs of https and http ports that may be left out."""
_MIN_SECRET_LENGTH: Final = 4
"""Shorter values occur by chance in many messages, so they are only masked after their names."""


def join_url(base_url: str, path: str) -> str:
    """Return the URL of a path below a base URL; an absolute URL is returned unchanged.

    >>> join_url("https://api.example.com/v1/", "/orders")
    'https://api.example.com/v1/orders'
    >>> join_url("https://api.example.com/v1", "https://other.example.com/x")
    'https://other.example.com/x'
    """
    if urlsplit(path).scheme in {"http", "https"} or not base_url:
        return path
    return f"{base_url.rstrip('/')}/{path.lstrip('/')}" if path else base_url


def is_cross_origin(old_url: str, new_url: str) -> bool:
    """Return whether credentials for one URL must not be sent to another, by the rule of redirects.

    >>> is_cross_origin("https://api.example.com/v1", "https://api.example.com:443/v2")
    False
    >>> is_cross_origin("https://api.example.com/v1", "http://api.example.com/v1")
    True
    """
    library: Any = SessionRedirectMixin()
    try:
        return bool(library.should_strip_auth(_prepared_url(old_url), _prepared_url(new_url)))
    except ValueError:
        # An invalid URL is never of the same origin.
        return True


def keep_https(old_url: str, new_url: str) -> str:
    """Return the new URL, with https if it is the http URL of a host that was asked by https.

    A server behind a proxy does not always know the scheme of the request.

    >>> keep_https("https://api.example.com/v1", "http://api.example.com/v1?page=2")
    'https://api.example.com/v1?page=2'
    >>> keep_https("https://api.example.com/v1", "http://other.example.com/v1?page=2")
    'http://other.example.com/v1?page=2'
    """
    old, new = urlsplit(old_url), urlsplit(new_url)
    is_downgrade = old.hostname == new.hostname and (old.scheme, new.scheme) == ("https", "http")
    ports = _port(old), _port(new)
    if is_downgrade and (ports in _DEFAULT_PORTS or (ports[0] and ports[0] == ports[1])):
        return urlunsplit(new._replace(scheme="https", netloc=old.netloc))
    return new_url


def masked_url(url: str, *hidden: str) -> str:
    """Return the URL with masked user and masked values of secret parameters and of those named `hidden`.

    >>> masked_url("https://ada:love@example.com/x?page=2&api_key=hush&k=psst", "k")
    'https://***@example.com/x?page=2&api_key=***&k=***'
    """
    parts = urlsplit(url)
    query = "&".join(
        f"{quote_plus(name)}={MASK if _is_secret(name, hidden) else quote_plus(value)}"
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    )
    _, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}" if at else host, query=query))


def without_secret_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without those that are named like a secret.

    >>> without_secret_params({"page": 2, "api_key": "hush"})
    {'page': 2}
    """
    return {name: value for name, value in params.items() if not _is_secret(name, ())}


def masked_text(text: str, url: str, *hidden: str) -> str:
    """Return a message with the secrets of the URL masked.

    >>> masked_text("cannot ask /x?private_token=hush%21", "https://example.com/x?private_token=hush!")
    'cannot ask /x?private_token=***'
    """
    replacements = dict(_secret_replacements(url, hidden))
    for secret in sorted(replacements, key=len, reverse=True):
        text = text.replace(secret, replacements[secret])
    return text


def _secret_replacements(url: str, hidden: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield texts that a message must not contain, with their replacements."""
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if _is_secret(name, hidden):
            prefix = "" if len(value) >= _MIN_SECRET_LENGTH else f"{name}="
            for encoded in (value, quote(value), quote(value, safe=""), quote_plus(value)):
                yield f"{prefix}{encoded}", f"{prefix}{MASK}"
    user = parts.netloc.rpartition("@")[0]
    if user:
        yield user, MASK


def _is_secret(name: str, hidden: Iterable[str]) -> bool:
    return _SECRET_NAME.search(name) is not None or name.lower() in {param.lower() for param in hidden}


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        # An invalid port: the request itself reports it.
        return 0


def _prepared_url(url: str) -> str:
    """Return the URL as requests parses it: other parsers find other hosts in unusual URLs."""
    request = PreparedRequest()
    request.prepare_url(url, None)
    return str(request.url)
