"""Printing of text and JSON without secrets and terminal control characters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import typer

from penstock.config import redact
from penstock.redaction import MASK, is_secret_name

# A message of a library may contain control characters, which could move the cursor.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REPLACEMENT = "\ufffd"

VERDICT_MARKS = {
    "ok": "[green]ok  [/green]",
    "warning": "[yellow]note[/yellow]",
    "failure": "[red]FAIL[/red]",
}
"""The results of checks, in the markup of rich."""


def printable(text: str) -> str:
    """Return the text with control characters replaced.

    >>> printable(chr(27) + "[31mred") == chr(0xFFFD) + "[31mred"
    True
    """
    return _CONTROL.sub(_REPLACEMENT, text)


def mask_secrets(value: Any, *, is_secret: bool = False) -> Any:
    """Return plain data with every secret masked: in texts, and all values below a key with a secret name.

    >>> mask_secrets({"page": 7, "api_key": "hush", "tokens": {"of": ["ada"]}})
    {'page': 7, 'api_key': '***', 'tokens': {'of': ['***']}}
    """
    if isinstance(value, Mapping):
        return {
            key: mask_secrets(item, is_secret=is_secret or is_secret_name(str(key)))
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [mask_secrets(item, is_secret=is_secret) for item in value]
    if is_secret:
        return value if value is None or isinstance(value, bool) else MASK
    return redact(value) if isinstance(value, str) else value


def print_text(text: str, *, err: bool = False) -> None:
    """Print a text for people; lines are not wrapped."""
    typer.echo(printable(redact(text)), err=err)


def print_json(document: Mapping[str, Any], *, unmasked_key: str | None = None) -> None:
    """Print one JSON object in one line.

    The values below `unmasked_key` are numbers by names of the user, which may look like names of secrets.
    """
    unmasked = {} if unmasked_key is None else {unmasked_key: document[unmasked_key]}
    typer.echo(json.dumps({**mask_secrets(document), **unmasked}, default=str))
