"""What secrets look like in a text. Every pattern takes time in proportion to the text, whatever it is."""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"
SHORTEST: Final = 4
"""Secrets below this length are not searched for in texts: every text would be full of them."""

NAMES: Final = (
    r"password|passwd|passphrase|pwd|pgpass|secret|token|api[._-]?key|access[._-]?key|account[._-]?key"
    r"|private[._-]?key|shared[._-]?access[._-]?signature|credential|authorization"
    r"|conn\w{0,16}str(?:ing)?(?![a-z])"
)

# `scheme://user:password@`. In a password people forget to quote a slash; a port is no password.
URL: Final = re.compile(
    r"(?<![a-z0-9+.-])(?P<scheme>[a-z][a-z0-9+.-]{0,40})://[^\s/?#@:'\"]*"
    r"(?P<password>:(?!\d+(?:[/?#'\"\s]|$))(?:(?!://)[^\s@'\"])*(?:@[^\s/@?#'\"]*)*)?@",
    re.IGNORECASE,
)
# `password=...`, `&X-Amz-Signature=...`, `PWD={...}`, `token='...'`.
ASSIGNED: Final = re.compile(
    rf"(?P<name>(?:{NAMES})[\w.-]{{0,64}}|(?<![\w.-])(?:sig|x-amz-signature|x-goog-signature))"
    r"(?P<is>['\"]?\s{0,8}=\s{0,8})(?:\"[^\"]*\"|'[^']*'|\{[^}\n]{0,256}\}|[^\s&;,)\]}>'\"]+)",
    re.IGNORECASE,
)
# `"password": "..."` of JSON and of printed dicts.
NAMED: Final = re.compile(
    rf"(?P<name>['\"][\w.-]{{0,64}}(?:{NAMES})[\w.-]{{0,64}}['\"]\s{{0,8}}:\s{{0,8}})"
    r"(?P<quote>['\"])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)",
    re.IGNORECASE | re.DOTALL,
)
HEADER: Final = re.compile(r"\b(?P<kind>bearer|basic)\s{1,8}(?!realm)[\w.~+/=-]{8,}", re.IGNORECASE)
# Keys of well-known services, tokens of JSON web signatures, private keys.
SHAPES: Final = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bxox[abprs]-[\w-]{10,}"
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
PIECE: Final = re.compile(rf"[^\s:/@,;=&?]{{{SHORTEST},}}")

# Passwords that everybody knows hide nothing, and masking these words would garble every message.
KNOWN_BY_ALL: Final = frozenset(
    (
        *("postgres", "postgresql", "mysql", "oracle", "minio", "minioadmin", "loader", "changeme"),
        *("admin", "root", "user", "guest", "test", "password", "secret", "token"),
        *("none", "None", "null", "true", "True", "false", "False"),
    )
)
# Before the `@` of these schemes stands a container, or a login that everybody knows.
OPEN_USERS: Final = frozenset(("abfs", "abfss", "wasb", "wasbs", "ssh", "sftp"))


def without_user(url: re.Match[str]) -> str:
    """The beginning of a URL that `URL` has matched, with what stands before the `@` masked."""
    if not url["password"] and url["scheme"].lower() in OPEN_USERS:
        return url[0]
    return f"{url['scheme']}://{MASK}@"
