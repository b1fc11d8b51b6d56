"""Printing of text and JSON without secrets and terminal control characters."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import typer

from penstock.config import redact
from penstock.redaction import MASK, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Collection
    from contextlib import AbstractContextManager

    from _typeshed import DataclassInstance

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
    if is_dataclass(value) and not isinstance(value, type):
        return mask_secrets(asdict(value), is_secret=is_secret)
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


def print_to_stderr() -> AbstractContextManager[Any]:
    """Redirect what a program prints in the block: with `--json` the standard output has only objects."""
    return redirect_stdout(sys.stderr)


def print_json(document: Mapping[str, Any] | DataclassInstance, *, unmasked: Collection[str] = ()) -> None:
    """Print one JSON object in one line.

    The values below the keys in `unmasked` have keys by the user, which may look like names of secrets.
    """
    masked = mask_secrets(document)
    if isinstance(document, Mapping):
        masked |= {key: document[key] for key in unmasked}
    typer.echo(json.dumps(masked, default=str))
