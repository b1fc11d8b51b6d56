"""The plan of a load: its changes, for people and programs. Pure values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from penstock.config import BaseConfiguration, configspec
from penstock.interfaces.change_counts import TableState
from penstock.interfaces.humanize import human_count, human_size
from penstock.normalize.row_numbers import ExampleValue, example_place
from penstock.package.checks import CheckResult, checks_element
from penstock.pages.elements import element, facts, fragment, table_element
from penstock.pages.page import notebook_fragment, page
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.origin import RULE_TEXTS, json_path

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from penstock.interfaces.change_counts import TableChanges
    from penstock.normalize.report import Reject
    from penstock.pages.elements import Content, Html
    from penstock.schema import Table
    from penstock.schema.origin import ColumnOrigin, OriginRule, PermittedBy

ChangeKind = Literal["new_table", "new_column", "changed_type"]
_UNKNOWN: Final = "?"
_STOPPED: Final = "A failed check stops this load: it is not applied."
_COLUMNS: Final = ("insert", "update", "delete", "close", "old files", "their size", "new data")


@configspec
class PlanConfiguration(BaseConfiguration):
    """The settings of plans: the section `[plan]`.

    >>> PlanConfiguration().expires_after
    7.0
    """

    expires_after: float = 7.0
    """The days after which a plan is not applied any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """The changes of one table by a load; None for counts that are unknown.

    The table would have `inserted - deleted` more rows.
    """

    table: str
    inserted: int | None
    updated: int | None
    """Rows whose key the table has, and that are replaced by a row of the load."""
    deleted: int | None
    ended: int | None
    """Row versions that end."""
    files: int | None
    """The files of the table with rows that are updated, deleted or ended."""
    file_bytes: int | None
    """The size of these files."""
    bytes: int | None
    """The size of its rows in the package; None if they are in the files of another table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSchemaChange:
    """A table or a column that a load would add, or a type that it would change."""

    kind: ChangeKind
    table: str
    column: str | None = None
    data_type: str | None = None
    previous_type: str | None = None
    rule: OriginRule | None = None
    """The rule that decided the type; None if it is not recorded."""
    permitted_by: PermittedBy | None = None
    """The part of the contract that permits the change."""
    path: str | None = None
    """The JSON path of the values."""
    value_type: str | None = None
    example: ExampleValue | None = None
    """The place of a value that the rule applies to."""

    def __str__(self) -> str:
        if self.kind == "new_table":
            return f"new table {self.table}"
        name = f"{self.table}.{self.column}"
        if self.kind == "new_column":
            return f"new column {name}: {self.data_type}"
        return f"{name} was {self.previous_type} and will be {self.data_type}"

    @property
    def reason(self) -> str:
        """The rule in words, with the place of an example."""
        text = f"{self.rule}: {RULE_TEXTS[self.rule]}" if self.rule else ""
        if self.example is None:
            return text
        file = f" of file {self.example['file']}" if self.example["file"] > 1 else ""
        return f"{text}; {self.value_type}, such as {self.example['path']} in row {self.example['row']}{file}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedReject:
    """Values that the contract refuses, and that the load would leave out alone or with their row."""

    table: str
    column: str | None
    mode: str
    count: int
    reason: str
    text: str
    """The same in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanBase:
    """The facts that a plan is based on: once one of them has changed, the plan is out of date."""

    sealed_id: str | None
    """The last load that was sealed."""
    load_id: str | None
    """The last complete load of the pipeline."""
    schema_hash: str | None
    """The version of the schema before the load."""
    state_hash: str | None
    """The hash of the state before the load; None for a package that follows another one of the plan."""
    tables: Mapping[str, TableState]
    """The tables that the load may change, as far as they exist."""
    absent: tuple[str, ...] = ()
    """Those that do not exist."""

    def after_others(self, tables: Collection[str]) -> PlanBase:
        """Return the base of a package that follows others of the same plan, which write these tables."""
        return replace(
            self,
            state_hash=None,
            tables={name: state for name, state in self.tables.items() if name not in tables},
            absent=tuple(name for name in self.absent if name not in tables),
        )

    def changes_since(self, base: PlanBase) -> Iterator[str]:
        """Yield what has changed since an earlier base."""
        if self.sealed_id != base.sealed_id or self.load_id != base.load_id:
            newest = self.load_id if self.load_id != base.load_id else self.sealed_id
            yield f"the last load was {base.load_id or 'none'}, and is {newest}"
        if self.schema_hash != base.schema_hash:
            yield "the schema has changed"
        if base.state_hash is not None and self.state_hash != base.state_hash:
            yield "the state of the pipeline has changed"
        for table in sorted({*base.tables, *base.absent}):
            before, now = base.tables.get(table), self.tables.get(table)
            if before != now:
                yield f"{table} {_state_text(before, 'was')}, and {_state_text(now, 'is')}"


def _state_text(state: TableState | None, verb: str) -> str:
    if state is None:
        return f"{'did' if verb == 'was' else 'does'} not exist"
    if state.version is not None:
        return f"{verb} at version {state.version}"
    return f"{'had' if verb == 'was' else 'has'} {state.rows:,} rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagePlan:
    """The plan of one package."""

    load_id: str
    schema_name: str
    tables: tuple[PlannedTable, ...]
    schema_changes: tuple[PlannedSchemaChange, ...] = ()
    rejects: tuple[PlannedReject, ...] = ()
    unreadable_rows: int = 0
    """Rows that cannot be read; the quarantine table would have them."""
    checks: tuple[CheckResult, ...] = ()
    """The results of the checks of its rows; a failed one may stop the load."""
    dropped_tables: tuple[str, ...] = ()
    """Tables that the load would drop, or create again."""
    bytes: int | None = None
    """The size of the data in the package."""
    base: PlanBase


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """The changes of a load before it is published: no table is changed.

    Printed, it shows the rows of each table and the schema changes. `pipeline.apply(plan)` publishes it.
    """

    pipeline_name: str
    destination_name: str
    dataset_name: str
    location: str
    """The address of the dataset, without credentials."""
    created_at: str
    expires_at: str
    """From then on the plan is not applied any more."""
    packages: tuple[PackagePlan, ...] = ()
    """None if there is nothing to load."""
    notes: tuple[str, ...] = ()

    @property
    def load_ids(self) -> tuple[str, ...]:
        """The ids of the packages."""
        return tuple(package.load_id for package in self.packages)

    @property
    def is_stopped(self) -> bool:
        """Whether a failed check stops the load."""
        return any(check.prevents_load for package in self.packages for check in package.checks)

    def is_expired(self, now: datetime | None = None) -> bool:
        """Return whether the plan is too old to be applied."""
        return (now or datetime.now(UTC)) >= datetime.fromisoformat(self.expires_at)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, which can be written as JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> LoadPlan:
        """Read the output of `to_dict`; a missing or wrong field is a `KeyError` or `TypeError`."""
        packages = tuple(_parse_package(package) for package in document["packages"])
        return LoadPlan(**{**document, "packages": packages, "notes": tuple(document["notes"])})

    def __str__(self) -> str:
        where = f"{self.destination_name} dataset {self.dataset_name!r} at {self.location}"
        if not self.packages:
            lines = [f"Pipeline {self.pipeline_name!r} has nothing to load into {where}"]
        else:
            lines = [
                f"Plan of pipeline {self.pipeline_name!r} for {where}",
                f"No table is changed before it is applied; it expires at {_minute(self.expires_at)} UTC",
            ]
        for package in self.packages:
            lines += _package_lines(package)
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """Return the rows of each table and the schema changes, which a notebook shows."""
        return notebook_fragment(element("p", element("strong", self._title)), self._content())

    def to_html(self) -> str:
        """Return a whole page, which loads nothing."""
        footer = element("p", f"Written by penstock at {_minute(self.created_at)} UTC. Secrets are masked.")
        return page(self._title, header=self._facts(), sections=[*self._sections()], footer=footer)

    @property
    def _title(self) -> str:
        return f"Plan of pipeline {self.pipeline_name}"

    def _facts(self) -> Html:
        return facts(
            [
                ("destination", self.destination_name),
                ("dataset", self.dataset_name),
                ("location", self.location),
                ("planned at", f"{_minute(self.created_at)} UTC"),
                ("expires at", f"{_minute(self.expires_at)} UTC"),
                ("packages", ", ".join(self.load_ids) or "nothing to load"),
            ]
        )

    def _content(self) -> Html:
        return fragment(
            self._facts(),
            ((element("h3", title), content) for _, title, content in self._sections()),
        )

    def _sections(self) -> Iterator[tuple[str, str, Content]]:
        for package in self.packages:
            suffix = "" if len(self.packages) == 1 else f" of package {package.load_id}"
            yield f"rows-{package.load_id}", f"Rows{suffix}", _rows_table(package)
            yield f"schema-{package.load_id}", f"Schema changes{suffix}", _changes_table(package)
            if package.checks:
                yield f"checks-{package.load_id}", f"Checks{suffix}", _checks_section(package)
            refused = list(_refusal_lines(package))
            if refused:
                items = element("ul", (element("li", line) for line in refused))
                yield f"refused-{package.load_id}", f"Left out{suffix}", items
        if self.notes:
            yield "notes", "Notes", element("ul", (element("li", note) for note in self.notes))


def planned_tables(
    changes: Iterable[TableChanges], sizes: Mapping[str, int | None]
) -> tuple[PlannedTable, ...]:
    """Return the changes of tables with the sizes of their rows in the package, in the order of names."""
    ordered = sorted(changes, key=lambda change: change.table)
    return tuple(PlannedTable(**asdict(change), bytes=sizes.get(change.table)) for change in ordered)


def planned_schema_changes(
    before: Mapping[str, Table],
    after: Mapping[str, Table],
    tables: Sequence[str],
    origins: Iterable[ColumnOrigin],
) -> Iterator[PlannedSchemaChange]:
    """Yield the schema changes of tables, each with its rule and the place of an example."""
    by_column = {(origin.table, origin.column): origin for origin in origins}
    for name in sorted(tables):
        old, table = before.get(name), after[name]
        is_new = old is None or not old.complete_columns()
        if is_new:
            yield PlannedSchemaChange(kind="new_table", table=name)
        for column in table.complete_columns():
            stored = None if is_new or old is None else old.columns.get(column.name)
            previous = stored.data_type if stored is not None and stored.is_complete else None
            if previous == column.data_type or (is_new and column.name.startswith(SYSTEM_PREFIX)):
                continue
            origin = by_column.get((name, column.name))
            yield PlannedSchemaChange(
                kind="new_column" if previous is None else "changed_type",
                table=name,
                column=column.name,
                data_type=column.data_type,
                previous_type=previous,
                **({} if origin is None else _origin_fields(origin)),
            )


def planned_rejects(rejects: Iterable[Reject]) -> tuple[PlannedReject, ...]:
    """Return the refusals of the contract."""
    return tuple(
        PlannedReject(
            table=reject.table,
            column=reject.column,
            mode=reject.mode,
            count=reject.count,
            reason=reject.reason,
            text=str(reject),
        )
        for reject in rejects
    )


def _origin_fields(origin: ColumnOrigin) -> dict[str, Any]:
    return {
        "rule": origin.rule,
        "permitted_by": origin.permitted_by,
        "path": None if origin.path is None else json_path(origin.path),
        "value_type": origin.value_type,
        "example": example_place(origin),
    }


def _parse_package(document: Mapping[str, Any]) -> PackagePlan:
    base = document["base"]
    states = {name: TableState(**state) for name, state in base["tables"].items()}
    return PackagePlan(
        **{
            **document,
            "tables": tuple(PlannedTable(**table) for table in document["tables"]),
            "schema_changes": tuple(PlannedSchemaChange(**change) for change in document["schema_changes"]),
            "rejects": tuple(PlannedReject(**reject) for reject in document["rejects"]),
            "checks": tuple(CheckResult(**result) for result in document.get("checks", ())),
            "dropped_tables": tuple(document["dropped_tables"]),
            "base": PlanBase(**{**base, "tables": states, "absent": tuple(base["absent"])}),
        }
    )


# --- as text and HTML


def _package_lines(package: PackagePlan) -> Iterator[str]:
    size = "" if package.bytes is None else f", {human_size(package.bytes)} of data"
    yield f"Package {package.load_id}{size}:"
    cells = [("table", *_COLUMNS), *map(_table_cells, package.tables)]
    widths = [max(len(row[index]) for row in cells) for index in range(len(cells[0]))]
    for row in cells:
        numbers = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        yield f"  {row[0]:<{widths[0]}}  {'  '.join(numbers)}".rstrip()
    if package.schema_changes:
        yield "Schema changes:"
        yield from _change_lines(package.schema_changes)
    if package.checks:
        yield "Checks:"
        yield from (f"  {line}" for line in _check_lines(package.checks))
    refused = list(_refusal_lines(package))
    if refused:
        yield "Left out:"
        yield from (f"  {line}" for line in refused)


def _check_lines(checks: Sequence[CheckResult]) -> Iterator[str]:
    """Yield a line for each check, and one if the load is stopped."""
    widths = [max(len(text) for text in texts) for texts in zip(*map(_check_cells, checks), strict=True)]
    for check in checks:
        cells = (cell.ljust(width) for cell, width in zip(_check_cells(check), widths, strict=True))
        yield f"{'  '.join(cells)}  {check.expression}".rstrip()
    if any(check.prevents_load for check in checks):
        yield _STOPPED


def _check_cells(check: CheckResult) -> tuple[str, ...]:
    return check.table, check.name, check.outcome, check.figures


def _checks_section(package: PackagePlan) -> Html:
    is_stopped = any(check.prevents_load for check in package.checks)
    return fragment(
        element("p", element("strong", _STOPPED, class_="bad")) if is_stopped else None,
        checks_element("Checks", package.checks),
    )


def _change_lines(changes: Sequence[PlannedSchemaChange]) -> Iterator[str]:
    """Yield a line for each new table with its columns, and for each change of another table."""
    new_tables = [change.table for change in changes if change.kind == "new_table"]
    for name in new_tables:
        columns = [
            f"{change.column} {change.data_type}"
            for change in changes
            if change.table == name and change.column is not None
        ]
        yield f"  new table {name}: {', '.join(columns)}" if columns else f"  new table {name}"
    for change in changes:
        if change.table not in new_tables:
            yield f"  {change}"
            yield from ([f"    {change.reason}"] if change.rule else [])


def _table_cells(table: PlannedTable) -> tuple[str, ...]:
    counts = (table.inserted, table.updated, table.deleted, table.ended, table.files)
    return (
        table.table,
        *(_UNKNOWN if count is None else f"{count:,}" for count in counts),
        _UNKNOWN if table.file_bytes is None else human_size(table.file_bytes) if table.files else "",
        "" if table.bytes is None else human_size(table.bytes),
    )


def _refusal_lines(package: PackagePlan) -> Iterator[str]:
    yield from (reject.text for reject in package.rejects)
    if package.unreadable_rows:
        yield f"{human_count(package.unreadable_rows, 'row')} that cannot be read: the quarantine gets them"
    if package.dropped_tables:
        yield f"tables that are dropped or created again: {', '.join(package.dropped_tables)}"


def _rows_table(package: PackagePlan) -> Html:
    rows = [(cells[0], *cells[1:]) for cells in map(_table_cells, package.tables)]
    return table_element("By table, nested ones too", ("table", *_COLUMNS), rows, numbers=_COLUMNS)


def _changes_table(package: PackagePlan) -> Html:
    if not package.schema_changes:
        return element("p", "None.")
    rows = [
        (
            change.table if change.column is None else f"{change.table}.{change.column}",
            change.kind.replace("_", " "),
            change.data_type,
            change.reason or None,
        )
        for change in package.schema_changes
    ]
    return table_element(
        "Each with its rule and a place with such a value",
        ("name", "change", "type", "rule and example"),
        rows,
    )


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")
