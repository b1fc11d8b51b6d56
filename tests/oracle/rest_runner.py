"""A configuration run against a server by either tool; imports neither dlt nor penstock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tests.restapi import Api

if TYPE_CHECKING:
    from collections.abc import Callable


def play(name: str, source: Callable[..., Any], recorder: Any, cases: Callable[[Api], Any]) -> dict[str, Any]:
    """Return the extracted data and the requests of the server."""
    with Api() as api:
        for config in cases(api)[name]():
            declared: list[Any] = []
            before = len(recorder.notes)
            recorder.declaring(
                lambda config=config, declared=declared: declared.append(source(config, name="api"))
            )
            if len(recorder.notes) == before:
                recorder(declared[0])
        asked = sorted(([method, *_plain(path), body] for _, method, path, body in api.seen), key=json.dumps)
        return {"notes": recorder.notes, "asked": asked}


def _plain(path: str) -> list[Any]:
    parts = urlsplit(path)
    return [parts.path, sorted(parse_qsl(parts.query))]
