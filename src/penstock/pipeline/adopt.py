"""Adoption of an existing table: its columns become a schema, and its last value the cursor of a resource.

Both are recorded by a package without rows, so that they count with its load or not at all.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from penstock.errors import UsageError, suggestion
from penstock.extract.cursor.boundary_files import BoundaryFiles
from penstock.extract.cursor.cursors import Cursors
from penstock.extract.source_state import typed_copy
from penstock.interfaces.cursor_options import CursorOptions
from penstock.interfaces.existing_tables import ExistingTable, WithExistingTables
from penstock.interfaces.incremental import Incremental
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.rowless_package import save_rowless_package
from penstock.schema import Column, Table, plain_name
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN, SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from penstock.package.lease import LeaseTimes
    from penstock.pipeline.adopt_files import FileAdoption, FileAdoptionDocument
    from penstock.pipeline.restore import PipelineSnapshot
    from penstock.pipeline.state import State
    from penstock.pipeline.workspace import Workspace
    from penstock.schema import NamingConvention
    from penstock.schema.column import TColumnSchema

_CURSOR_TYPES: Final = frozenset(("bigint", "double", "decimal", "text", "timestamp", "date"))
_PENDING_HINT: Final = "load them with run(), or drop them with abort_packages(), then adopt the table"


@dataclass(frozen=True, slots=True, kw_only=True)
class CursorAdoption:
    """The cursor of a resource, as if a run had read the rows of the table."""

    column: str
    path: str
    """The cursor path of the resource, under which the state has the cursor."""
    text_format: str | None
    """The format of the timestamps in the source, if it has texts; None: the values of the table."""
    primary_key: tuple[str, ...]
    boundary: pa.Table
    """The rows with the last value: the column, and the primary key or all others."""

    @property
    def last_value(self) -> Any:
        """The last value that the state gets; None for a table without rows."""
        return self._in_source_form(self.boundary[self.column][0].as_py()) if len(self.boundary) else None

    def write_to(self, state: State, *, source: str, resource: str, files: BoundaryFiles | None) -> None:
        """Write the cursor to a state by the code that reads rows, with the hashes of the last rows."""
        for items, key in self._boundary_items():
            cursors = Cursors(state, source=source, files=files)
            options = CursorOptions(cursor_path=self.column, primary_key=key, allow_external_schedulers=False)
            tracker = cursors.track(Incremental.of(options), resource=resource, stop=lambda: None)
            tracker(items, None)
            cursors.write_state()
        if len(self.boundary):
            entries = state["sources"][source]["resources"][resource]["incremental"]
            entries[self.path] = entries.pop(self.column)

    def _boundary_items(self) -> Iterator[tuple[Any, Any]]:
        """Yield the last rows with each key by which a resource may identify them."""
        rows = [
            {**row, self.column: self._in_source_form(row[self.column])} for row in self.boundary.to_pylist()
        ]
        if not rows:
            return
        if self.primary_key:
            yield rows, list(self.primary_key)
            if len(self.primary_key) == 1:
                # A key that is declared as a name has another hash than one in a list.
                yield rows, self.primary_key[0]
            return
        yield rows, None
        # A source may leave nulls out.
        yield [{name: value for name, value in row.items() if value is not None} for row in rows], None

    def _in_source_form(self, value: Any) -> Any:
        return value if self.text_format is None else value.strftime(self.text_format)


class CursorAdoptionDocument(TypedDict):
    """The cursor of a resource, as plain data."""

    column: str
    path: str
    """The cursor path of the resource."""
    last_value: Any
    """The last value that the state gets; null for a table without rows."""
    rows_at_last_value: int


class AdoptionDocument(TypedDict):
    """The table that a pipeline takes over, as plain data."""

    pipeline_name: str
    dataset_name: str
    location: str
    schema_name: str
    resource: str
    table: str
    version: int | None
    """The version of the table that was read; null before its first commit."""
    rows: int | None
    columns: dict[str, TColumnSchema]
    new_columns: list[str]
    """The columns that the next load adds to the table."""
    primary_key: list[str]
    cursor: CursorAdoptionDocument | None
    files: FileAdoptionDocument | None
    """The files that the next run does not read."""
    notes: list[str]
    load_id: str | None
    """The load that recorded it; null for a dry run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The table that a pipeline takes over, and the records that its load makes."""

    pipeline_name: str
    dataset_name: str
    schema_name: str
    resource: str
    table: ExistingTable
    cursor: CursorAdoption | None
    primary_key: tuple[str, ...]
    files: FileAdoption | None
    location: str
    notes: tuple[str, ...] = ()
    load_id: str | None = None
    """The load that recorded it; None for a dry run."""

    @property
    def new_columns(self) -> tuple[str, ...]:
        """The columns that the next load adds to the table."""
        return tuple(name for name in (LOAD_ID_COLUMN, ID_COLUMN) if name not in self.table.columns)

    def asdict(self) -> dict[str, Any]:
        """Return plain data."""
        cursor = self.cursor
        document: AdoptionDocument = {
            "pipeline_name": self.pipeline_name,
            "dataset_name": self.dataset_name,
            "location": self.location,
            "schema_name": self.schema_name,
            "resource": self.resource,
            "table": self.table.name,
            "version": self.table.version,
            "rows": self.table.rows,
            "columns": {column.name: column.to_dict() for column in self._columns()},
            "new_columns": list(self.new_columns),
            "primary_key": list(self.primary_key),
            "cursor": None
            if cursor is None
            else {
                "column": cursor.column,
                "path": cursor.path,
                "last_value": _as_plain(cursor.last_value),
                "rows_at_last_value": len(cursor.boundary),
            },
            "files": None if self.files is None else self.files.document(),
            "notes": list(self.notes),
            "load_id": self.load_id,
        }
        return dict(document)

    def manifest(self, snapshot: PipelineSnapshot, files: BoundaryFiles | None) -> ExtractManifest:
        """Return the manifest of the package that records the adoption after a snapshot."""
        state = deepcopy(snapshot.state)
        if self.cursor is not None:
            self.cursor.write_to(state, source=self.schema_name, resource=self.resource, files=files)
        if self.files is not None:
            self.files.write_to(state, source=self.schema_name, resource=self.resource, files=files)
        table = Table(
            name=self.table.name,
            resource=self.resource,
            write_disposition="append",
            columns={column.name: column for column in self._columns()},
            extras=self.table.hints,
        ).with_seen_data()
        return ExtractManifest(
            schema_name=self.schema_name,
            declared_tables={table.name: table.to_dict()},
            state=typed_copy(state),
            change_id=snapshot.change_id,
        )

    def _columns(self) -> Iterator[Column]:
        """Yield the columns of the schema; those of the system get their hints from the next load."""
        for column in self.table.columns.values():
            if not column.name.startswith(SYSTEM_PREFIX):
                yield column.with_hints(primary_key=True) if column.name in self.primary_key else column


def plan_adoption(  # noqa: PLR0913 - as of `Pipeline.adopt`
    workspace: Workspace,
    table: str,
    *,
    cursor: str | None = None,
    primary_key: str | Sequence[str] = (),
    resource: str | None = None,
    source: str | None = None,
    cursor_path: str | None = None,
    cursor_format: str | None = None,
    files: FileAdoption | None = None,
) -> Adoption:
    """Return the adoption of a table; nothing is changed. The table is read at its current version.

    Spark is started for tables that no library of this process reads: Iceberg tables, and those of a catalog.
    """
    if not isinstance(workspace.client, WithExistingTables):
        raise UsageError(
            f"a table of {workspace.target.destination.destination_name} cannot be adopted",
            hint="adopt Delta and Iceberg tables: destination='delta' or 'iceberg', with their bucket_url or "
            "their catalog",
        )
    snapshot = workspace.snapshot(source)
    keys = (primary_key,) if isinstance(primary_key, str) else tuple(primary_key)
    with (
        workspace.sessions.deferred_session() as session,
        workspace.open_client(snapshot.schema, session) as client,
    ):
        tables = cast("WithExistingTables", client)
        existing = tables.describe_table(table)
        _check_names(existing, workspace.naming(snapshot.schema))
        for key in keys:
            _require_column(existing, key)
        cursor_adoption = (
            None
            if cursor is None
            else _plan_cursor(tables, existing, cursor, keys, cursor_path, cursor_format)
        )
    adoption = Adoption(
        pipeline_name=workspace.target.pipeline.pipeline_name,
        dataset_name=workspace.target.pipeline.dataset_name,
        schema_name=snapshot.schema.name,
        resource=resource or table,
        table=existing,
        cursor=cursor_adoption,
        primary_key=keys,
        files=files,
        notes=(
            *(() if files is None else files.notes()),
            *(() if cursor_adoption is None else _cursor_notes(cursor_adoption)),
        ),
        location=workspace.client.displayable_location(),
    )
    _check_not_adopted(workspace, adoption, snapshot)
    return adoption


def save_adoption(adoption: Adoption, workspace: Workspace, *, lease_times: LeaseTimes) -> str:
    """Save a package whose load records an adoption; return its id. Refused while packages are pending."""

    def manifest(load_id: str) -> ExtractManifest:
        # Another run may have adopted the table, or read with the cursor, since the plan.
        snapshot = workspace.snapshot(adoption.schema_name)
        _check_not_adopted(workspace, adoption, snapshot)
        return adoption.manifest(snapshot, BoundaryFiles(workspace.packages.store, load_id=load_id))

    return save_rowless_package(
        manifest,
        workspace.packages,
        pipeline_name=adoption.pipeline_name,
        lease_times=lease_times,
        hint=_PENDING_HINT,
    )


def _plan_cursor(
    client: WithExistingTables,
    existing: ExistingTable,
    cursor: str,
    keys: tuple[str, ...],
    path: str | None,
    text_format: str | None,
) -> CursorAdoption:
    column = _require_column(existing, cursor)
    if column.data_type not in _CURSOR_TYPES:
        raise UsageError(
            f"column {cursor} of table {existing.name} has type {column.data_type}, which has no order",
            hint=f"use a cursor of type {', '.join(sorted(_CURSOR_TYPES))}",
        )
    columns = keys or tuple(name for name in existing.columns if not name.startswith(SYSTEM_PREFIX))
    boundary = client.rows_at_maximum(existing, cursor, tuple(dict.fromkeys((cursor, *columns))))
    adoption = CursorAdoption(
        column=cursor,
        path=path or cursor,
        text_format=text_format,
        primary_key=keys,
        boundary=boundary,
    )
    if text_format is not None and len(boundary):
        _check_text_format(adoption, boundary[cursor][0].as_py())
    return adoption


def _check_text_format(cursor: CursorAdoption, value: Any) -> None:
    """Raise for a format that loses a part of the last value: the next run would read from another one."""
    if not isinstance(value, date):
        raise UsageError(
            f"the cursor {cursor.column} is a {type(value).__name__}, which has no format",
            hint="pass cursor_format for timestamps and dates only",
        )
    text = value.strftime(str(cursor.text_format))
    try:
        parsed = datetime.strptime(text, str(cursor.text_format))
    except ValueError:
        parsed = None
    expected = value.replace(tzinfo=None) if isinstance(value, datetime) else value
    if parsed is None or (parsed if isinstance(value, datetime) else parsed.date()) not in {expected}:
        raise UsageError(
            f"the format {cursor.text_format!r} turns the last value {value} into {text!r}, which is another",
            hint="pass the format of the texts in the source, such as %Y-%m-%dT%H:%M:%S.%fZ",
        )


def _cursor_notes(cursor: CursorAdoption) -> Iterator[str]:
    if not len(cursor.boundary):
        yield "the table has no rows: the next run reads from the initial value of the cursor"
    elif not cursor.primary_key:
        yield (
            "without a primary key, rows at the last value are recognized only if the source yields them "
            "with the columns of the table; pass the primary key of the resource"
        )


def _require_column(existing: ExistingTable, name: str) -> Column:
    column = existing.columns.get(name)
    if column is None:
        raise UsageError(
            f"table {existing.name} has no column {name!r}", hint=suggestion(name, list(existing.columns))
        )
    return column


def _check_names(existing: ExistingTable, naming: NamingConvention) -> None:
    """Raise for names that loads would normalize to others: new rows would get other columns."""
    renamed = {
        name: plain_name(name, naming)
        for name in existing.columns
        if not name.startswith(SYSTEM_PREFIX) and plain_name(name, naming) != name
    }
    if naming.normalize_tables_path(existing.name) != existing.name:
        renamed = {existing.name: naming.normalize_tables_path(existing.name), **renamed}
    if renamed:
        names = ", ".join(f"{name} -> {normalized}" for name, normalized in renamed.items())
        raise UsageError(
            f"the naming convention {naming.name} renames {names}: new rows would get into other columns",
            hint="rename the columns, or pass a schema whose naming convention keeps the names, such as "
            "sql_cs_v1, by import_schema_path",
            table=existing.name,
            renamed=renamed,
        )


def _check_not_adopted(workspace: Workspace, adoption: Adoption, snapshot: PipelineSnapshot) -> None:
    """Raise if the pipeline has the table in a schema already, or a cursor of the resource."""
    name = adoption.table.name
    for schema_name in snapshot.state["schema_names"]:
        schema = snapshot.schema if schema_name == snapshot.schema.name else None
        tables = (schema or workspace.snapshot(schema_name).schema).tables
        if name in tables and tables[name].columns:
            raise UsageError(
                f"schema {schema_name} of pipeline {adoption.pipeline_name!r} has the table {name} already",
                hint="run the pipeline: it continues the table as it is",
                table=name,
            )
    states: Any = snapshot.state.get("sources", {}).get(adoption.schema_name, {}).get("resources", {})
    if states.get(adoption.resource, {}).get("incremental") and (adoption.cursor or adoption.files):
        raise UsageError(
            f"resource {adoption.resource} of pipeline {adoption.pipeline_name!r} has a cursor already",
            hint="name another resource, or delete its state: "
            f"penstock pipeline {adoption.pipeline_name} drop {adoption.resource} --state-only",
        )


def _as_plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
