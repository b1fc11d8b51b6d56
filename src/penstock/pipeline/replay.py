"""The replay of quarantined rows: which rows are replayed, which are left, and the result."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from penstock.interfaces.humanize import human_count
from penstock.package.quarantine import EXPECTATION_RULE, QUARANTINE_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema import Schema

ReplayDisposition = Literal["append", "merge"]
"""How replayed rows are written. Rows of a replaced table are appended."""

NOT_JSON: Final = "the row was kept as text that is no JSON object"
OTHER_SCHEMA: Final = "no load of the schema with its table has quarantined rows"
NESTED: Final = "its root row was loaded without it"
NOT_LOADED: Final = "its table is not loaded"
FAILS_CHECK: Final = f"it fails a check; rule={EXPECTATION_RULE!r} loads it all the same"
MERGES_GROUPS: Final = "its table replaces or retires whole groups of rows, and this is one row of a group"


class ReplayedTableDocument(TypedDict):
    """The rows of one resource in one table."""

    table: str
    resource: str
    rows: int
    refused_again: int | None
    """Null for a replay that has not been done."""


class SkippedRowsDocument(TypedDict):
    """Rows that remain in the quarantine without another try."""

    table: str
    rule: str
    rows: int
    reason: str


class ReplayDocument(TypedDict):
    """A replay of quarantined rows."""

    pipeline_name: str
    load_ids: list[str]
    replayed: int
    refused_again: int
    skipped: int
    tables: list[ReplayedTableDocument]
    skipped_rows: list[SkippedRowsDocument]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineGroup:
    """Quarantined rows of one resource, table and rule."""

    resource: str
    table: str
    rule: str
    is_root_path: bool
    """Whether the whole row was refused, and not a value in it."""
    is_json: bool
    """Whether the rows are JSON objects."""
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedRows:
    """Rows that remain in the quarantine without another try."""

    table: str
    rule: str
    rows: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTable:
    """The rows of one resource that go into one table."""

    table: str
    resource: str
    schema_name: str
    write_disposition: ReplayDisposition
    rows: int
    refused_again: int | None = None
    """Rows that were refused again; None before the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySelection:
    """The quarantined rows that a replay reads."""

    groups: tuple[QuarantineGroup, ...] = ()
    tables: tuple[ReplayedTable, ...] = ()
    skipped: tuple[SkippedRows, ...] = ()

    @property
    def schema_names(self) -> tuple[str, ...]:
        """The schemas of the tables: each is loaded by a separate load."""
        return tuple(dict.fromkeys(table.schema_name for table in self.tables))

    def of_schema(self, schema_name: str) -> ReplaySelection:
        """Return the rows of the tables of one schema."""
        tables = tuple(table for table in self.tables if table.schema_name == schema_name)
        names = {(table.resource, table.table) for table in tables}
        groups = tuple(group for group in self.groups if (group.resource, group.table) in names)
        return ReplaySelection(groups=groups, tables=tables)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineReplay:
    """The replay of quarantined rows: the rows of each table, and the rows that were left.

    Printed, it shows what happens to them.
    """

    pipeline_name: str
    tables: tuple[ReplayedTable, ...] = ()
    skipped_rows: tuple[SkippedRows, ...] = ()
    """Rows that remain in the quarantine without another try, by reason."""
    load_ids: tuple[str, ...] = ()
    """The loads of the replay: one for each schema. Empty if nothing was loaded."""
    notes: tuple[str, ...] = ()

    @property
    def replayed(self) -> int:
        """The rows that have left the quarantine; before the load, those that are tried."""
        return sum(table.rows - (table.refused_again or 0) for table in self.tables)

    @property
    def refused_again(self) -> int:
        """The rows that are in the quarantine again, with both reasons."""
        return sum(table.refused_again or 0 for table in self.tables)

    @property
    def skipped(self) -> int:
        """The rows that were not tried."""
        return sum(rows.rows for rows in self.skipped_rows)

    def asdict(self) -> ReplayDocument:
        """Return plain data."""
        return ReplayDocument(
            pipeline_name=self.pipeline_name,
            load_ids=list(self.load_ids),
            replayed=self.replayed,
            refused_again=self.refused_again,
            skipped=self.skipped,
            tables=[
                ReplayedTableDocument(
                    table=table.table,
                    resource=table.resource,
                    rows=table.rows,
                    refused_again=table.refused_again,
                )
                for table in self.tables
            ],
            skipped_rows=[
                SkippedRowsDocument(table=rows.table, rule=rows.rule, rows=rows.rows, reason=rows.reason)
                for rows in self.skipped_rows
            ],
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return a line for the replay, for each table, for rows that are left, and for each note."""
        lines = [self._title(), *map(_table_line, self.tables)]
        lines += [
            f"  {human_count(rows.rows, 'row')} of {rows.table} ({rows.rule}) skipped: {rows.reason}"
            for rows in self.skipped_rows
        ]
        return [*lines, *(f"  note: {note}" for note in self.notes)]

    def _title(self) -> str:
        if not self.tables:
            return f"No row in {QUARANTINE_TABLE} of pipeline {self.pipeline_name} can be replayed."
        if not self.load_ids:
            count = human_count(sum(table.rows for table in self.tables), "row")
            return f"Replay of {count} of {QUARANTINE_TABLE}, pipeline {self.pipeline_name}:"
        loads = f"{'Load' if len(self.load_ids) == 1 else 'Loads'} {', '.join(self.load_ids)}"
        again = f", {self.refused_again:,} refused again" if self.refused_again else ""
        return f"{loads} replayed {human_count(self.replayed, 'row')} of {QUARANTINE_TABLE}{again}:"


def select_rows(
    groups: Iterable[QuarantineGroup],
    schemas: Mapping[str, Schema],
    *,
    table: str | None = None,
    rule: str | None = None,
) -> ReplaySelection:
    """Decide which quarantined rows are replayed, of a table and of a rule if these are given.

    A rule is `columns: discard_row`, or its first word, for all modes.
    """
    selected: list[QuarantineGroup] = []
    skipped: Counter[tuple[str, str, str]] = Counter()
    rows: Counter[tuple[str, str]] = Counter()
    targets: dict[tuple[str, str], tuple[str, ReplayDisposition]] = {}
    for group in groups:
        if table not in {None, group.table} or not _has_rule(group, rule):
            continue
        schema_name = _schema_of(group, schemas)
        disposition, obstacle = _disposition(group, schemas[schema_name])
        if rule is None and _has_rule(group, EXPECTATION_RULE):
            disposition, obstacle = None, FAILS_CHECK
        if disposition is None:
            skipped[group.table, group.rule, obstacle] += group.rows
            continue
        selected.append(group)
        rows[group.resource, group.table] += group.rows
        targets[group.resource, group.table] = schema_name, disposition
    return ReplaySelection(
        groups=tuple(selected),
        tables=tuple(
            ReplayedTable(
                table=name,
                resource=resource,
                schema_name=targets[resource, name][0],
                write_disposition=targets[resource, name][1],
                rows=count,
            )
            for (resource, name), count in sorted(rows.items())
        ),
        skipped=tuple(
            SkippedRows(table=name, rule=rule_name, rows=count, reason=reason)
            for (name, rule_name, reason), count in sorted(skipped.items())
        ),
    )


def with_refused(tables: Sequence[ReplayedTable], refused: Mapping[str, int]) -> list[ReplayedTable]:
    """Return the tables with the numbers of rows that were refused again, by table."""
    remaining, result = dict(refused), list[ReplayedTable]()
    for table in tables:
        count = min(table.rows, remaining.get(table.table, 0))
        remaining[table.table] = remaining.get(table.table, 0) - count
        result.append(replace(table, refused_again=count))
    return result


def _table_line(table: ReplayedTable) -> str:
    refused = table.refused_again or 0
    again = f", {refused:,} refused again" if refused else ""
    return f"  {table.table}: {human_count(table.rows - refused, 'row')} of {table.resource}{again}"


def _has_rule(group: QuarantineGroup, rule: str | None) -> bool:
    return rule is None or group.rule == rule or group.rule.partition(":")[0] == rule


def _schema_of(group: QuarantineGroup, schemas: Mapping[str, Schema]) -> str:
    """Return the name of the schema with the table of a group, else of one that has quarantined rows."""
    with_table = [name for name, schema in schemas.items() if group.table in schema.tables]
    quarantining = [name for name, schema in schemas.items() if QUARANTINE_TABLE in schema.tables]
    return next(iter((*with_table, *quarantining, *schemas)))


def _disposition(group: QuarantineGroup, schema: Schema) -> tuple[ReplayDisposition, str] | tuple[None, str]:
    """Return how rows of a group are written, or why they cannot be."""
    stored, quarantine = schema.tables.get(group.table), schema.tables.get(QUARANTINE_TABLE)
    if quarantine is None or not quarantine.has_seen_data:
        return None, OTHER_SCHEMA
    if not group.is_json:
        return None, NOT_JSON
    if stored is None:
        return ("append", "") if group.is_root_path else (None, NESTED)
    if stored.is_nested:
        return None, NESTED
    match stored.write_disposition:
        case "skip":
            return None, NOT_LOADED
        case "merge" if stored.columns_with("merge_key") or stored.extras.get("x-merge-strategy") == "scd2":
            return None, MERGES_GROUPS
        case "merge":
            return "merge", ""
        case _:
            return "append", ""
