"""The `penstock` command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from penstock.config import redact
from penstock.errors import MissingExtra, PenstockError

if TYPE_CHECKING:
    from collections.abc import Callable

app: Callable[[], None] | None
try:
    from penstock.cli.app import app
except ModuleNotFoundError as _error:
    if _error.name not in {"typer", "rich"}:
        raise
    app = None


def main() -> None:
    """Run the command line; print an error as one message without secrets and without a traceback."""
    try:
        _run()
    except PenstockError as error:
        print(f"penstock: {redact(str(error))}", file=sys.stderr)
        raise SystemExit(1) from error
    except Exception as error:
        print(f"penstock: {redact(f'{type(error).__name__}: {error}')}", file=sys.stderr)
        raise SystemExit(1) from error


def _run() -> None:
    if app is None:
        raise MissingExtra(extra="cli", needed_for="the command line")
    app()
