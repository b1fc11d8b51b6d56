"""Masking of secrets in messages, logs, traces and all other output."""

from __future__ import annotations

import logging
import re
import threading
import traceback
from typing import Any, Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
MIN_SECRET_LENGTH: Final = 4
"""The minimum length of a secret that is searched in texts; shorter ones would match everywhere."""

SECRET_NAMES: Final = (
    r"password|passwd|passphrase|pwd|pgpass|secret|token|api[._-]?key|access[._-]?key|account[._-]?key"  # noqa: S105 (a pattern)
    r"|private[._-]?key|shared[._-]?access[._-]?signature|credential|authorization"
    r"|conn\w{0,16}str(?:ing)?(?![a-z])"
)

# `scheme://user:password@`. A password may have an unquoted slash; a port is not a password.
URL_PATTERN: Final = re.compile(
    r"(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{0,40})://[^\s/?#@:'\"]*"
    r"(?P<password>:(?!\d+(?:[/?#'\"\s]|$))(?:(?!://)[^\s@'\"])*(?:@[^\s/@?#'\"]*)*)?@",
    re.IGNORECASE,
)
# `password=...`, `&X-Amz-Signature=...`, `PWD={...}`, `token='...'`.
ASSIGNMENT_PATTERN: Final = re.compile(
    rf"(?P<name>(?:{SECRET_NAMES})[\w.-]{{0,64}}|(?<![\w.-])(?:sig|x-amz-signature|x-goog-signature))"
    r"(?P<is>['\"]?\s{0,8}=\s{0,8})(?:\"[^\"]*\"|'[^']*'|\{[^}\n]{0,256}\}|[^\s&;,)\]}>'\"]+)",
    re.IGNORECASE,
)
# `"password": "..."` of JSON and of printed dicts.
QUOTED_PAIR_PATTERN: Final = re.compile(
    rf"(?P<name>['\"][\w.-]{{0,64}}(?:{SECRET_NAMES})[\w.-]{{0,64}}['\"]\s{{0,8}}:\s{{0,8}})"
    r"(?P<quote>['\"])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)",
    re.IGNORECASE | re.DOTALL,
)
AUTH_HEADER_PATTERN: Final = re.compile(
    r"\b(?P<kind>bearer|basic)\s{1,8}(?!realm)[\w.~+/=-]{8,}", re.IGNORECASE
)
# Keys of well-known services, JSON web tokens, private keys.
TOKEN_PATTERN: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
PIECE_PATTERN: Final = re.compile(rf"[^\s:/@,;=&?]{{{MIN_SECRET_LENGTH},}}")

# Well-known passwords are not secret, and masking these words would garble every message.
COMMON_PASSWORDS: Final = frozenset(
    (
        *("postgres", "postgresql", "mysql", "oracle", "minio", "minioadmin", "loader", "changeme"),
        *("admin", "root", "user", "guest", "test", "password", "secret", "token"),
        *("none", "None", "null", "true", "True", "false", "False"),
    )
)
# Before the `@` of these schemes is a container or a public login.
PUBLIC_USER_SCHEMES: Final = frozenset(("abfs", "abfss", "wasb", "wasbs", "ssh", "sftp"))

MIN_LONG_WORD: Final = 16
"""Secrets of letters only, shorter than this, are masked only as whole words."""
MIN_LONG_LINE: Final = 16
"""Lines of a secret of at least this length are masked separately."""


class _SecretRegistry:
    """The secrets that this process has registered, in all their forms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: frozenset[str] = frozenset()

    def __reduce__(self) -> tuple[type[_SecretRegistry], tuple[()]]:
        """Pickle without secrets and lock: another process starts without any."""
        return (_SecretRegistry, ())

    def add(self, secret: str) -> None:
        new = _forms(secret) - self._forms
        if new:
            with self._lock:
                self._forms |= new

    def find_in(self, content: bytes) -> list[str]:
        known_forms = {form for form in self._forms if form.encode("utf-8", "replace") in content}
        return sorted(
            {form for known_form in known_forms for form in _forms(known_form)}, key=len, reverse=True
        )

    def mask(self, text: str) -> str:
        # Searching a substring is much faster than a pattern, and most texts contain no secret.
        while known_forms := sorted((form for form in self._forms if form in text), key=len, reverse=True):
            clean = re.sub("|".join(map(_as_pattern, known_forms)), MASK, text)
            if clean == text:
                break
            text = clean
        return text


_registry = _SecretRegistry()


def remember_secret(secret: str) -> None:
    """Register a text that `redact` masks from now on.

    >>> remember_secret("open sesame")
    >>> redact("cannot log in with 'open sesame'")
    "cannot log in with '***'"
    """
    _registry.add(str(secret))


def redact(text: str) -> str:
    """Return the text with every secret masked: registered ones, and texts that look like one.

    >>> redact("postgresql://ada:lovelace@db:5432/x?sslmode=require&password=hush")
    'postgresql://***@db:5432/x?sslmode=require&password=***'
    """
    # A private key ends with its last line, which may be a registered secret, and so may be its first.
    clean = _registry.mask(TOKEN_PATTERN.sub(MASK, str(text)))
    clean = URL_PATTERN.sub(mask_user, clean)
    clean = ASSIGNMENT_PATTERN.sub(rf"\g<name>\g<is>{MASK}", clean)
    clean = QUOTED_PAIR_PATTERN.sub(rf"\g<name>\g<quote>{MASK}\g<quote>", clean)
    return _registry.mask(AUTH_HEADER_PATTERN.sub(rf"\g<kind> {MASK}", clean))


def redact_all(value: Any) -> Any:
    """Mask secrets in a text, or in the texts of a list, tuple or dict; other values are unchanged.

    >>> redact_all(["password=hush", 3])
    ['password=***', 3]
    """
    if isinstance(value, str):
        clean: Any = redact(value)
    elif type(value) in {list, tuple}:
        clean = type(value)(map(redact_all, value))
    elif type(value) is dict:
        clean = {key: redact_all(part) for key, part in value.items()}
    else:
        return value
    return value if clean == value else clean


def secrets_in(content: bytes) -> list[str]:
    """Return the registered secrets in these bytes, longest first, to register them in another process.

    >>> remember_secret("magpie-in-a-tree")
    >>> secrets_in(b"say magpie-in-a-tree twice")
    ['magpie-in-a-tree']
    """
    return _registry.find_in(content)


def redact_pieces(text: str, secret: str) -> str:
    """Return the text with every piece of `secret` masked, for errors of parsers.

    >>> redact_pieces("'lovelace' is no port", "db://ada:lovelace")
    "'***' is no port"
    """
    pieces = sorted(set(PIECE_PATTERN.findall(secret)), key=len, reverse=True)
    pattern = "|".join(re.escape(piece) for piece in pieces)
    return redact(re.sub(pattern, MASK, text) if pieces else text)


def is_secret_name(name: str) -> bool:
    """Return whether the value of this name is probably a secret.

    >>> is_secret_name("api_key"), is_secret_name("primary_key")
    (True, False)
    """
    return re.search(SECRET_NAMES, name, re.IGNORECASE) is not None


class RedactingFilter(logging.Filter):
    """Masks secrets in log records; add it to your handlers. The loggers of penstock have it.

    >>> record = logging.makeLogRecord({"msg": "password=%s", "args": ("hush",)})
    >>> RedactingFilter().filter(record), record.getMessage()
    (True, 'password=***')
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the message, traceback and stack of the record; never drop a record."""
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):  # the arguments do not match the format
            message = f"{record.msg} {record.args}"
        record.msg, record.args = redact(message), None
        if record.exc_info and record.exc_info[1] is not None:
            traceback_text = "".join(traceback.format_exception(record.exc_info[1])).rstrip("\n")
            record.exc_text = redact(traceback_text)
            if record.exc_text != traceback_text:
                record.exc_info = None
        if record.stack_info:
            record.stack_info = redact(record.stack_info)
        return True


def logger(name: str) -> logging.Logger:
    """Return the logger of this name, with a `RedactingFilter`."""
    named_logger = logging.getLogger(name)
    if not any(isinstance(log_filter, RedactingFilter) for log_filter in named_logger.filters):
        named_logger.addFilter(RedactingFilter())
    return named_logger


def _forms(secret: str) -> set[str]:
    """Return the forms of a secret in texts: itself, URL-quoted, escaped by `repr` and JSON, its lines."""
    lines = [line for line in secret.splitlines() if len(line) >= MIN_LONG_LINE]
    plain = [secret, secret.strip(), *lines]
    forms = {
        form
        for variant in plain
        for form in (variant, quote(variant, safe=""), quote(variant), quote_plus(variant))
    }
    forms |= {repr(variant)[1:-1] for variant in plain} | {_json_escaped(variant) for variant in plain}
    return {form for form in forms if len(form) >= MIN_SECRET_LENGTH and form.strip("* ")} - COMMON_PASSWORDS


def _json_escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _as_pattern(form: str) -> str:
    pattern = re.escape(form)
    alone = len(form) < 2 * MIN_SECRET_LENGTH or (form.isalpha() and len(form) < MIN_LONG_WORD)
    return rf"(?<!\w){pattern}(?!\w)" if alone else pattern


def mask_user(match: re.Match[str]) -> str:
    """Return the start of a URL that `URL` matched, with the login masked."""
    if not match["password"] and match["scheme"].lower() in PUBLIC_USER_SCHEMES:
        return match[0]
    return f"{match['scheme']}://{MASK}@"
