"""The history of columns: the schema versions and loads that added or changed them, and their origins."""

from __future__ import annotations

import json
from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.errors import UsageError, suggestion
from penstock.package.file_ledger import VERSION_TABLE
from penstock.pipeline.workspace import Workspace
from penstock.schema import Schema
from penstock.schema.column_names import Namer
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.layout import canonical_row_and_keys
from penstock.schema.origin import ColumnOrigin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from penstock.interfaces.ledger import CommitRecord, CompleteLoad
    from penstock.package import Package
    from penstock.pipeline.target import Target
    from penstock.schema import NamingConvention, StoredSchema
    from penstock.schema.column import Column

_SEARCHED_LOADS: Final = 100
"""The loads before and after the time of a schema version among which its load is searched."""
_MAX_LISTED: Final = 20
"""The number of names that an error lists."""

EventKind = Literal["added", "changed", "removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRef:
    """The names of a column."""

    schema_name: str
    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """A version of a schema that a load stored, or that a pending package will store."""

    schema: StoredSchema
    stored_at: datetime | None = None
    """None for a pending package."""
    package: Package | None = None
    """The pending package."""

    def column(self, ref: ColumnRef) -> Column | None:
        """Return a column that has a type; None if the version has no such column."""
        table = self.schema.tables.get(ref.table)
        column = table.columns.get(ref.column) if table else None
        return column if column is not None and column.is_complete else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEvent:
    """A change of a column by a load."""

    kind: EventKind
    data_type: str | None
    version: SchemaVersion
    load_id: str | None = None
    completed_at: str | None = None
    """The time at which the load was complete; None for a pending package."""
    origin: ColumnOrigin | None = None
    unknown: str = ""
    """The reason why the origin or the load is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnName:
    """The keys that a column is named after, and the name that the naming convention makes of them."""

    keys: tuple[str, ...]
    convention: str
    normalized: str
    is_tagged: bool
    """Whether the column has another name than the normalized one, because another key has that."""


class ColumnHistory:
    """The columns of all schema versions of a pipeline. Spark is not started."""

    def __init__(self, target: Target) -> None:
        self._workspace = Workspace(target, spark=None)
        self.pipeline_name = target.pipeline.pipeline_name

    @cached_property
    def versions(self) -> tuple[SchemaVersion, ...]:
        """The schema versions that loads stored, oldest first, and those of pending packages."""
        ledger, packages = self._workspace.ledger, self._workspace.packages
        rows = ledger.rows(VERSION_TABLE) if ledger.is_initialized() else ()
        stored = [
            SchemaVersion(
                schema=Schema.from_dict(json.loads(row["schema"])).stored,
                stored_at=_as_datetime(row["inserted_at"]),
            )
            for row in rows
        ]
        pending = [
            SchemaVersion(schema=Schema.from_dict(package.normalized_schema()).stored, package=package)
            for package in packages.with_status("normalized")
        ]
        return (*sorted(stored, key=lambda version: version.stored_at or datetime.max), *pending)

    def find(self, text: str) -> ColumnRef:
        """Return the column with a name, or with a name of a table and a dot before it."""
        refs = dict.fromkeys(
            ref for version in reversed(self.versions) for ref in _columns_of(version.schema)
        )
        if not refs:
            raise UsageError(
                f"pipeline {self.pipeline_name!r} has no load with a schema",
                hint="run it first; --location and --dataset-name name another dataset",
            )
        matches = [ref for ref in refs if text in {str(ref), ref.column}]
        if not matches:
            table, dot, _ = text.rpartition(".")
            in_table = [str(ref) for ref in refs if ref.table == table] if dot else []
            similar = in_table or [str(ref) if dot else ref.column for ref in refs]
            raise UsageError(
                f"no schema has a column {text!r}", hint=suggestion(text, dict.fromkeys(similar))
            )
        if len({str(ref) for ref in matches}) > 1:
            names = ", ".join(map(str, matches[:_MAX_LISTED]))
            raise UsageError(f"{len(matches)} tables have a column {text!r}", hint=f"name one of: {names}")
        return matches[0]

    def events(self, ref: ColumnRef) -> Iterator[ColumnEvent]:
        """Yield the changes of a column, oldest first."""
        before: Column | None = None
        for version in self.versions:
            if version.schema.name != ref.schema_name:
                continue
            column = version.column(ref)
            if column is None and before is not None:
                yield self._event("removed", ref, version)
            elif column is not None and (before is None or before.data_type != column.data_type):
                yield self._event("changed" if before else "added", ref, version)
            before = column

    def name_of(self, ref: ColumnRef, event: ColumnEvent) -> ColumnName | None:
        """Return how the column was named; None if its path is unknown."""
        origin, schema = event.origin, event.version.schema
        if origin is None or origin.path is None:
            return None
        naming = self._naming(event.version)
        namer = Namer(naming, schema.normalizers.get("use_break_path_on_normalize") is not False)
        keys = canonical_row_and_keys(origin.path, is_list=origin.value_type == "list")[1]
        normalized = namer.column_name(keys)
        kind = "json" if origin.value_type in {"object", "list"} else origin.value_type
        expected = (
            naming.shorten_fragments(normalized, f"v_{kind}") if origin.rule == "variant" else normalized
        )
        return ColumnName(
            keys=keys,
            convention=str(schema.normalizers.get("names")),
            normalized=normalized,
            is_tagged=ref.column != expected,
        )

    def variant_of(self, ref: ColumnRef, event: ColumnEvent) -> tuple[str, str] | None:
        """Return the column that the values of a variant do not fit, and its type."""
        name = self.name_of(ref, event) if event.origin and event.origin.rule == "variant" else None
        if name is None:
            return None
        base = event.version.column(replace(ref, column=name.normalized))
        return (base.name, str(base.data_type)) if base else None

    def root_table(self, ref: ColumnRef, event: ColumnEvent) -> str:
        """Return the root of the column's table, whose rows the source yields."""
        tables, name = event.version.schema.tables, ref.table
        while name in tables and tables[name].parent:
            name = str(tables[name].parent)
        return name

    def _naming(self, version: SchemaVersion) -> NamingConvention:
        return self._workspace.naming(Schema.from_stored(version.schema))

    def _event(self, kind: EventKind, ref: ColumnRef, version: SchemaVersion) -> ColumnEvent:
        column = version.column(ref)
        data_type = column.data_type if column else None
        if version.package is not None:
            origins = (
                ColumnOrigin.from_dict(item) for item in version.package.read_normalized().get("origins", ())
            )
            return ColumnEvent(
                kind=kind,
                data_type=data_type,
                version=version,
                load_id=version.package.load_id,
                origin=_origin_of(ref, origins),
            )
        commit = self._commit_of(version)
        if commit is None:
            unknown = "no complete load has this schema version"
            return ColumnEvent(kind=kind, data_type=data_type, version=version, unknown=unknown)
        origin, unknown = self._committed_origin(ref, commit)
        return ColumnEvent(
            kind=kind,
            data_type=data_type,
            version=version,
            load_id=commit.load_id,
            completed_at=str(commit.inserted_at),
            origin=origin,
            unknown="" if kind == "removed" or ref.column.startswith(SYSTEM_PREFIX) else unknown,
        )

    def _committed_origin(self, ref: ColumnRef, commit: CommitRecord) -> tuple[ColumnOrigin | None, str]:
        """Return the origin that the sealed manifest of a load records, or why it is unknown."""
        if commit.sequence is None:
            return None, "the load was not made by penstock, and records no origins"
        if commit.pipeline_name != self.pipeline_name:
            return None, f"the load is one of pipeline {commit.pipeline_name!r}, which records the origin"
        manifest = self._workspace.packages.slots.read(commit.sequence)
        if manifest is None or manifest.load_id != commit.load_id:
            return None, "the manifest of the load does not exist any more"
        origin = _origin_of(ref, manifest.origins)
        return origin, "" if origin else "the load records no origin of the column"

    def _commit_of(self, version: SchemaVersion) -> CommitRecord | None:
        """Return the load that stored a version, among the loads around the time at which it was stored."""
        stored_at = version.stored_at
        if stored_at is None:
            return None
        loads = [load for load in self._complete_loads if load.schema_name == version.schema.name]
        index = bisect_right([load.load_id for load in loads], f"{stored_at.timestamp():.6f}")
        first = None
        for load in reversed(loads[max(index - _SEARCHED_LOADS, 0) : index]):
            commit = self._commit_with(version, load)
            if commit is None and first is not None:
                break
            first = commit or first
        later = (self._commit_with(version, load) for load in loads[index : index + _SEARCHED_LOADS])
        return first or next((commit for commit in later if commit), None)

    @cached_property
    def _complete_loads(self) -> tuple[CompleteLoad, ...]:
        return tuple(self._workspace.ledger.complete_loads())

    def _commit_with(self, version: SchemaVersion, load: CompleteLoad) -> CommitRecord | None:
        commit = self._workspace.ledger.find_commit(schema_name=load.schema_name, load_id=load.load_id)
        is_match = commit is not None and commit.schema_version_hash == version.schema.version_hash
        return commit if commit is not None and is_match and commit.status == 0 else None


def _columns_of(schema: StoredSchema) -> Iterator[ColumnRef]:
    for table in schema.tables.values():
        if not table.name.startswith(SYSTEM_PREFIX):
            for column in table.complete_columns():
                yield ColumnRef(schema_name=schema.name, table=table.name, column=column.name)


def _origin_of(ref: ColumnRef, origins: Iterable[ColumnOrigin]) -> ColumnOrigin | None:
    own = (origin for origin in origins if (origin.table, origin.column) == (ref.table, ref.column))
    return next(own, None)


def _as_datetime(value: Any) -> datetime:
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)
