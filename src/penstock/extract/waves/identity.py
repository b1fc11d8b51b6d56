"""What a resource with work items is known by: its finished waves count for the same one only."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from penstock.config import redact
from penstock.errors import UsageError
from penstock.package.typed_json import to_typed

if TYPE_CHECKING:
    from penstock.interfaces.source import Stream
    from penstock.interfaces.work_items import ItemFunction

_IDENTITY_DIGITS = 16


def wave_identity(
    source_name: str | None, stream: Stream, bound: ItemFunction, refresh: str | None = None
) -> str:
    """A name for the resource: of its source, itself, its function and its arguments.

    One that begins anew is another one: what was done before that does not count.

    Secrets do not count: a token may be another one each time. Of arguments that have no JSON form the type
    counts.
    """
    arguments = [_argument_text(argument) for argument in (*bound.args, *sorted(bound.kwargs.items()))]
    function = getattr(bound.function, "__qualname__", type(bound.function).__qualname__)
    text = json.dumps([source_name, stream.name, function, arguments, *([refresh] if refresh else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:_IDENTITY_DIGITS]


def _argument_text(argument: Any) -> str:
    try:
        return redact(json.dumps(to_typed(argument), sort_keys=True))
    except (UsageError, ValueError, RecursionError):
        return type(argument).__qualname__
