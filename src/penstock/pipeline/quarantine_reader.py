"""Reads the quarantine table for a replay: small ones as Python rows, others as a DataFrame of Spark."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import orjson
from pyspark.sql import functions as F

from penstock.interfaces import WithSmallTables, WithTableVersions
from penstock.interfaces.frame_engine import QuarantiningFrame
from penstock.interfaces.sql_client import WithSqlSession
from penstock.package.quarantine import QUARANTINE_TABLE, ROOT_PATH
from penstock.package.replayed_rows import with_origin, with_origin_sql
from penstock.package.sql import literal, quote_name
from penstock.pipeline.replay import QuarantineGroup
from penstock.schema.defaults import ID_COLUMN, LOAD_ID_COLUMN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from penstock.pipeline.workspace import Workspace

REPLAYED_COLUMN: Final = "replayed"
"""The flag of rows to delete, where the quarantine is merged; it is null in all rows of the table."""
MAX_DRIVER_ROWS: Final = 20_000
_MAX_DRIVER_BYTES: Final = 64_000_000
_GROUP_COLUMNS: Final[Mapping[str, str]] = {
    "resource": "resource_name",
    "table": "table_name",
    "rule": "rule",
    "is_root_path": f"coalesce(path = {literal(ROOT_PATH)}, false)",
    "is_json": "coalesce(startswith(ltrim(raw), '{') AND endswith(rtrim(raw), '}')"
    " AND try_parse_json(raw) IS NOT NULL, false)",
}
"""SQL for the fields of `QuarantineGroup`."""


class QuarantineReader(Protocol):
    """The quarantined rows at one moment."""

    @property
    def fingerprint(self) -> object:
        """The version of the table, or the ids of its rows: it differs once other rows are in the table."""

    def groups(self) -> list[QuarantineGroup]:
        """Return the groups of rows, with their counts."""

    def replayed(self, groups: Iterable[QuarantineGroup]) -> Any:
        """Return the rows of these groups as items of their resource, oldest first."""

    def remaining(self, groups: Iterable[QuarantineGroup]) -> Any:
        """Return all other rows, as items for the quarantine table that they replace."""

    def removals(self, groups: Iterable[QuarantineGroup]) -> Any:
        """Return the rows of these groups as items that remove them from the quarantine table by a merge."""


@dataclass(frozen=True, slots=True)
class DriverQuarantine:
    """Quarantined rows as Python rows."""

    rows: Sequence[Mapping[str, Any]]
    fingerprint: object

    def groups(self) -> list[QuarantineGroup]:
        """Return the groups of rows, with their counts."""
        counts = Counter(map(_group_of, self.rows))
        return [replace(group, rows=count) for group, count in counts.items()]

    def replayed(self, groups: Iterable[QuarantineGroup]) -> list[orjson.Fragment]:
        """Return the rows of these groups as JSON texts, oldest first."""
        rows = sorted(self._selected(groups), key=lambda row: (row[LOAD_ID_COLUMN], row.get("item") or 0))
        return [orjson.Fragment(with_origin(row["raw"], row)) for row in rows]

    def remaining(self, groups: Iterable[QuarantineGroup]) -> list[dict[str, Any]]:
        """Return all other rows."""
        selected = {row[ID_COLUMN] for row in self._selected(groups)}
        return [_without_nulls(row) for row in self.rows if row[ID_COLUMN] not in selected]

    def removals(self, groups: Iterable[QuarantineGroup]) -> list[dict[str, Any]]:
        """Return rows that remove those of these groups by a merge."""
        return [{ID_COLUMN: row[ID_COLUMN], REPLAYED_COLUMN: True} for row in self._selected(groups)]

    def _selected(self, groups: Iterable[QuarantineGroup]) -> list[Mapping[str, Any]]:
        keys = {replace(group, rows=0) for group in groups}
        return [row for row in self.rows if _group_of(row) in keys]


@dataclass(frozen=True, slots=True)
class SparkQuarantine:
    """Quarantined rows as a DataFrame, at one version of the table."""

    frame: DataFrame
    fingerprint: object

    def groups(self) -> list[QuarantineGroup]:
        """Return the groups of rows, with their counts."""
        keys = [F.expr(sql).alias(name) for name, sql in _GROUP_COLUMNS.items()]
        counts = self.frame.groupBy(*keys).count().collect()
        return [
            QuarantineGroup(rows=row["count"], **{name: row[name] for name in _GROUP_COLUMNS})
            for row in counts
        ]

    def replayed(self, groups: Iterable[QuarantineGroup]) -> QuarantiningFrame:
        """Return the rows of these groups as JSON texts, oldest first."""
        rows = self.frame.where(_condition(groups)).orderBy(LOAD_ID_COLUMN, "item", ID_COLUMN)
        return QuarantiningFrame(rows.selectExpr(f"{with_origin_sql('raw')} AS row"), is_text=True)

    def remaining(self, groups: Iterable[QuarantineGroup]) -> QuarantiningFrame:
        """Return all other rows as JSON texts."""
        names = [name for name in self.frame.columns if name != REPLAYED_COLUMN]
        text = f"to_json(struct({', '.join(map(quote_name, names))})) AS row"
        rows = self.frame.where(f"NOT ({_condition(groups)})")
        return QuarantiningFrame(rows.selectExpr(text), is_text=True)

    def removals(self, groups: Iterable[QuarantineGroup]) -> QuarantiningFrame:
        """Return rows as JSON texts that remove those of these groups by a merge."""
        text = f"to_json(named_struct('{ID_COLUMN}', {ID_COLUMN}, '{REPLAYED_COLUMN}', true)) AS row"
        return QuarantiningFrame(self.frame.where(_condition(groups)).selectExpr(text), is_text=True)


@contextmanager
def read_quarantine(workspace: Workspace) -> Iterator[QuarantineReader | None]:
    """Open the newest rows of the quarantine table for a block; None if the table does not exist.

    Rows of loads that are not complete are read too: what replaces the table must have them.
    """
    client = workspace.client
    if not isinstance(client, WithTableVersions) or QUARANTINE_TABLE not in client.table_names():
        yield None
        return
    rows = _small_rows(client, workspace)
    if rows is not None:
        yield DriverQuarantine(rows.to_pylist(), _row_ids(rows))
        return
    with workspace.session() as spark:
        version = client.table_version(QUARANTINE_TABLE, spark=spark)
        frame = client.read(QUARANTINE_TABLE, version, spark=spark)
        yield _driver_quarantine(frame, version) or SparkQuarantine(frame, version)


def quarantine_fingerprint(workspace: Workspace) -> object:
    """Return the fingerprint of the newest rows, as `read_quarantine` would."""
    client = workspace.client
    if not isinstance(client, WithTableVersions):
        return None
    rows = _small_rows(client, workspace)
    if rows is not None:
        return _row_ids(rows)
    with workspace.session() as spark:
        return client.table_version(QUARANTINE_TABLE, spark=spark)


def _row_ids(rows: pa.Table) -> frozenset[str]:
    return frozenset(rows.column(ID_COLUMN).to_pylist())


def _small_rows(client: WithTableVersions, workspace: Workspace) -> pa.Table | None:
    """Return the rows that are read without Spark: of a database, or of a small table of a lake."""
    if isinstance(client, WithSqlSession):
        return workspace.open_dataset(consistent=False)[QUARANTINE_TABLE].arrow()
    rows = client.read_small_table(QUARANTINE_TABLE) if isinstance(client, WithSmallTables) else None
    return None if rows is None or rows.num_rows > MAX_DRIVER_ROWS else rows


def _driver_quarantine(frame: DataFrame, version: int | None) -> DriverQuarantine | None:
    """Return the rows of a frame for the driver; None if there are too many."""
    lengths = [F.sum(F.octet_length(F.col(name))) for name in ("raw", "reason")]
    counts = frame.agg(F.count(F.lit(1)), *lengths).collect()[0]
    if counts[0] > MAX_DRIVER_ROWS or sum(size or 0 for size in counts[1:]) > _MAX_DRIVER_BYTES:
        return None
    return DriverQuarantine([row.asDict() for row in frame.collect()], version)


def _group_of(row: Mapping[str, Any]) -> QuarantineGroup:
    return QuarantineGroup(
        resource=row["resource_name"],
        table=row["table_name"],
        rule=row["rule"],
        is_root_path=row["path"] == ROOT_PATH,
        is_json=_is_json_object(row["raw"]),
    )


def _is_json_object(text: str | None) -> bool:
    try:
        return type(orjson.loads(text or "")) is dict
    except orjson.JSONDecodeError:
        return False


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None and name != REPLAYED_COLUMN}


def _condition(groups: Iterable[QuarantineGroup]) -> str:
    """Return the condition in SQL for the rows of these groups."""
    columns = [sql for name, sql in _GROUP_COLUMNS.items()]
    keys = [
        f"({', '.join([literal(group.resource), literal(group.table), literal(group.rule)])},"
        f" {str(group.is_root_path).lower()}, {str(group.is_json).lower()})"
        for group in groups
    ]
    return f"({', '.join(columns)}) IN ({', '.join(keys)})" if keys else "false"
