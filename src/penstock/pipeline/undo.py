"""The undo of complete loads, by a separate load: what it takes back, and its manifest."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import dropwhile, islice, takewhile
from typing import TYPE_CHECKING, Final, TypedDict

from penstock.errors import UndoRefused, UsageError
from penstock.extract.cursor.boundary_files import missing_boundaries
from penstock.interfaces import WithRowUndo, WithTableRestore
from penstock.load.undo import loads_of_pipeline
from penstock.normalize.normalized import NormalizedPackage, save_normalized
from penstock.package import Manifest, UndoneLoads
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.typed_json import to_typed
from penstock.pipeline.restore import new_pipeline_state, with_destination_naming
from penstock.pipeline.state import decode_state, state_hash
from penstock.schema import Schema, root_table
from penstock.schema.defaults import LOAD_ID_COLUMN, STATE_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from penstock.interfaces import CommitRecord, TableRestore
    from penstock.package import Packages
    from penstock.package.lease import Lease
    from penstock.pipeline.state import State
    from penstock.pipeline.unbound_packages import UnboundPackages
    from penstock.pipeline.workspace import Workspace

_AFTER: Final = "after"
_BEFORE: Final = "before"
_DROPPED: Final = "dropped"


class TableUndoDocument(TypedDict):
    """A table that an undo restores or drops."""

    table: str
    action: str
    """`restore`, `drop`, or `delete rows` where the destination keeps no versions."""
    version: int | None
    """The version that is restored; null for a table that is dropped."""
    other_changes: list[str]
    """Commits of other writers since that version."""
    obstacle: str | None
    """Why the version cannot be restored."""


class UndoDocument(TypedDict):
    """The loads that were undone, and the load that did it."""

    pipeline_name: str
    load_id: str | None
    undone: list[str]
    schema_name: str
    tables: list[TableUndoDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadUndo:
    """The undo of complete loads: the tables that it restores, and the load that did it.

    Printed, it shows what happens to each table.
    """

    pipeline_name: str
    schema_name: str
    undone: tuple[str, ...]
    """The ids of the undone loads, oldest first."""
    tables: tuple[TableRestore, ...] = ()
    """The tables that these loads changed, with the versions before them."""
    load_id: str | None = None
    """The id of the load of the undo; None if nothing was changed yet."""
    is_pending: bool = False
    """Whether an earlier call has begun this undo, and the next call completes it."""

    @property
    def other_changes(self) -> tuple[str, ...]:
        """Changes of other writers since, by table, which only `force` overwrites."""
        return tuple(
            f"{planned.table} has {change}" for planned in self.tables for change in planned.other_changes
        )

    @property
    def obstacles(self) -> tuple[str, ...]:
        """The reasons why a table cannot be restored at all."""
        return tuple(planned.obstacle for planned in self.tables if planned.obstacle is not None)

    def raise_if_refused(self, *, force: bool) -> None:
        """Raise `UndoRefused` if a table cannot be restored, or without `force` if others have changed it."""
        reasons = self.obstacles or (() if force else self.other_changes)
        if reasons:
            raise UndoRefused(load_ids=self.undone, reasons=reasons, can_force=not self.obstacles)

    def asdict(self) -> UndoDocument:
        """Return plain data."""
        return UndoDocument(
            pipeline_name=self.pipeline_name,
            load_id=self.load_id,
            undone=list(self.undone),
            schema_name=self.schema_name,
            tables=[
                TableUndoDocument(
                    table=planned.table,
                    action=_action(planned),
                    version=planned.version,
                    other_changes=list(planned.other_changes),
                    obstacle=planned.obstacle,
                )
                for planned in self.tables
            ],
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return a line for the loads, for each of them, and for each table."""
        count = f"{len(self.undone)} {'load' if len(self.undone) == 1 else 'loads'}"
        owner = f"of pipeline {self.pipeline_name}, schema {self.schema_name}"
        title = f"Undo of {count} {owner}:"
        if self.is_pending:
            title = f"Load {self.load_id} has begun to undo {count} {owner}, and is completed:"
        elif self.load_id is not None:
            title = f"Load {self.load_id} undid {count} {owner}:"
        lines = [title, *(f"  {load_id}{_time_of(load_id)}" for load_id in self.undone)]
        width = max((len(planned.table) for planned in self.tables), default=0)
        for planned in sorted(self.tables, key=lambda planned: planned.table):
            effect = "dropped, because these loads created it"
            if planned.deletes_rows:
                effect = "loses the rows of these loads"
            elif planned.version is not None:
                effect = f"back to version {planned.version} from version {planned.newest}"
            lines.append(f"  {planned.table:{width}}  {effect}")
            lines += [f"  {'':{width}}  changed since: {change}" for change in planned.other_changes]
            lines += [f"  {'':{width}}  impossible: {planned.obstacle}"] if planned.obstacle else []
        return lines


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """An undo with what its load stores: the schema and the state before the undone loads."""

    undo: LoadUndo
    schema: Schema
    schema_now: Schema
    state: State

    def to_manifest(self, *, load_id: str, sequence: int, dataset_name: str, overwrites: bool) -> Manifest:
        """Return the manifest of the load."""
        tables_now = self.schema_now.tables
        return Manifest(
            load_id=load_id,
            sequence=sequence,
            pipeline_name=self.undo.pipeline_name,
            dataset_name=dataset_name,
            schema_name=self.undo.schema_name,
            tables=(),
            schema_before=self.schema_now.version_hash,
            schema=dict(self.schema.to_dict()),
            state=to_typed(self.state),
            dropped={
                planned.table: dict(tables_now[planned.table].to_dict())
                for planned in self.undo.tables
                if planned.version is None and not planned.deletes_rows and planned.table in tables_now
            },
            undo=UndoneLoads(
                load_ids=self.undo.undone,
                tables=self.undo.tables,
                overwrites=overwrites,
                removed_columns=self._removed_columns(),
            ),
        )

    def _removed_columns(self) -> dict[str, list[str]]:
        """Return the columns that these loads added to tables of which no version is restored."""
        names = [planned.table for planned in self.undo.tables if planned.deletes_rows]
        columns = {
            name: [
                column.name
                for column in self.schema_now.tables[name].complete_columns()
                if column.name not in {before.name for before in self.schema.tables[name].complete_columns()}
            ]
            for name in names
        }
        return {name: added for name, added in columns.items() if added}


def undo_of(manifest: Manifest) -> LoadUndo:
    """Return the undo that a sealed load is, as a result."""
    undo = manifest.undo
    return LoadUndo(
        pipeline_name=manifest.pipeline_name,
        schema_name=manifest.schema_name,
        undone=() if undo is None else undo.load_ids,
        tables=() if undo is None else undo.tables,
        load_id=manifest.load_id,
    )


def preview_undo(workspace: Workspace, *, load_id: str | None, last: int) -> LoadUndo:
    """Return what the next undo does, which may be to complete an earlier one; nothing is changed."""
    with workspace.client:
        pending = workspace.packages.pending_load()
        if pending is not None and pending.undo is not None and not workspace.is_committed(pending):
            return replace(undo_of(pending), is_pending=True)
        return plan_undo(workspace, load_id=load_id, last=last).undo


def plan_undo(workspace: Workspace, *, load_id: str | None, last: int) -> UndoPlan:
    """Return what the undo of the last loads does; nothing is changed.

    Loads that were undone before, and undos, are not counted. `load_id` is the oldest of the loads.
    """
    if last < 1:
        raise UsageError(f"last must be at least 1, got {last}", hint="last=1 undoes the last load")
    context, ledger = workspace.target.pipeline, workspace.ledger
    records = _Records(loads_of_pipeline(ledger, context.pipeline_name))
    undone = records.effective(last, until=load_id)
    _check_choice(undone, load_id=load_id, last=last, pipeline_name=context.pipeline_name)
    schema_name = undone[-1].schema_name
    if any(record.schema_name != schema_name for record in undone):
        names = ", ".join(dict.fromkeys(record.schema_name for record in undone))
        raise UsageError(
            f"the last {last} loads have the schemas {names}, and an undo takes back loads of one schema",
            hint="undo them one after the other, each with last=1",
        )
    earlier = records.before(undone[0])
    before = next((record for record in earlier if record.schema_name == schema_name), None)
    naming = workspace.target.destination.capabilities().naming_convention
    schema = _stored_schema(workspace, schema_name, before)
    plan = UndoPlan(
        undo=LoadUndo(
            pipeline_name=context.pipeline_name,
            schema_name=schema_name,
            undone=tuple(record.load_id for record in undone),
        ),
        schema=schema or with_destination_naming(Schema(schema_name), naming),
        schema_now=_stored_schema(workspace, schema_name, undone[-1]) or Schema(schema_name),
        state=_state_before(workspace, records.before(undone[0]), undone, schema_name),
    )
    tables = _planned_tables(workspace, plan, undone, records.ids_since(undone[0]))
    return replace(plan, undo=replace(plan.undo, tables=tables))


def refuse_if_pending(sealed: Manifest | None, packages: Packages, unbound: UnboundPackages) -> None:
    """Raise if packages are pending: they build on the loads that an undo takes back."""
    pending = [*packages.pending_packages(), *unbound.packages.with_status("extracted")]
    load_ids = [] if sealed is None else [sealed.load_id]
    load_ids = list(dict.fromkeys([*load_ids, *(package.load_id for package in pending)]))
    if load_ids:
        raise UsageError(
            f"packages are pending: {', '.join(load_ids)}",
            hint="load them with run(), or drop them with drop_pending_packages(), then undo",
        )


def create_undo(plan: UndoPlan, workspace: Workspace, *, sequence: int, overwrites: bool) -> Manifest:
    """Create the package of an undo, and return its manifest. Without a seal it is deleted by a run."""
    package = workspace.packages.new_package()
    package.create()
    return plan.to_manifest(
        load_id=package.load_id,
        sequence=sequence,
        dataset_name=workspace.target.pipeline.dataset_name,
        overwrites=overwrites,
    )


def mark_undo(plan: UndoPlan, manifest: Manifest, workspace: Workspace, lease: Lease) -> None:
    """Mark the package of a sealed undo as normalized, so that it is listed as pending.

    Before the seal it must not have these marks: it would be loaded as a package without rows.
    """
    package = workspace.packages.package(manifest.load_id)
    package.mark_extracted(ExtractManifest(schema_name=manifest.schema_name).to_dict(), epoch=lease.epoch)
    save_normalized(
        package,
        NormalizedPackage(tables=(), folders=(), schema=plan.schema),
        destination_type=workspace.target.destination_type,
        schema_before=manifest.schema_before,
    )


class _Records:
    """The complete loads of a pipeline, newest first, read as far as they are needed."""

    def __init__(self, loads: Iterator[CommitRecord]) -> None:
        self._loads, self._read = loads, list["CommitRecord"]()

    def effective(self, count: int, *, until: str | None) -> list[CommitRecord]:
        """Return the newest loads that are neither undone nor undos, oldest first.

        With `until` also those after that one, so that an error can count them.
        """
        undone: set[str] = set()
        effective: list[CommitRecord] = []
        for record in self:
            undone.update(record.undoes)
            if not record.undoes and record.load_id not in undone:
                effective.append(record)
            ids = {load.load_id for load in effective}
            if len(effective) >= count and (until is None or until in ids or until in undone):
                break
        return effective[::-1]

    def before(self, oldest: CommitRecord) -> Iterator[CommitRecord]:
        """Yield the loads before one, newest first."""
        later = dropwhile(lambda record: record != oldest, self)
        return islice(later, 1, None)

    def ids_since(self, oldest: CommitRecord) -> frozenset[str]:
        """Return the ids of a load and of those after it."""
        later = takewhile(lambda record: record != oldest, self)
        return frozenset((oldest.load_id, *(record.load_id for record in later)))

    def __iter__(self) -> Iterator[CommitRecord]:
        position = 0
        while True:
            if position == len(self._read):
                self._read += islice(self._loads, 1)
            if position == len(self._read):
                return
            yield self._read[position]
            position += 1


def _check_choice(
    undone: Sequence[CommitRecord], *, load_id: str | None, last: int, pipeline_name: str
) -> None:
    """Raise unless the chosen loads are the last ones."""
    ids = [record.load_id for record in undone]
    if load_id is not None and load_id not in ids:
        raise UsageError(
            f"{load_id} is no load of {pipeline_name!r} that can be undone",
            hint="`penstock pipeline NAME packages` lists the loads; one that was undone is not undone again",
            load_id=load_id,
        )
    if load_id is not None and (position := len(ids) - ids.index(load_id)) != last:
        raise UsageError(
            f"load {load_id} is number {position} from the newest, and last is {last}",
            hint=f"loads are undone from the newest on: last={position} (--last {position}) takes back "
            f"{load_id} and those after it",
            load_id=load_id,
        )
    if len(ids) < last:
        raise UsageError(
            f"{pipeline_name!r} has {len(ids)} loads that can be undone, and last is {last}",
            hint="a load that was undone is not undone again" if ids else "nothing was loaded yet",
        )


def _stored_schema(workspace: Workspace, name: str, record: CommitRecord | None) -> Schema | None:
    """Return the schema after a load; None before the first one."""
    if record is None:
        return None
    version_hash = record.schema_version_hash
    row = workspace.ledger.find_schema(schema_name=name, version_hash=version_hash)
    if row is None:
        raise _refused([record], f"version {version_hash} of schema {name} is not stored any more")
    return Schema.from_dict(json.loads(row.schema))


def _state_before(
    workspace: Workspace, earlier: Iterator[CommitRecord], undone: Sequence[CommitRecord], schema_name: str
) -> State:
    """Return the state after the first of the earlier loads, as the newest version of the state."""
    context, ledger = workspace.target.pipeline, workspace.ledger
    rows = {row.get(LOAD_ID_COLUMN): row for row in ledger.rows(STATE_TABLE)}
    stored = next((rows[record.load_id] for record in earlier if record.load_id in rows), None)
    if stored is None:
        state = new_pipeline_state(context, schema_name, workspace.target)
    else:
        state = {**decode_state(stored["state"]), "dataset_name": context.dataset_name}
    if missing := missing_boundaries(workspace.packages.store, state.get("sources", {})):
        reason = f"the rows at the last value of a cursor are not stored any more: {min(missing)}"
        raise _refused(undone, reason)
    current = ledger.last_state(context.pipeline_name)
    version, digest = 0 if current is None else current.version, state_hash(state)
    if current is None or current.version_hash != digest:
        version += 1
    return {**state, "_state_version": version, "_version_hash": digest}


def _planned_tables(
    workspace: Workspace, plan: UndoPlan, undone: Sequence[CommitRecord], own_loads: frozenset[str]
) -> tuple[TableRestore, ...]:
    """Return what happens to each table that these loads changed; nested tables before their roots."""
    tables = _changed_tables(undone)
    if not tables:
        return ()
    with (
        workspace.client_session() as spark,
        workspace.open_client(plan.schema_now, spark) as client,
    ):
        if isinstance(client, WithRowUndo):
            return tuple(_plan_rows(workspace, plan, undone, table, client) for table in tables)
        if not isinstance(client, WithTableRestore):
            name = workspace.target.destination.destination_name
            raise _refused(undone, f"{name} keeps neither versions of tables nor loads of rows")
        versions = {table: _version_before(undone, table) for table in tables}
        return tuple(client.plan_restore(table, version, own_loads) for table, version in versions.items())


def _changed_tables(undone: Sequence[CommitRecord]) -> list[str]:
    """Return the tables that loads have changed, in the order of their commits."""
    for record in undone:
        for table, result in record.tables.items():
            if result.get(_DROPPED):
                raise _refused([record], f"it dropped table {table}, which has no versions any more")
    return list(dict.fromkeys(table for record in undone for table in record.tables))


def _version_before(undone: Sequence[CommitRecord], table: str) -> int | None:
    """Return the version of a table before the first of the loads, oldest first, that changed it."""
    record = next(record for record in undone if table in record.tables)
    result = record.tables[table]
    if result.get(_AFTER) is None:
        raise _refused([record], f"the version of {table} before it was not recorded")
    version: int | None = result.get(_BEFORE)
    return version


def _plan_rows(
    workspace: Workspace, plan: UndoPlan, undone: Sequence[CommitRecord], table: str, client: WithRowUndo
) -> TableRestore:
    """Return the undo of a table without versions: only appended rows and new tables can be taken back."""
    before = plan.schema.tables.get(table)
    is_created = before is None or not before.has_seen_data
    changes = [record for record in undone if table in record.tables]
    reasons = [] if is_created else [_obstacle_to_rows(workspace, record, table) for record in changes]
    planned = client.plan_row_undo(
        table,
        plan.undo.undone,
        is_created=is_created,
        rows=sum(record.tables[table].get("rows") or 0 for record in changes),
    )
    obstacle = next(filter(None, reasons), planned.obstacle)
    return replace(planned, obstacle=obstacle, other_changes=() if obstacle else planned.other_changes)


def _obstacle_to_rows(workspace: Workspace, record: CommitRecord, table: str) -> str | None:
    """Return why the rows before a load are not in a database any more; None if it only added rows."""
    manifest = workspace.packages.slots.read(record.sequence or 0)
    if manifest is None or manifest.load_id != record.load_id:
        return f"it is unknown how load {record.load_id} changed {table}: its manifest is not stored here"
    disposition = root_table(table, Schema.from_dict(dict(manifest.schema)).tables).write_disposition
    if table in {*manifest.dropped, *manifest.truncated} or disposition not in {None, "append"}:
        return f"load {record.load_id} replaced or merged rows of {table}, and the database keeps no old ones"
    return None


def _refused(undone: Sequence[CommitRecord], reason: str) -> UndoRefused:
    ids = tuple(record.load_id for record in undone)
    return UndoRefused(load_ids=ids, reasons=(reason,), can_force=False)


def _time_of(load_id: str) -> str:
    """Return the time of a load, which is its id; empty for an id of another form."""
    try:
        moment = datetime.fromtimestamp(float(load_id), UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f", {moment:%Y-%m-%d %H:%M:%S} UTC"


def _action(planned: TableRestore) -> str:
    if planned.version is not None:
        return "restore"
    return "delete rows" if planned.deletes_rows else "drop"
