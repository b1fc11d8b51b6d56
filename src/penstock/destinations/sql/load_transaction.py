"""The transaction of a load: schema changes, the rows of all tables, and the system tables."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from penstock.destinations.lake.plan import plan_chain
from penstock.destinations.sql.chain_statements import ChainStatements
from penstock.destinations.sql.ddl import drop_column, drop_table
from penstock.destinations.sql.row_undo import delete_rows
from penstock.destinations.sql.system_tables import SystemTables
from penstock.errors import LoadOvertaken
from penstock.interfaces import AppliedJob, renewal_of
from penstock.schema import root_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.destinations.lake.hints import MergeStrategy
    from penstock.destinations.sql.connection import SqlConnection
    from penstock.destinations.sql.dialect import DatasetNames
    from penstock.destinations.sql.staging import StagedTable
    from penstock.interfaces import CommitRecord, LoadCommit
    from penstock.package import JobFile
    from penstock.schema import Table


class TableSource(Protocol):
    """The part of a client that the transaction uses."""

    def open_job(self, path: str) -> JobFile:
        """Return the job of a file."""

    def staged_table(self, connection: SqlConnection, job: JobFile, table: Table) -> StagedTable:
        """Return the staged rows of a job."""

    def create_tables(self, connection: SqlConnection, tables: Iterable[Table]) -> object:
        """Create the tables and columns that do not exist."""


@dataclass(frozen=True, kw_only=True)
class LoadTransaction:
    """The statements of one load, over a connection with an open transaction."""

    connection: SqlConnection
    names: DatasetNames
    tables: Mapping[str, Table]
    """The tables of the schema, with the hints of the load."""
    source: TableSource
    default_strategy: MergeStrategy

    def run(self, load: LoadCommit) -> tuple[AppliedJob, ...] | None:
        """Run all statements and confirm the load; return None if it was committed before."""
        system_tables = SystemTables(self.connection, self.names)
        if system_tables.find_load(load.record.load_id) is not None:
            return None
        _refuse_overtaken(load.record, system_tables.last_load(load.record.pipeline_name or ""))
        system_tables.create()
        existing = self._prepare(load)
        staged = {
            name: self.source.staged_table(self.connection, self.source.open_job(path), self.tables[name])
            for name, path in load.job_paths.items()
        }
        rows: Counter[str] = Counter()
        rows.update(self._delete_undone(load))
        for root in dict.fromkeys(root_table(name, self.tables).name for name in load.tables):
            rows.update(self._run_chain(root, staged, existing, load))
        drop_temporary_tables(self.connection, staged.values())
        applied = tuple(AppliedJob(table=name, rows=count) for name, count in rows.items())
        system_tables.insert_schema(load.schema)
        stored = system_tables.last_state(load.record.pipeline_name or "")
        if stored is None or stored.version_hash != load.state.version_hash:
            system_tables.insert_state(load.state)
        results = {job.table: {"rows": job.rows} for job in applied}
        system_tables.insert_load(replace(load.record, tables={**results, **load.record.tables}))
        load.confirm()
        return applied

    def _prepare(self, load: LoadCommit) -> frozenset[str]:
        """Drop, create and extend tables; return those that existed before and are not recreated."""
        live = self.connection.live_columns(self.names)
        recreated = {name for name in load.job_paths if renewal_of(name, self.tables) == "table"}
        for name in (*load.removed_tables, *recreated):
            if name in live:
                self.connection.execute(drop_table(self.names.table(name)))
        names = [name for name in load.tables if name in load.job_paths or self._may_have_rows(name)]
        self.source.create_tables(self.connection, [self.tables[name] for name in names])
        return frozenset(live.keys() - recreated)

    def _delete_undone(self, load: LoadCommit) -> dict[str, int]:
        """Delete the rows of undone loads, and the columns that they added; return the rows by table."""
        deleted: dict[str, int] = {}
        # Nested rows are found by their parents.
        for name in sorted(load.undone_tables, key=self._depth, reverse=True):
            statement = delete_rows(name, self.tables, self.names, load.record.undoes)
            deleted[name] = self.connection.execute(statement) or 0
        for name, columns in load.removed_columns.items():
            for column in columns:
                self.connection.execute(drop_column(self.names.table(name), column))
        return deleted

    def _depth(self, name: str) -> int:
        parent = self.tables[name].parent
        return 0 if parent is None else 1 + self._depth(parent)

    def _may_have_rows(self, name: str) -> bool:
        return self.tables[name].has_seen_data and renewal_of(name, self.tables) != "table"

    def _run_chain(
        self, root: str, staged: Mapping[str, StagedTable], existing: frozenset[str], load: LoadCommit
    ) -> Counter[str]:
        chain = ChainStatements(
            plan=plan_chain(
                root, self.tables, with_rows=staged.keys(), default_strategy=self.default_strategy
            ),
            tables=self.tables,
            staged=staged,
            existing=existing,
            names=self.names,
            dialect=self.connection.dialect,
            created_at=load.created_at,
        )
        steps = chain.plan.steps
        rows: Counter[str] = Counter({step.table: 0 for step in steps if step.commit != "nothing"})
        for statement in chain.statements():
            changed = self.connection.execute(statement.expression)
            if statement.table is not None:
                rows[statement.table] += changed or 0
        return rows


def _refuse_overtaken(record: CommitRecord, last: CommitRecord | None) -> None:
    """Refuse a load whose state is not that of the last one: a run with other packages came first."""
    if last is None or last.sequence is None or record.sequence is None or last.sequence < record.sequence:
        return
    raise LoadOvertaken(load_id=record.load_id, sequence=record.sequence, other=last.load_id)


def drop_temporary_tables(connection: SqlConnection, staged: Iterable[StagedTable]) -> None:
    """Drop those of the staged tables that exist for their connection only."""
    for table in staged:
        if isinstance(table.relation, exp.Table) and table.is_temporary:
            connection.execute(drop_table(table.relation))
