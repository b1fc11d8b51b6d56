"""Texts without secrets: for messages, logs, traces and everything else that people keep or send."""

from __future__ import annotations

import logging
import re
import threading
import traceback
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
SHORTEST: Final = 4
"""Secrets below this length are not searched for in texts: every text would be full of them."""
DISTINCT: Final = 8
"""Secrets below this length are only taken for one where they stand alone, not inside a word."""
LONG_LINE: Final = 16

_NAMES = (
    r"password|passwd|passphrase|pwd|pgpass|secret|token|api[._-]?key|access[._-]?key|account[._-]?key"
    r"|private[._-]?key|shared[._-]?access[._-]?signature|credential|authorization|conn\w*str\w*"
)
# In a password people forget to quote a slash; a port is no password.
_URL = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://[^\s/?#@:'\"]*"
    r"(?P<password>:(?!\d+(?:[/?#'\"\s]|$))[^\s@'\"]*(?:@[^\s/@?#'\"]*)*)?@",
    re.IGNORECASE,
)
# What stands before the `@` is a container or a login that everybody knows.
_OPEN_USERS = frozenset(("abfs", "abfss", "wasb", "wasbs", "ssh", "sftp"))
_ASSIGNED = re.compile(
    rf"(?P<name>[\w.-]*(?:{_NAMES})[\w.-]*|(?<![\w.-])(?:sig|x-amz-signature|x-goog-signature))"
    r"(?P<is>['\"]?\s*=\s*)(?:\"[^\"]*\"|'[^']*'|\{[^}]*\}|[^\s&;,)\]}>'\"]+)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?P<name>['\"][\w.-]*(?:{_NAMES})[\w.-]*['\"]\s*:\s*)"
    r"(?P<quote>['\"])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)",
    re.IGNORECASE | re.DOTALL,
)
_HEADER = re.compile(r"\b(?P<kind>bearer|basic)\s+(?!realm)[\w.~+/=-]{8,}", re.IGNORECASE)
_SHAPES = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)


class _Known:
    """The secrets that this process has met. The pattern is made when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, secret: str) -> None:
        new = _forms(secret) - self._forms
        if new:
            with self._lock:
                self._forms |= new
                self._pattern = None

    def pattern(self) -> re.Pattern[str] | None:
        with self._lock:
            if self._pattern is None and self._forms:
                longest_first = sorted(self._forms, key=lambda form: (-len(form), form))
                self._pattern = re.compile("|".join(map(_as_pattern, longest_first)))
            return self._pattern


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
    clean = _without_known(str(text))
    clean = _SHAPES.sub(MASK, clean)
    clean = _URL.sub(_without_user, clean)
    clean = _ASSIGNED.sub(rf"\g<name>\g<is>{MASK}", clean)
    clean = _NAMED.sub(rf"\g<name>\g<quote>{MASK}\g<quote>", clean)
    return _without_known(_HEADER.sub(rf"\g<kind> {MASK}", clean))


def is_secret_name(name: str) -> bool:
    """Whether a value of this name is probably a secret.

    >>> is_secret_name("api_key"), is_secret_name("primary_key")
    (True, False)
    """
    return re.search(_NAMES, name, re.IGNORECASE) is not None


class RedactingFilter(logging.Filter):
    """Masks secrets in log records; put it on your handlers. The loggers of penstock have it.

    >>> record = logging.makeLogRecord({"msg": "password=%s", "args": ("hush",)})
    >>> RedactingFilter().filter(record), record.getMessage()
    (True, 'password=***')
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record's message, traceback and stack; never refuse it."""
        record.msg, record.args = redact(record.getMessage()), None
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


def _without_known(text: str) -> str:
    pattern = _known.pattern()
    while pattern is not None and pattern.search(text):
        text = pattern.sub(MASK, text)
    return text


def _without_user(url: re.Match[str]) -> str:
    if not url["password"] and url["scheme"].lower() in _OPEN_USERS:
        return url[0]
    return f"{url['scheme']}://{MASK}@"


def _forms(secret: str) -> set[str]:
    """The secret as texts may show it: itself, quoted for URLs, escaped as by `repr` and JSON, its lines."""
    lines = [line for line in secret.splitlines() if len(line) >= LONG_LINE]
    plain = [secret, secret.strip(), *lines]
    forms = {form for one in plain for form in (one, quote(one, safe=""), quote(one), quote_plus(one))}
    forms |= {repr(one)[1:-1] for one in plain} | {_json(one) for one in plain}
    return {form for form in forms if len(form) >= SHORTEST and form.strip("* ")}


def _json(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _as_pattern(form: str) -> str:
    whole = re.escape(form)
    return whole if len(form) >= DISTINCT else rf"(?<!\w){whole}(?!\w)"
