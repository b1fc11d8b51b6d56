"""Refuses what a destination is known to refuse, before anything is started."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from penstock.errors import LoadClientUnsupportedWriteDisposition, UsageError
from penstock.interfaces.capabilities import TLoaderFileFormat

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from penstock.interfaces import Destination, Flow


def check_dispositions(flows: Sequence[Flow], destination: Destination) -> None:
    """Refuse dispositions, merge strategies and formats that the destination does not know."""
    able, name = destination.capabilities, destination.destination_name
    hints = [stream.hints for flow in flows for stream in flow.streams]
    _check_supported((one.disposition for one in hints), (*able.supported_write_dispositions, "skip"), name)
    _check_supported((one.merge_strategy for one in hints), able.supported_merge_strategies, name)
    if able.supported_table_formats:
        said = (one.table_format for one in hints if isinstance(one.table_format, str))
        _check_supported(said, able.supported_table_formats, name)


def check_file_format(file_format: str | None) -> None:
    """Refuse a format of files that nobody has."""
    known = get_args(TLoaderFileFormat)
    if file_format is not None and file_format not in known:
        raise UsageError(
            f"{file_format!r} is not a file format",
            hint=f"use one of: {', '.join(known)}",
            file_format=file_format,
        )


def _check_supported(values: Iterable[str | None], allowed: Collection[str], destination_name: str) -> None:
    for word in values:
        if word is not None and word not in allowed:
            raise LoadClientUnsupportedWriteDisposition(
                write_disposition=word, supported=tuple(sorted(allowed)), destination=destination_name
            )
