"""How a table is loaded: the file format and the strategies that a destination has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast, get_args

from penstock.errors import (
    LoadClientUnsupportedFileFormats,
    LoadClientUnsupportedWriteDisposition,
    UsageError,
)
from penstock.interfaces.capabilities import WRITTEN_FORMATS, TLoaderReplaceStrategy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.interfaces.capabilities import (
        DestinationCapabilitiesContext,
        TLoaderFileFormat,
        TLoaderMergeStrategy,
    )
    from penstock.schema import TTableSchema

_PAGE_NAMES: Final[Mapping[str, TLoaderReplaceStrategy]] = {
    "classic": "truncate-and-insert",
    "staging": "insert-from-staging",
}


def loader_file_format(
    capabilities: DestinationCapabilitiesContext, table: TTableSchema, *, is_staged: bool = False
) -> TLoaderFileFormat:
    """Return the format in which a destination gets the rows of a prepared table.

    `reference` means that the client reads the rows of the job file; what it writes then is its own choice.
    With a staging destination, the formats are those for staging.
    """
    preferred, supported = _file_formats(capabilities, table, is_staged=is_staged)
    requested = cast("TLoaderFileFormat | None", table.get("file_format"))
    if requested in (None, "preferred"):
        if preferred is None:
            raise UsageError(
                f"the destination loads {table['name']} from staging only",
                hint="pass staging=..., such as staging='filesystem', to penstock.pipeline()",
                table=table["name"],
            )
        return preferred
    if requested not in supported or (preferred != "reference" and requested not in WRITTEN_FORMATS):
        loadable = [name for name in supported if preferred == "reference" or name in WRITTEN_FORMATS]
        raise LoadClientUnsupportedFileFormats(
            table=table["name"], file_format=str(requested), supported=tuple(loadable)
        )
    return "reference" if preferred == "reference" else requested


def _file_formats(
    capabilities: DestinationCapabilitiesContext, table: TTableSchema, *, is_staged: bool
) -> tuple[TLoaderFileFormat | None, Sequence[TLoaderFileFormat]]:
    if is_staged and capabilities.supported_staging_file_formats:
        staging = [name for name in capabilities.supported_staging_file_formats if name in WRITTEN_FORMATS]
        preferred = capabilities.preferred_staging_file_format
        return (preferred if preferred in staging else staging[0]), staging
    preferred, supported = (
        capabilities.preferred_loader_file_format,
        capabilities.supported_loader_file_formats,
    )
    selector = capabilities.loader_file_format_selector
    return (preferred, supported) if selector is None else selector(preferred, supported, table_schema=table)


def merge_strategy(
    capabilities: DestinationCapabilitiesContext, table: TTableSchema
) -> TLoaderMergeStrategy | None:
    """Return the merge strategy of a prepared table; None if it is not merged.

    The destination's default is the first strategy that it has for the table.
    """
    if table.get("write_disposition") != "merge":
        return None
    supported = capabilities.supported_merge_strategies
    if capabilities.merge_strategies_selector is not None:
        supported = capabilities.merge_strategies_selector(supported, table_schema=table)
    requested = table.get("x-merge-strategy") or next(iter(supported), None)
    if requested is not None and requested not in supported:
        raise _unsupported(str(requested), supported, table)
    return cast("TLoaderMergeStrategy | None", requested)


def replace_strategy(
    capabilities: DestinationCapabilitiesContext, table: TTableSchema, requested: str | None = None
) -> TLoaderReplaceStrategy | None:
    """Return the replace strategy of a prepared table; None if it is not replaced.

    `requested` is the setting of the destination, by a name of the page or of dlt.

    >>> from penstock.interfaces import find_destination
    >>> delta, table = find_destination("delta").capabilities(), {"name": "t", "write_disposition": "replace"}
    >>> replace_strategy(delta, table, "classic")
    'truncate-and-insert'
    """
    if table.get("write_disposition") != "replace":
        return None
    supported = capabilities.supported_replace_strategies
    if capabilities.replace_strategies_selector is not None:
        supported = capabilities.replace_strategies_selector(supported, table_schema=table)
    name = next(iter(supported), None) if requested is None else _PAGE_NAMES.get(requested, requested)
    if name is not None and name not in supported:
        raise _unsupported(str(requested), supported, table)
    return cast("TLoaderReplaceStrategy | None", name)


def check_replace_strategy(
    capabilities: DestinationCapabilitiesContext, requested: str | None, destination: str
) -> None:
    """Refuse a setting for `replace_strategy` that no table of the destination can have.

    >>> from penstock.interfaces import find_destination
    >>> check_replace_strategy(find_destination("delta").capabilities(), "nonsense", "lake")
    Traceback (most recent call last):
    penstock.errors.LoadClientUnsupportedWriteDisposition: lake does not support 'nonsense'...
    """
    if requested is None:
        return
    allowed: tuple[str, ...] = tuple(capabilities.supported_replace_strategies)
    if capabilities.replace_strategies_selector is not None or not allowed:
        allowed = get_args(TLoaderReplaceStrategy)  # a table decides, or none is replaced
    if _PAGE_NAMES.get(requested, requested) not in allowed:
        raise LoadClientUnsupportedWriteDisposition(
            write_disposition=requested, supported=(*_PAGE_NAMES, *allowed), destination=destination
        )


def _unsupported(
    strategy: str, supported: Sequence[str], table: TTableSchema
) -> LoadClientUnsupportedWriteDisposition:
    return LoadClientUnsupportedWriteDisposition(
        write_disposition=strategy, supported=tuple(supported), table=table["name"]
    )
