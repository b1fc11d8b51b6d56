"""The staging schema of a load: a table for each attempt of a job, and which attempts are complete.

Its tables are unlogged: a crash of the server empties them together with the list of complete attempts, so
rows are then copied again from the package.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import psycopg
from psycopg import sql
from sqlglot import exp

from penstock.destinations.postgres.copy_task import PARTS_TABLE, StagingCopy
from penstock.destinations.postgres.text_rows import text_column
from penstock.destinations.sql.dialect import identifier
from penstock.destinations.sql.staging import POSITION, StagedTable
from penstock.errors import DestinationTransientException

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MAX_NAME_BYTES: Final = 63
_JOBS_TABLE: Final = "jobs"
_NAME_INFIX: Final = "_staging_"
_COMMENT: Final = "penstock: rows of load {} of pipeline {}"
_COMMENT_PATTERN: Final = re.compile(r"penstock: rows of load (?P<load>\S+) of pipeline (?P<pipeline>.*)")
_SCHEMA: Final = """
    CREATE UNLOGGED TABLE {jobs} (
        job text PRIMARY KEY, attempt text NOT NULL, columns text[] NOT NULL, rows bigint);
    CREATE UNLOGGED TABLE {parts} (
        attempt text, part bigint, rows bigint NOT NULL, PRIMARY KEY (attempt, part))
"""
_TEXTS: Final = """
    CREATE UNLOGGED TABLE {table} (
        {columns}, part bigint, note text, written_by bigint NOT NULL DEFAULT txid_current())
"""
_NOTES: Final = """
    SELECT note FROM {table}
    JOIN (
        SELECT part, min(written_by) AS written_by FROM {table} WHERE note IS NOT NULL GROUP BY part
    ) AS writers USING (part, written_by) WHERE note IS NOT NULL
"""
_INSERT: Final = """
    INSERT INTO {target} ({names}) SELECT {values} FROM {table}
    JOIN (
        SELECT part, min(written_by) AS written_by FROM {table} WHERE note IS NOT NULL GROUP BY part
    ) AS writers USING (part, written_by) WHERE note IS NULL
"""
# A cast to a type with a length would cut texts.
_ASSIGNED: Final = frozenset(("text", "bytea"))
_UNCAST, _CAST = "{0}", "CAST({0} AS {1})"


@dataclass(frozen=True, slots=True)
class LoadStaging:
    """The staging schema of one load."""

    dataset: str
    load_id: str

    @property
    def schema(self) -> str:
        """The name of the schema, of at most 63 bytes.

        >>> LoadStaging("shop", "1700000000.1").schema
        'shop_staging_614c6fbeec'
        """
        digest = hashlib.sha256(f"{self.dataset}/{self.load_id}".encode()).hexdigest()[:10]
        suffix = f"{_NAME_INFIX}{digest}"
        prefix = self.dataset.encode()[: _MAX_NAME_BYTES - len(suffix)].decode(errors="ignore")
        return f"{prefix}{suffix}"

    def create(self, native: psycopg.Connection[Any], *, pipeline_name: str) -> None:
        """Create the schema if it does not exist."""
        with native.transaction():
            # Of two jobs that create it at the same time, one would fail.
            native.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [self.schema])
            exists = native.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [self.schema])
            if exists.fetchone() is not None:
                return
            name = sql.Identifier(self.schema)
            native.execute(sql.SQL("CREATE SCHEMA {}").format(name))
            comment = sql.Literal(_COMMENT.format(self.load_id, pipeline_name))
            native.execute(sql.SQL("COMMENT ON SCHEMA {} IS {}").format(name, comment))
            native.execute(sql.SQL(_SCHEMA).format(jobs=self._jobs, parts=self._table(PARTS_TABLE)))

    def drop(self, native: psycopg.Connection[Any]) -> None:
        """Drop the schema with its tables, if it exists."""
        native.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.schema)))

    def complete_jobs(self, native: psycopg.Connection[Any]) -> dict[str, StagedTable]:
        """Return the staged rows of complete attempts, by job."""
        exists = native.execute("SELECT to_regclass(%s)", [self._jobs.as_string(native)]).fetchone()
        if exists is None or exists[0] is None:
            return {}
        query = sql.SQL("SELECT job, attempt, columns FROM {} WHERE rows IS NOT NULL").format(self._jobs)
        return {job: self._relation(attempt, columns) for job, attempt, columns in native.execute(query)}

    def begin(
        self, native: psycopg.Connection[Any], job: str, columns: Mapping[str, tuple[str, str]]
    ) -> StagingCopy:
        """Create a table for a new attempt of a job, and forget the earlier ones; return its copy.

        `columns` have their type in SQL, and the type of their values in COPY. A task of an earlier attempt
        that still runs writes into a table that does not exist any more.
        """
        attempt = uuid.uuid4().hex
        definitions = [
            sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(sql_type))
            for name, (sql_type, _) in columns.items()
        ]
        with native.transaction():
            previous = native.execute(
                sql.SQL("SELECT attempt FROM {} WHERE job = %s FOR UPDATE").format(self._jobs), [job]
            ).fetchone()
            if previous is not None:
                native.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self._table(previous[0])))
            native.execute(
                sql.SQL("CREATE UNLOGGED TABLE {} ({})").format(
                    self._table(attempt), sql.SQL(", ").join(definitions)
                )
            )
            statement = sql.SQL(
                "INSERT INTO {} VALUES (%s, %s, %s, NULL) ON CONFLICT (job) DO UPDATE "
                "SET attempt = excluded.attempt, columns = excluded.columns, rows = NULL"
            ).format(self._jobs)
            native.execute(statement, (job, attempt, list(columns)))
        types = {name: copied for name, (_, copied) in columns.items()}
        return StagingCopy(schema=self.schema, table=attempt, types=types)

    def begin_texts(self, native: psycopg.Connection[Any], copy: StagingCopy) -> str:
        """Create the table for texts of an attempt, and return its quoted name.

        A JDBC writer commits each partition in one transaction, and a task that runs twice repeats its rows:
        so each row has the number of its transaction.
        """
        kinds = [sql.SQL("bytea" if kind == "bytea" else "text") for kind in copy.types.values()]
        columns = [
            sql.SQL("{} {}").format(sql.Identifier(text_column(number)), kind)
            for number, kind in enumerate(kinds)
        ]
        texts = self._texts_table(copy)
        native.execute(sql.SQL(_TEXTS).format(table=texts, columns=sql.SQL(", ").join(columns)))
        return texts.as_string(native)

    def copy_texts(self, native: psycopg.Connection[Any], copy: StagingCopy) -> list[dict[str, Any]]:
        """Copy the rows of the first transaction of each part into the table of the attempt.

        Returns the notes of the parts. Rows that a task commits later, or committed again, are left out.
        """
        texts = self._texts_table(copy)
        with native.transaction():
            # All parts are committed; what a lost task commits from now on has a later transaction.
            native.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            select = sql.SQL(_NOTES).format(table=texts)
            notes = [json.loads(note) for (note,) in native.execute(select)]
            if any(note["error"] for note in notes):
                return notes
            values = [
                sql.SQL(_UNCAST if kind in _ASSIGNED else _CAST).format(
                    sql.Identifier(text_column(number)), sql.SQL(kind)
                )
                for number, kind in enumerate(copy.types.values())
            ]
            names = [sql.Identifier(name) for name in copy.types]
            insert = sql.SQL(_INSERT).format(
                target=self._table(copy.table),
                names=sql.SQL(", ").join(names),
                values=sql.SQL(", ").join(values),
                table=texts,
            )
            rows, expected = native.execute(insert).rowcount, sum(note["rows"] for note in notes)
            if rows != expected:
                raise DestinationTransientException(
                    f"Spark wrote {rows} rows into staging instead of {expected}", hint="run again"
                )
        native.execute(sql.SQL("DROP TABLE {}").format(texts))
        return notes

    def _texts_table(self, copy: StagingCopy) -> sql.Identifier:
        return self._table(f"{copy.table}_texts")

    def complete(self, native: psycopg.Connection[Any], job: str, copy: StagingCopy, rows: int) -> None:
        """Mark an attempt as complete, unless another one began since."""
        statement = sql.SQL("UPDATE {} SET rows = %s WHERE job = %s AND attempt = %s").format(self._jobs)
        if native.execute(statement, (rows, job, copy.table)).rowcount == 0:
            raise DestinationTransientException(
                f"another process copies the rows of job {job}", hint="wait until it ends, and run again"
            )

    def drop_abandoned(self, native: psycopg.Connection[Any], pipeline_name: str) -> None:
        """Drop the schemas of other loads of the pipeline into the dataset.

        None of them can be committed after this load; their packages were lost, or are of no use. A schema
        in which a process still works is left to a later load.
        """
        query = """
            SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace
            WHERE strpos(nspname, %s) > 0 AND pg_has_role(nspowner, 'MEMBER')
        """
        for name, comment in native.execute(query, [_NAME_INFIX]).fetchall():
            match = _COMMENT_PATTERN.fullmatch(comment or "")
            if match is None or match["pipeline"] != pipeline_name:
                continue
            other = LoadStaging(self.dataset, match["load"])
            if other.schema != name or other == self:
                continue
            with suppress(psycopg.errors.LockNotAvailable), native.transaction():
                native.execute("SET LOCAL lock_timeout = '1s'")
                other.drop(native)

    @property
    def _jobs(self) -> sql.Identifier:
        return self._table(_JOBS_TABLE)

    def _table(self, name: str) -> sql.Identifier:
        return sql.Identifier(self.schema, name)

    def _relation(self, attempt: str, columns: Collection[str]) -> StagedTable:
        table = exp.Table(this=identifier(attempt), db=identifier(self.schema))
        return StagedTable(relation=table, columns=tuple(name for name in columns if name != POSITION))
