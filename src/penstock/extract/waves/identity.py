"""What a resource with work items is known by: its finished waves count for the same one only."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from penstock.config import redact
from penstock.errors import UsageError
from penstock.package.typed import to_typed

if TYPE_CHECKING:
    from penstock.interfaces.source import Stream
    from penstock.interfaces.work import Bound

_DIGITS = 16


def identity_of(source: str | None, stream: Stream, bound: Bound, refresh: str | None = None) -> str:
    """A name for the resource: of its source, itself, its function and its arguments.

    One that begins anew is another one: what was done before that does not count.

    Secrets do not count: a token may be another one each time. Of arguments that have no JSON form the type
    counts.
    """
    arguments = [_told(argument) for argument in (*bound.args, *sorted(bound.kwargs.items()))]
    function = getattr(bound.function, "__qualname__", type(bound.function).__qualname__)
    text = json.dumps([source, stream.name, function, arguments, *([refresh] if refresh else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _told(argument: Any) -> str:
    try:
        return redact(json.dumps(to_typed(argument), sort_keys=True))
    except (UsageError, ValueError, RecursionError):
        return type(argument).__qualname__
