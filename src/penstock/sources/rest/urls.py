"""Addresses: joined, and without what should not be shown. Also runs where penstock is not installed."""

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
"""How the names of query parameters end whose values are never shown."""
_DEFAULT_PORTS: Final = frozenset(((None, None), (443, None), (None, 80), (443, 80)))
"""Ports of https and http that need not be said."""
_MIN_SECRET_LENGTH: Final = 4
"""Texts of fewer characters stand by chance in many messages."""


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


def is_cross_origin(old_url: str, new_url: str) -> bool:
    """Whether a log-in for one address must not be sent to another: the rule that redirections have.

    >>> is_cross_origin("https://api.example.com/v1", "https://api.example.com:443/v2")
    False
    >>> is_cross_origin("https://api.example.com/v1", "http://api.example.com/v1")
    True
    """
    library: Any = SessionRedirectMixin()
    try:
        return bool(library.should_strip_auth(_prepared_url(old_url), _prepared_url(new_url)))
    except ValueError:
        # What is no address is nobody's.
        return True


def keep_https(old_url: str, new_url: str) -> str:
    """The new address; by https, where it is called http and the old one of the same host was https.

    A server behind a proxy does not always know by what it was asked.

    >>> keep_https("https://api.example.com/v1", "http://api.example.com/v1?page=2")
    'https://api.example.com/v1?page=2'
    >>> keep_https("https://api.example.com/v1", "http://other.example.com/v1?page=2")
    'http://other.example.com/v1?page=2'
    """
    old, new = urlsplit(old_url), urlsplit(new_url)
    are_one = old.hostname == new.hostname and (old.scheme, new.scheme) == ("https", "http")
    ports = _port(old), _port(new)
    if are_one and (ports in _DEFAULT_PORTS or (ports[0] and ports[0] == ports[1])):
        return urlunsplit(new._replace(scheme="https", netloc=old.netloc))
    return new_url


def masked_url(url: str, *hidden: str) -> str:
    """The address with the user, and the values of secret parameters and those called `hidden`, masked.

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
    """Return the parameters whose names are not those of secrets.

    >>> without_secret_params({"page": 2, "api_key": "hush"})
    {'page': 2}
    """
    return {name: value for name, value in params.items() if not _is_secret(name, ())}


def masked_text(text: str, url: str, *hidden: str) -> str:
    """A message without the secret parts of the address that it may show.

    >>> masked_text("cannot ask /x?private_token=hush%21", "https://example.com/x?private_token=hush!")
    'cannot ask /x?private_token=***'
    """
    found = dict(_secret_replacements(url, hidden))
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, found[secret])
    return text


def _secret_replacements(url: str, hidden: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Texts that a message may not show, and what is shown in their place."""
    parts = urlsplit(url)
    for name, value in parse_qsl(parts.query):
        if _is_secret(name, hidden):
            before = "" if len(value) >= _MIN_SECRET_LENGTH else f"{name}="
            for written in (value, quote(value), quote(value, safe=""), quote_plus(value)):
                yield f"{before}{written}", f"{before}{MASK}"
    user = parts.netloc.rpartition("@")[0]
    if user:
        yield user, MASK


def _is_secret(name: str, hidden: Iterable[str]) -> bool:
    return _SECRET_NAME.search(name) is not None or name.lower() in {one.lower() for one in hidden}


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:
        # No number: whoever asks there is told so.
        return 0


def _prepared_url(url: str) -> str:
    """An address as requests will understand it: other parsers find other hosts in odd ones."""
    asked = PreparedRequest()
    asked.prepare_url(url, None)
    return str(asked.url)
