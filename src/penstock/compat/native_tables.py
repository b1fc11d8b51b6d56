"""The tables of a pipeline as objects of the libraries deltalake and pyiceberg, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from penstock.destinations.delta.adapter import DeltaClient
from penstock.destinations.delta.native_tables import open_delta_table
from penstock.destinations.filesystem.adapter import FilesystemClient
from penstock.destinations.iceberg.adapter import IcebergClient
from penstock.destinations.iceberg.native_tables import open_iceberg_table
from penstock.errors import TableNotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from penstock.destinations.delta.native_tables import NativeDeltaTable
    from penstock.interfaces import JobClientBase
    from penstock.pipeline import Pipeline

TableFormat: TypeAlias = Literal["delta", "iceberg"]


def get_delta_tables(
    pipeline: Pipeline, *tables: str, schema_name: str | None = None, include_dlt_tables: bool = False
) -> dict[str, NativeDeltaTable]:
    """Open the Delta tables of a schema by the library deltalake, by name; without names all of them.

    Spark is not started. Each table is opened at its newest version, also while a load is not complete: use
    `pipeline.dataset()` for complete loads only. With `include_dlt_tables` tables such as `_dlt_quarantine`
    are among them; loads, states and schemas are files, and never are.
    """
    return _open_tables(
        pipeline,
        "delta",
        open_delta_table,
        tables,
        schema_name=schema_name,
        include_dlt_tables=include_dlt_tables,
    )


def get_iceberg_tables(
    pipeline: Pipeline, *tables: str, schema_name: str | None = None, include_dlt_tables: bool = False
) -> dict[str, Any]:
    """Open the Iceberg tables of a schema by the library pyiceberg, by name; without names all of them.

    Install it by `pip install pyiceberg`. The tables are `StaticTable` objects at their newest version, which
    can be read and not changed. Spark is not started.
    """
    return _open_tables(
        pipeline,
        "iceberg",
        open_iceberg_table,
        tables,
        schema_name=schema_name,
        include_dlt_tables=include_dlt_tables,
    )


def _open_tables(
    pipeline: Pipeline,
    table_format: TableFormat,
    open_table: Callable[..., Any],
    tables: Iterable[str],
    *,
    schema_name: str | None,
    include_dlt_tables: bool,
) -> dict[str, Any]:
    """Open the existing tables of a schema, or those that are named; raise if it has no such table."""
    client = _lake_client(pipeline, table_format)
    schema = pipeline.default_schema if schema_name is None else pipeline.schemas[schema_name]
    names = list(schema.tables) if include_dlt_tables else schema.data_table_names()
    stored, selected = set(client.path_table_names()), set(tables)
    existing = [name for name in names if name in stored]
    for name in sorted(selected.difference(existing)):
        raise TableNotFound(table=name, schema=schema.name, known=existing)
    credentials, caller = client.config.storage_credentials, f"get_{table_format}_tables"
    return {
        name: open_table(name, client.store, credentials, needed_for=caller)
        for name in existing
        if not selected or name in selected
    }


def _lake_client(pipeline: Pipeline, table_format: TableFormat) -> DeltaClient | IcebergClient:
    """Return the client of the tables of a format; raise if they are not in folders."""
    client: JobClientBase | None = pipeline.reading_client()
    if isinstance(client, FilesystemClient):
        client = client.clients.get(table_format)
    expected = DeltaClient if table_format == "delta" else IcebergClient
    if not isinstance(client, expected):
        raise UsageError(
            f"the destination of {pipeline.pipeline_name} has no {table_format} tables",
            hint=f"use the destination {table_format}, or filesystem with table_format={table_format!r}",
        )
    if not client.is_by_path:
        raise UsageError(
            f"the tables of {pipeline.pipeline_name} are in the catalog {client.config}, and only tables by "
            "path can be opened",
            hint="read them by pipeline.dataset(), or open them with the address that the catalog returns",
        )
    return client
