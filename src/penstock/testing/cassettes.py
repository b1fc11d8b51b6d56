"""Cassettes: the requests of a source and their responses in a file, recorded once and replayed by tests."""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from penstock import errors, redaction
from penstock.errors import UsageError
from penstock.interfaces.work_items import TaskContext, entered_by_tasks, task_context
from penstock.testing import recorded_requests, scrubbing
from penstock.testing.recorded_requests import Tape, intercepted_requests, recorded_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

CassetteMode = Literal["replay", "record", "auto"]

MODE_VARIABLE: Final = "PENSTOCK_CASSETTES"
"""The environment variable with the mode of all cassettes; it wins over the argument."""
_FORMAT: Final = 1
_EXECUTOR_MODULES: Final = (recorded_requests, scrubbing, errors, redaction)


class Cassette:
    """An active cassette. `mode` is `replay` or `record`."""

    def __init__(self, path: Path, mode: CassetteMode, tape: Tape) -> None:
        self.path, self.mode, self._tape = path, mode, tape

    def unused(self) -> list[str]:
        """Return the recorded requests that were not made, as method and URL; empty while recording."""
        return [_request_text(exchange) for exchange in self._tape.unused()]

    def __repr__(self) -> str:
        return f"<penstock.testing.Cassette {self.path.name} ({self.mode})>"


@contextmanager
def cassette(
    path: str | Path,
    mode: CassetteMode = "replay",
    *,
    secrets: Sequence[str] = (),
    hidden: Sequence[str] = (),
    visible: Sequence[str] = (),
    repeats: bool = False,
    all_used: bool = False,
) -> Iterator[Cassette]:
    """Replay the HTTP requests of a block from a file, or record them into it.

    All requests of the library `requests` in this process are replayed or recorded, those of penstock's REST
    source and of plain sessions, in all threads, and those of work items that run on executors. Other
    libraries are not.

    `replay` makes no request: one that was not recorded is an error that names the nearest recorded one.
    `record` sends the requests and writes the file when the block ends without an error. `auto` records if
    the file does not exist, except where the environment variable `CI` is set. The environment variable
    `PENSTOCK_CASSETTES` wins over `mode`.

    Requests are equal if method, URL, parameters in any order, and body are. Responses to equal requests are
    replayed in the order of recording; with `repeats` the last one is repeated. With `all_used` a recorded
    request that is not made is an error.

    Credentials are masked in the file, and match any value: in headers, in parameters and fields that are
    named like credentials, and settings that are secrets anywhere. `secrets` are more values to mask,
    `hidden` more names of parameters, fields and headers. `visible` are names that are not masked.

    >>> import requests
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "orders.json"
    >>> request = {"method": "GET", "url": "https://api.example.com/orders", "headers": {}}
    >>> response = {"status": 200, "reason": "OK", "headers": {}, "body": {"json": [{"id": 7}]}}
    >>> exchange = {"request": request, "response": response}
    >>> _ = path.write_text(json.dumps({"format": 1, "exchanges": [exchange]}))
    >>> with cassette(path):
    ...     requests.get("https://api.example.com/orders").json()
    [{'id': 7}]
    """
    path = Path(path)
    active_mode = _resolve_mode(mode, path)
    if task_context() is not None:
        raise UsageError(
            f"cassette {path.name} cannot be used inside of another cassette",
            hint="end the block of the other cassette first",
        )
    with tempfile.TemporaryDirectory(prefix="penstock-cassette-") as folder:
        tape = Tape(
            name=path.name,
            folder=folder,
            exchanges=_read(path) if active_mode == "replay" else None,
            repeats=repeats,
            hidden=hidden,
            visible=visible,
            secrets=secrets,
        )
        context = TaskContext(enter=partial(intercepted_requests, tape), modules=_EXECUTOR_MODULES)
        active = Cassette(path, active_mode, tape)
        with intercepted_requests(tape), entered_by_tasks(context):
            yield active
        if active_mode == "record":
            _write(path, tape)
        elif all_used and (unused := active.unused()):
            lines = "".join(f"\n  {request}" for request in unused)
            raise AssertionError(f"recorded requests of {path.name} were not made ({len(unused)}):{lines}")


def _resolve_mode(mode: str, path: Path) -> CassetteMode:
    chosen = os.environ.get(MODE_VARIABLE) or mode
    match chosen:
        case "replay" | "record":
            return chosen
        case "auto":
            return "replay" if path.exists() or os.environ.get("CI") else "record"
        case _:
            raise UsageError(
                f"{chosen!r} is not a mode of cassettes",
                hint=f"use one of: {', '.join(get_args(CassetteMode))}",
            )


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(
            f"cassette {path} does not exist", hint=f"record it once: {MODE_VARIABLE}=record pytest"
        ) from None
    except ValueError as error:
        raise UsageError(
            f"cassette {path} is not valid JSON: {error}", hint="correct the file, or record it again"
        ) from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise UsageError(
            f"cassette {path} does not have format {_FORMAT}", hint="record it again with this version"
        )
    exchanges: list[dict[str, Any]] = document["exchanges"]
    return exchanges


def _write(path: Path, tape: Tape) -> None:
    """Write the recorded exchanges, sorted, so that two recordings differ only where the API does."""
    # Masked again, because a token may be registered after the response that contains it was recorded.
    scrubber = tape.scrubber()
    exchanges = sorted(map(scrubber.exchange, tape.recorded()), key=_sort_key)
    if not exchanges:
        raise UsageError(
            f"no request was made while cassette {path.name} recorded",
            hint="read the source in the block, with requests or penstock's REST source",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": _FORMAT, "exchanges": exchanges}, indent=2, ensure_ascii=False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(f"{text}\n", encoding="utf-8")
    temporary.replace(path)


def _sort_key(exchange: Mapping[str, Any]) -> tuple[str, str, str]:
    method, url, body = recorded_key(exchange["request"])
    return url, method, body


def _request_text(exchange: Mapping[str, Any]) -> str:
    return f"{exchange['request']['method']} {exchange['request']['url']}"
