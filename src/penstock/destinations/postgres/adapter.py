"""The client of Postgres: rows by COPY into the staging schema of a load, then one transaction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from psycopg import sql
from sqlglot import exp

from penstock.config import logger
from penstock.destinations.postgres.binary_copy import ValueNotStorable
from penstock.destinations.postgres.connection import placeholder_of
from penstock.destinations.postgres.copy_task import ExecutorCopy
from penstock.destinations.postgres.errors import PRIVILEGE_HINT, raised_as_own
from penstock.destinations.postgres.jdbc import jdbc_options
from penstock.destinations.postgres.page_ranges import no_newer_load, page_ranges
from penstock.destinations.postgres.run import (
    ExecutorsLackPsycopg,
    copy_on_executors,
    is_for_driver,
    job_frame,
    read_queries,
    write_texts,
)
from penstock.destinations.postgres.staging import LoadStaging
from penstock.destinations.postgres.types import copy_type
from penstock.destinations.sql.client import SqlClient, with_typed_id
from penstock.destinations.sql.dialect import column, identifier
from penstock.destinations.sql.run import staged_batches, staged_columns
from penstock.destinations.sql.staging import POSITION
from penstock.errors import (
    DestinationTerminalException,
    DestinationTransientException,
    InternalError,
    UsageError,
)
from penstock.schema.defaults import LOADS_TABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from penstock.destinations.postgres.connection import PostgresConnection, PostgresDatabase
    from penstock.destinations.postgres.copy_task import StagingCopy
    from penstock.destinations.postgres.executors import ExecutorLibraries
    from penstock.destinations.postgres.settings import PostgresConfiguration
    from penstock.destinations.sql.connection import SqlConnection
    from penstock.destinations.sql.staging import StagedTable
    from penstock.interfaces import (
        AppliedJob,
        DestinationCapabilitiesContext,
        LoadCommit,
        PreparedTables,
    )
    from penstock.package import JobFile
    from penstock.schema import Column, Schema, Table, TSchemaTables

_POSITION_TYPE: Final = ('text COLLATE "C"', "text")
_TEXTS_OF_FILES: Final = frozenset(("time without time zone", "json", "jsonb"))
_MAX_DIGITS: Final = 38
_COLUMN_TYPES: Final = """
    SELECT column_name, data_type, numeric_precision FROM information_schema.columns
    WHERE table_schema = %s AND table_name = %s AND table_catalog = current_database()
    ORDER BY ordinal_position
"""
_TABLE_SIZE: Final = """
    SELECT coalesce(pg_relation_size(to_regclass(%s)), 0), current_setting('block_size')::int,
        current_setting('server_version_num')::int
"""
_LOG = logger("penstock.postgres")


class PostgresClient(SqlClient):
    """A dataset of Postgres, which is a schema of the database."""

    database: PostgresDatabase

    def __init__(
        self,
        schema: Schema,
        config: PostgresConfiguration,
        capabilities: DestinationCapabilitiesContext,
        database: PostgresDatabase,
        executors: ExecutorLibraries,
        *,
        spark: SparkSession | None = None,
    ) -> None:
        super().__init__(schema, config, capabilities, database, spark=spark)
        self.settings, self.executors = config, executors
        self._staged: Mapping[str, StagedTable] = {}

    def column_definition(self, column: Column, table: Table) -> exp.ColumnDef:
        """Return the definition of a column, with a unique constraint if it has the hint `unique`."""
        definition = super().column_definition(column, table)
        if self.settings.create_indexes and column.name in table.columns_with("unique"):
            definition.append("constraints", exp.ColumnConstraint(kind=exp.UniqueColumnConstraint()))
        return definition

    # --- staging

    def prepare_tables(
        self,
        tables: Sequence[str],
        *,
        with_rows: Collection[str],
        expected_update: TSchemaTables,
        stored_tables: Mapping[str, Table],
    ) -> PreparedTables:
        """Refuse what no load can do. A job without the right to stage its rows would be left out later."""
        with self.database.connect() as connection:
            check_privilege(connection)
        return super().prepare_tables(
            tables, with_rows=with_rows, expected_update=expected_update, stored_tables=stored_tables
        )

    def stage_rows(self, job: JobFile, table: Table) -> None:
        """Copy the rows of a job into staging, unless they are complete."""
        staging, job_id, table = self._staging(job.load_id), job.name.job_id(), with_typed_id(table)
        with self.database.connect() as connection, raised_as_own():
            if job_id in staging.complete_jobs(connection.native):
                return
            mark = job.mark
            if mark is None:
                raise InternalError(f"job {job_id} is not part of a sealed load", hint="report this")
            staging.create(connection.native, pipeline_name=mark.pipeline_name)
            if is_for_driver(job):
                self._copy_files(job, table, connection, staging)
                return
        self._copy_frame(job, table, staging)

    def staged_table(self, connection: SqlConnection, job: JobFile, table: Table) -> StagedTable:
        """Return the staged rows of a job, as they were when the commit began."""
        del connection, table
        return self._staged[job.name.job_id()]

    def staged_tables(self, connection: SqlConnection, jobs: Mapping[str, JobFile]) -> dict[str, StagedTable]:
        """Look up the staged rows of jobs, and return them by table."""
        for load_id in {job.load_id for job in jobs.values()}:
            self._not_staged(self._staging(load_id), jobs)
        return super().staged_tables(connection, jobs)

    def drop_staging(self, load_id: str) -> None:
        """Drop the staging schema of a load, if it exists."""
        with self.database.connect() as connection, raised_as_own():
            self._staging(load_id).drop(connection.native)

    def commit_load(self, load: LoadCommit) -> Sequence[AppliedJob] | None:
        """Commit a load in one transaction, and drop staging that earlier processes have left.

        Before it, rows that a crash of the server has lost are copied again.
        """
        staging = self._staging(load.record.load_id)
        jobs = {table: self.open_job(path) for table, path in load.job_paths.items()}
        lost = self._not_staged(staging, jobs)
        for job, table in lost:
            self.stage_rows(job, table)
        if lost and self._not_staged(staging, jobs):
            raise DestinationTransientException(
                f"staged rows of load {load.record.load_id} were lost again", hint="run again"
            )
        applied = super().commit_load(load)
        with self.database.connect() as connection, raised_as_own():
            staging.drop_abandoned(connection.native, load.record.pipeline_name or "")
        return applied

    def _not_staged(self, staging: LoadStaging, jobs: Mapping[str, JobFile]) -> list[tuple[JobFile, Table]]:
        """Look up the staged rows, and return the jobs without them."""
        with self.database.connect() as connection, raised_as_own():
            self._staged = staging.complete_jobs(connection.native)
        return [
            (job, self.schema.get_table(table))
            for table, job in jobs.items()
            if job.name.job_id() not in self._staged
        ]

    def _staging(self, load_id: str) -> LoadStaging:
        return LoadStaging(self.dataset_name, load_id)

    def _copy_files(
        self, job: JobFile, table: Table, connection: PostgresConnection, staging: LoadStaging
    ) -> None:
        """Copy the flat files of a job, in one transaction."""
        names, has_position = (
            staged_columns(job, table, self.config.storage_credentials),
            self.is_merged(table.name),
        )
        columns = self._staged_columns(table, names, has_position=has_position)
        credentials = self.config.storage_credentials
        with raised_as_own(table.name), connection.native.transaction():
            copy = staging.begin(connection.native, job.name.job_id(), columns)
            rows, replaced = 0, dict[str, int]()
            for file_columns, batches in staged_batches(job, names, credentials, has_position=has_position):
                file_rows, file_replaced = copy.copy(connection.native, batches, file_columns)
                rows += file_rows
                replaced |= {name: replaced.get(name, 0) + count for name, count in file_replaced.items()}
            staging.complete(connection.native, job.name.job_id(), copy, rows)
        _report_replaced(table.name, replaced)

    def _copy_frame(self, job: JobFile, table: Table, staging: LoadStaging) -> None:
        """Let executors copy the rows of a job, over as many connections as are free."""
        if self.spark is None:
            raise UsageError("rows of this size are copied by Spark", hint="pass spark to the client")
        has_position = self.is_merged(table.name)
        frame = job_frame(job, table, has_position=has_position, spark=self.spark)
        names = tuple(name for name in frame.columns if name != POSITION)
        columns = self._staged_columns(table, names, has_position=has_position)

        def begin() -> StagingCopy:
            with self.database.connect() as connection, raised_as_own(table.name):
                return staging.begin(connection.native, job.name.job_id(), columns)

        copy, rows, replaced = self._send_by_spark(frame, table, staging, begin)
        with self.database.connect() as connection, raised_as_own(table.name):
            staging.complete(connection.native, job.name.job_id(), copy, rows)
        _report_replaced(table.name, replaced)

    def _send_by_spark(
        self, frame: DataFrame, table: Table, staging: LoadStaging, begin: Callable[[], StagingCopy]
    ) -> tuple[StagingCopy, int, Mapping[str, int]]:
        """Let executors copy rows, or let Spark's JDBC writer insert them where executors have no psycopg."""
        if self.executors.have_psycopg(staging.load_id, frame.sparkSession, tasks=self.database.limit.limit):
            copy = begin()
            try:
                return (copy, *self._copy_on_executors(frame, table, copy))
            except ExecutorsLackPsycopg as error:
                self.executors.report_missing(staging.load_id, str(error))
        # Other executors may have copied parts, which are dropped with their attempt.
        copy = begin()
        return (copy, *self._write_by_jdbc(frame, table, copy, staging))

    def _copy_on_executors(
        self, frame: DataFrame, table: Table, copy: StagingCopy
    ) -> tuple[int, Mapping[str, int]]:
        database = self.database
        parameters = self.settings.credentials.parameters()
        task = ExecutorCopy(copy, table.name, parameters, database.session_settings)
        with database.limit.acquire(database.limit.limit) as connections:
            return copy_on_executors(frame, task, connections=connections)

    def _write_by_jdbc(
        self, frame: DataFrame, table: Table, copy: StagingCopy, staging: LoadStaging
    ) -> tuple[int, Mapping[str, int]]:
        """Write rows as texts, and copy those of the first writer of each part into the staging table."""
        with self.database.connect() as connection, raised_as_own(table.name):
            texts = staging.begin_texts(connection.native, copy)
        options = jdbc_options(self.settings.credentials, self.database.session_settings)
        with self.database.limit.acquire(self.database.limit.limit, least=2) as connections:
            write_texts(frame, copy, {**options, "dbtable": texts}, connections=connections)
        with self.database.connect() as connection, raised_as_own(table.name):
            notes = staging.copy_texts(connection.native, copy)
            for note in notes:
                if note["error"]:
                    raise ValueNotStorable(**note["error"])
        replaced: Counter[str] = Counter()
        for note in notes:
            replaced.update(note["replaced"])
        return sum(note["rows"] for note in notes), replaced

    def _staged_columns(
        self, table: Table, names: Iterable[str], *, has_position: bool
    ) -> dict[str, tuple[str, str]]:
        """Return the type in SQL and the type in COPY of each column of staging."""
        dialect = self.database.dialect
        columns = {
            name: (
                dialect.type_of(table.columns[name], table).sql(dialect=dialect.name),
                copy_type(table.columns[name].to_dict()),
            )
            for name in names
        }
        return {**columns, POSITION: _POSITION_TYPE} if has_position else columns

    # --- reading

    def placeholder(self, name: str) -> str:
        """Return the placeholder of a named value in a text."""
        return placeholder_of(name)

    def read(self, table: str, version: int | None = None, *, spark: SparkSession) -> DataFrame:
        """Return a frame over a table, with times of day and JSON documents as texts, as files have them.

        A large table is read in ranges of its pages, over at most `max_connections`. They belong to the same
        loads: a read fails if a load ends after the frame was created.
        """
        del version
        with self.database.connect() as connection, raised_as_own():
            live = connection.live_columns(self.names, [LOADS_TABLE])
            types = connection.native.execute(_COLUMN_TYPES, [self.dataset_name, table]).fetchall()
            address = sql.Identifier(self.dataset_name, table).as_string(connection.native)
            size = connection.native.execute(_TABLE_SIZE, [address]).fetchall()[0]
            conditions = page_ranges(*size, most=self.database.limit.limit)
            if len(conditions) > 1 and LOADS_TABLE in live:
                loads = self.names.table(LOADS_TABLE)
                (count,) = connection.query(exp.select(exp.Count(this=exp.Star())).from_(loads))[0]
                conditions = [exp.and_(condition, no_newer_load(loads, count)) for condition in conditions]
        columns = [_read_column(*column_type) for column_type in types]
        query = exp.select(*columns).from_(self.names.table(table))
        queries = [query.where(condition) for condition in conditions] or [query]
        return read_queries(
            [self.database.dialect.text(query) for query in queries],
            jdbc_options(self.settings.credentials, self.database.session_settings),
            spark=spark,
        )


def _read_column(name: str, kind: str, precision: int | None) -> exp.Expression:
    """Return a column of a query, with a type that frames have."""
    if kind in _TEXTS_OF_FILES:
        target = "text"
    elif (precision or 0) > _MAX_DIGITS:
        # The type of `wei`, which is a whole number. A greater number is an error.
        target = f"numeric({_MAX_DIGITS},0)"
    else:
        return column(name)
    cast = exp.Cast(this=column(name), to=exp.DataType.build(target))
    return exp.Alias(this=cast, alias=identifier(name))


def _report_replaced(table: str, replaced: Mapping[str, int]) -> None:
    for name, count in replaced.items():
        _LOG.warning(
            "%d texts of %s.%s have a character that Postgres cannot store: it is replaced by U+FFFD",
            count,
            table,
            name,
        )


def check_privilege(connection: PostgresConnection) -> None:
    """Raise an error if the user may not create schemas, which staging needs."""
    database, user, may_create = exp.func("current_database"), exp.CurrentUser(), "CREATE"
    privilege = exp.func("has_database_privilege", database, exp.Literal.string(may_create))
    ((name, login, is_granted),) = connection.query(exp.select(database, user, privilege))
    if not is_granted:
        raise DestinationTerminalException(
            f"user {login} has no privilege {may_create} on database {name}, and rows are staged in a schema "
            "of their load",
            hint=PRIVILEGE_HINT,
        )
