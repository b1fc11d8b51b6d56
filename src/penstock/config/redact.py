"""Texts without secrets: for messages, logs, traces and everything else that people keep or send."""

from __future__ import annotations

import logging
import re
import threading
import traceback
from typing import Final
from urllib.parse import quote, quote_plus

from penstock.config.secretforms import (
    ASSIGNED,
    HEADER,
    KNOWN_BY_ALL,
    MASK,
    NAMED,
    NAMES,
    PIECE,
    SHAPES,
    SHORTEST,
    URL,
    without_user,
)

LONG_WORD: Final = 16
"""A secret of letters only, below this length, is only one where it stands alone, not inside a word."""
LONG_LINE: Final = 16
"""Lines of a secret from this length on are secrets themselves."""


class _Known:
    """The secrets that this process has met, in all their forms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: frozenset[str] = frozenset()

    def add(self, secret: str) -> None:
        new = _forms(secret) - self._forms
        if new:
            with self._lock:
                self._forms |= new

    def found_in(self, content: bytes) -> list[str]:
        there = {form for form in self._forms if form.encode("utf-8", "replace") in content}
        return sorted({form for one in there for form in _forms(one)}, key=len, reverse=True)

    def without(self, text: str) -> str:
        # Looking for a text is much faster than a pattern, and most texts hold no secret.
        while there := sorted((form for form in self._forms if form in text), key=len, reverse=True):
            clean = re.sub("|".join(map(_as_pattern, there)), MASK, text)
            if clean == text:
                break
            text = clean
        return text


_known = _Known()


def remember_secret(secret: str) -> None:
    """From now on `redact` masks this text wherever it stands.

    >>> remember_secret("open sesame")
    >>> redact("cannot log in with 'open sesame'")
    "cannot log in with '***'"
    """
    _known.add(str(secret))


def redact(text: str) -> str:
    """The text with every secret masked: those met by this process, and what looks like one.

    >>> redact("postgresql://ada:lovelace@db:5432/x?sslmode=require&password=hush")
    'postgresql://***@db:5432/x?sslmode=require&password=***'
    """
    clean = _known.without(str(text))
    clean = SHAPES.sub(MASK, clean)
    clean = URL.sub(without_user, clean)
    clean = ASSIGNED.sub(rf"\g<name>\g<is>{MASK}", clean)
    clean = NAMED.sub(rf"\g<name>\g<quote>{MASK}\g<quote>", clean)
    return _known.without(HEADER.sub(rf"\g<kind> {MASK}", clean))


def secrets_in(content: bytes) -> list[str]:
    """The known secrets that stand in these bytes, the longest first: for those who take them elsewhere.

    >>> remember_secret("magpie-in-a-tree")
    >>> secrets_in(b"say magpie-in-a-tree twice")
    ['magpie-in-a-tree']
    """
    return _known.found_in(content)


def redact_pieces(text: str, secret: str) -> str:
    """The text with every piece of `secret` masked, for messages of those who took it apart.

    >>> redact_pieces("'lovelace' is no port", "db://ada:lovelace")
    "'***' is no port"
    """
    pieces = sorted(set(PIECE.findall(secret)), key=len, reverse=True)
    pattern = "|".join(re.escape(piece) for piece in pieces)
    return redact(re.sub(pattern, MASK, text) if pieces else text)


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is probably a secret.

    >>> is_secret_name("api_key"), is_secret_name("primary_key")
    (True, False)
    """
    return re.search(NAMES, name, re.IGNORECASE) is not None


class RedactingFilter(logging.Filter):
    """Masks secrets in log records; put it on your handlers. The loggers of penstock have it.

    >>> record = logging.makeLogRecord({"msg": "password=%s", "args": ("hush",)})
    >>> RedactingFilter().filter(record), record.getMessage()
    (True, 'password=***')
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record's message, traceback and stack; never refuse it."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):  # the text and its arguments do not fit each other
            message = f"{record.msg} {record.args}"
        record.msg, record.args = redact(message), None
        if record.exc_info and record.exc_info[1] is not None:
            said = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
            record.exc_text = redact(said)
            if record.exc_text != said:
                record.exc_info = None
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def logger(name: str) -> logging.Logger:
    """The logger of that name, with secrets masked in everything it is told."""
    found = logging.getLogger(name)
    if not any(isinstance(one, RedactingFilter) for one in found.filters):
        found.addFilter(RedactingFilter())
    return found


def _forms(secret: str) -> set[str]:
    """The secret as texts may show it: itself, quoted for URLs, escaped as by `repr` and JSON, its lines."""
    lines = [line for line in secret.splitlines() if len(line) >= LONG_LINE]
    plain = [secret, secret.strip(), *lines]
    forms = {form for one in plain for form in (one, quote(one, safe=""), quote(one), quote_plus(one))}
    forms |= {repr(one)[1:-1] for one in plain} | {_json(one) for one in plain}
    return {form for form in forms if len(form) >= SHORTEST and form.strip("* ")} - KNOWN_BY_ALL


def _json(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _as_pattern(form: str) -> str:
    whole = re.escape(form)
    alone = len(form) < 2 * SHORTEST or (form.isalpha() and len(form) < LONG_WORD)
    return rf"(?<!\w){whole}(?!\w)" if alone else whole
