"""The arguments of `run`, `extract` and `load`: checked, and merged with the settings."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast, get_args

from penstock.config import config_value, known_sections, read_settings, resolve_configuration
from penstock.errors import LoadClientUnsupportedWriteDisposition, UsageError
from penstock.extract.settings import ExtractConfiguration
from penstock.interfaces.capabilities import TLoaderFileFormat
from penstock.interfaces.table_strategies import loader_file_format

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from penstock.interfaces import Destination, Flow
    from penstock.schema import TTableSchema


def resolve_extract_settings(pipeline_name: str, **overrides: Any) -> ExtractConfiguration:
    """Return the settings of extraction; overrides that are not None replace them."""
    settings = resolve_configuration(
        ExtractConfiguration,
        settings=read_settings(),
        sections=(known_sections.EXTRACT,),
        pipeline_name=pipeline_name,
    )
    interval = overrides.get("commit_interval")
    if isinstance(interval, timedelta):
        overrides["commit_interval"] = interval.total_seconds()
    changes = {
        key: value for key, value in overrides.items() if value is not None and value is not config_value
    }
    resolved = ExtractConfiguration(**{**settings.model_dump(), **changes})
    if resolved.commit_interval is not None and resolved.commit_interval <= 0:
        raise UsageError(
            f"commit_interval must be positive, got {resolved.commit_interval}",
            hint="give seconds or a timedelta, or None to commit once, at the end",
        )
    return resolved


def check_dispositions(flows: Sequence[Flow], destination: Destination) -> None:
    """Refuse dispositions, merge strategies and table formats that the destination does not support."""
    capabilities, name = destination.capabilities(), destination.destination_name
    hints = [stream.hints for flow in flows for stream in flow.streams]
    _check_supported(
        (hint.disposition for hint in hints), (*capabilities.supported_write_dispositions, "skip"), name
    )
    _check_supported((hint.merge_strategy for hint in hints), capabilities.supported_merge_strategies, name)
    if capabilities.supported_table_formats:
        formats = (hint.table_format for hint in hints if isinstance(hint.table_format, str))
        _check_supported(formats, capabilities.supported_table_formats, name)


def check_file_formats(
    flows: Sequence[Flow], destination: Destination, *, default: str | None = None, is_staged: bool = False
) -> None:
    """Refuse the file formats of tables, or the default of all tables, that the destination cannot load."""
    hints = [(stream.name, stream.hints) for flow in flows for stream in flow.streams]
    tables: list[dict[str, Any]] = [
        {
            "name": hint.table_name if isinstance(hint.table_name, str) else name,
            "file_format": hint.file_format,
            **({"table_format": hint.table_format} if isinstance(hint.table_format, str) else {}),
        }
        for name, hint in hints
        if isinstance(hint.file_format, str)
    ]
    if default is not None:
        tables.append({"name": "of all resources", "file_format": default})
    for table in tables:
        loader_file_format(destination.capabilities(), cast("TTableSchema", table), is_staged=is_staged)


def check_file_format(file_format: str | None) -> None:
    """Refuse an unknown file format."""
    formats = get_args(TLoaderFileFormat)
    if file_format is not None and file_format not in formats:
        raise UsageError(
            f"{file_format!r} is not a file format",
            hint=f"use one of: {', '.join(formats)}",
            file_format=file_format,
        )


def _check_supported(values: Iterable[str | None], supported: Collection[str], destination_name: str) -> None:
    for value in values:
        if value is not None and value not in supported:
            raise LoadClientUnsupportedWriteDisposition(
                write_disposition=value, supported=tuple(sorted(supported)), destination=destination_name
            )
