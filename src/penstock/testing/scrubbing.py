"""Removes secrets from requests and responses. Also runs where penstock is not installed."""

from __future__ import annotations

import base64
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote_plus, urlsplit, urlunsplit

from penstock.redaction import MASK, is_secret_name, redact, remember_secret, secrets_in
from penstock.sources.rest.signers import SAFE_HEADERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PAGE_TOKENS: Final = (
    r"(?:(?:next|prev|previous|start)[_-]?)?(?:page|sync|continuation)[_-]?token|next[_-]?token"
)
"""Names that end with `token` and hold positions, not credentials."""
_QUERY_CREDENTIALS: Final = r"key|auth|client_?id|sig|signature|appid|jwt|assertion|session_?id|sid"
"""Names of credentials in queries and forms; other fields of data have them too."""
_UNRECORDED_HEADERS: Final = frozenset(
    ("connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding")
)
"""Headers of responses that are specific to the connection or differ in each recording."""
_SHIELD: Final = "\0"


class Scrubber:
    """Masks credentials in the parts of an exchange: by names, and registered secrets anywhere.

    `hidden` names more parameters, fields and headers to mask, `visible` those that are not masked although
    they are named like a credential.

    >>> Scrubber(hidden=("k",)).url("https://api.test/x?k=psst&page=2&nextPageToken=c3")
    'https://api.test/x?k=***&nextPageToken=c3&page=2'
    """

    def __init__(
        self, *, hidden: Sequence[str] = (), visible: Sequence[str] = (), secrets: Sequence[str] = ()
    ) -> None:
        self.hidden = frozenset(name.lower() for name in hidden)
        visible_names = "|".join((_PAGE_TOKENS, *map(re.escape, visible)))
        self._visible_name = re.compile(visible_names, re.IGNORECASE)
        self._visible_word = re.compile(rf"(?<![A-Za-z0-9])(?:{visible_names})(?!\w)", re.IGNORECASE)
        hidden_names = "|".join((_QUERY_CREDENTIALS, *map(re.escape, hidden)))
        self._query_name = re.compile(hidden_names, re.IGNORECASE)
        self._query_pair = re.compile(rf"((?:^|[?&])(?:{hidden_names})=)[^&\s\"'<>#;]*", re.IGNORECASE)
        for secret in secrets:
            remember_secret(secret)

    def exchange(self, exchange: Mapping[str, Any]) -> dict[str, Any]:
        """Return a recorded request and its response without secrets. Idempotent."""
        request, response = dict(exchange["request"]), dict(exchange["response"])
        request["url"] = self.url(request["url"])
        request["headers"] = {
            name: self.text(value) if name.lower() in SAFE_HEADERS else MASK
            for name, value in request["headers"].items()
        }
        response["headers"] = {
            name: MASK if self._is_hidden(name) or name.lower() == "set-cookie" else self.text(value)
            for name, value in response["headers"].items()
            if name.lower() not in _UNRECORDED_HEADERS
        }
        for message in (request, response):
            if "body" in message:
                message["body"] = self._body(message["body"])
        return {"request": request, "response": response}

    def url(self, url: str) -> str:
        """Return the canonical URL without secrets."""
        return canonical_url(url, self._param, self.text)

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        shielded = self._visible_word.sub(lambda name: _SHIELD.join(name[0]), text)
        return redact(self._query_pair.sub(rf"\g<1>{MASK}", shielded)).replace(_SHIELD, "")

    def _param(self, name: str, value: str) -> str:
        is_hidden = self._is_hidden(name) or (
            self._query_name.fullmatch(name) is not None and self._visible_name.fullmatch(name) is None
        )
        return MASK if is_hidden else self.text(value)

    def _is_hidden(self, name: str) -> bool:
        if self._visible_name.fullmatch(name):
            return False
        return name.lower() in self.hidden or is_secret_name(name)

    def _body(self, body: Mapping[str, Any]) -> dict[str, Any]:
        match body:
            case {"json": document}:
                return {"json": self._document(document)}
            case {"text": text}:
                return {"text": self.text(text)}
            case _:
                content = base64.b64decode(body["base64"])
                for secret in secrets_in(content):
                    content = content.replace(secret.encode(), MASK.encode())
                return {"base64": base64.b64encode(content).decode()}

    def _document(self, value: Any, *, is_hidden: bool = False) -> Any:
        match value:
            case dict():
                return {
                    self.text(name): self._document(field, is_hidden=self._is_hidden(name))
                    for name, field in value.items()
                }
            case list():
                return [self._document(item, is_hidden=is_hidden) for item in value]
            case str():
                return MASK if is_hidden else self.text(value)
            case _:
                return value


def canonical_url(
    url: str,
    param: Callable[[str, str], str] = lambda _, value: value,
    text: Callable[[str], str] = str,
) -> str:
    """Return the URL without login and fragment, its parameters sorted.

    >>> canonical_url("https://ada:love@api.test/x?b=2&a=1#top")
    'https://api.test/x?a=1&b=2'
    """
    parts = urlsplit(url)
    query = "&".join(
        f"{quote_plus(name)}={quote_plus(param(name, value), safe='*:,')}"
        for name, value in sorted(parse_qsl(parts.query, keep_blank_values=True))
    )
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, text(parts.path) or "/", query, ""))


def body_record(content: bytes) -> dict[str, Any] | None:
    """Return a body as a JSON document if that is the same, as text, or in base64; None if it is empty.

    >>> body_record(b'{"id": 1}'), body_record(b"id=1"), body_record(bytes([255]))
    ({'json': {'id': 1}}, {'text': 'id=1'}, {'base64': '/w=='})
    """
    if not content:
        return None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = _SHIELD
    if _SHIELD in text:
        return {"base64": base64.b64encode(content).decode()}
    if text.lstrip().startswith(("{", "[")):
        try:
            return {"json": _parse_exactly(text)}
        except (ValueError, RecursionError):
            return {"text": text}
    return {"text": text}


def body_content(body: Mapping[str, Any] | None) -> bytes:
    """Return the bytes of a recorded body.

    >>> body_content({"json": {"id": 1}}), body_content(None)
    (b'{"id": 1}', b'')
    """
    match body:
        case None:
            return b""
        case {"json": document}:
            return json.dumps(document).encode()
        case {"text": str(text)}:
            return text.encode()
        case _:
            return base64.b64decode(body["base64"])


def _parse_exactly(text: str) -> Any:
    """Parse a JSON document; raise ValueError where writing it again would change it."""
    document = json.loads(
        text, object_pairs_hook=_unique_fields, parse_float=_exact_float, parse_constant=_exact_float
    )
    json.dumps(document, ensure_ascii=False).encode()
    return document


def _unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a field occurs twice")
    return dict(pairs)


def _exact_float(text: str) -> float:
    number = float(text)
    if number != number or Decimal(repr(number)) != Decimal(text):  # noqa: PLR0124 - only NaN differs from itself
        raise ValueError(text)
    return number
