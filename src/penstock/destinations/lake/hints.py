"""Merge hints: how the rows of a chain are merged, by the hints of its root table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from penstock.errors import SchemaCorruptedException
from penstock.interfaces.deletions import ENDS_VERSION_HINT
from penstock.package.sql import quote_name
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from penstock.schema import Table

MergeStrategy = Literal["delete-insert", "upsert", "insert-only", "scd2"]
"""How rows are merged into existing ones; the first is the default, unless a destination has another one."""

STRATEGIES: Final[tuple[MergeStrategy, ...]] = get_args(MergeStrategy)
_NEEDS_PRIMARY_KEY: Final = frozenset(("upsert", "insert-only"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HardDelete:
    """The column that flags rows to delete: true, or any value if it is not a boolean."""

    column: str
    is_bool: bool

    def sql(self, alias: str | None = None) -> str:
        """Return the condition of flagged rows, which is never null.

        >>> HardDelete(column="gone", is_bool=True).sql("s")
        '(`s`.`gone` IS NOT NULL AND `s`.`gone`)'
        """
        name = quote_name(alias, self.column) if alias else quote_name(self.column)
        return f"({name} IS NOT NULL AND {name})" if self.is_bool else f"({name} IS NOT NULL)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scd2Hints:
    """The columns of a table with row versions."""

    valid_from: str
    valid_to: str
    version: str
    """The column with a hash of the row."""
    active_record_timestamp: str | None
    """The value of `valid_to` in active rows; None for null."""
    boundary: str | None
    """The timestamp at which versions change; None for that of the load."""
    ending: str | None = None
    """The column with a value in rows that end a version and begin none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeHints:
    """The merge hints of a root table, which hold for its nested tables too."""

    strategy: MergeStrategy
    primary_key: tuple[str, ...] = ()
    merge_key: tuple[str, ...] = ()
    hard_delete: HardDelete | None = None
    dedup_sort: tuple[str, Literal["asc", "desc"]] | None = None
    is_deduplicated: bool = False
    """Whether the user declares that a load has no duplicate primary keys."""
    row_key: str = ID_COLUMN
    scd2: Scd2Hints | None = None

    @property
    def key_sets(self) -> tuple[tuple[str, ...], ...]:
        """Rows match if they are equal in all columns of one of these sets; nulls never match."""
        return tuple(keys for keys in (self.primary_key, self.merge_key) if keys)

    @property
    def deduplicates(self) -> bool:
        """Whether only one row of each primary key in a load is merged."""
        return bool(self.primary_key) and not self.is_deduplicated and self.scd2 is None

    @property
    def skips_rows(self) -> bool:
        """Whether rows of the load may be left out of the table."""
        return self.deduplicates or (self.hard_delete is not None and self.scd2 is None)


def merge_hints(root: Table, default: MergeStrategy = STRATEGIES[0]) -> MergeHints:
    """Return the merge hints of a root table; columns without a type are ignored."""
    strategy = root.extras.get("x-merge-strategy") or default
    if strategy not in STRATEGIES:
        raise SchemaCorruptedException(
            table=root.name, reason=f"the merge strategy {strategy!r} is not one of: {', '.join(STRATEGIES)}"
        )
    primary_key = _columns_with(root, "primary_key")
    if strategy in _NEEDS_PRIMARY_KEY and not primary_key:
        raise SchemaCorruptedException(
            table=root.name, reason=f"the merge strategy {strategy!r} needs a primary key"
        )
    return MergeHints(
        strategy=strategy,
        primary_key=primary_key,
        merge_key=() if strategy in _NEEDS_PRIMARY_KEY else _columns_with(root, "merge_key"),
        hard_delete=_hard_delete(root),
        dedup_sort=_dedup_sort(root),
        is_deduplicated=bool(root.extras.get("x-stage-data-deduplicated")),
        row_key=next(iter(_columns_with(root, "row_key")), ID_COLUMN),
        scd2=_scd2_hints(root) if strategy == "scd2" else None,
    )


def _columns_with(table: Table, hint: str) -> tuple[str, ...]:
    return tuple(column.name for column in table.complete_columns() if column.has(hint))


def _single_column(table: Table, hint: str) -> str | None:
    columns = _columns_with(table, hint)
    if len(columns) > 1:
        raise SchemaCorruptedException(
            table=table.name,
            reason=f"{' and '.join(columns)} have the hint {hint!r}, which only one column may have",
        )
    return columns[0] if columns else None


def _hard_delete(table: Table) -> HardDelete | None:
    name = _single_column(table, "hard_delete")
    return HardDelete(column=name, is_bool=table.columns[name].data_type == "bool") if name else None


def _dedup_sort(table: Table) -> tuple[str, Literal["asc", "desc"]] | None:
    name = _single_column(table, "dedup_sort")
    if name is None:
        return None
    direction = table.columns[name].hints["dedup_sort"]
    if direction not in {"asc", "desc"}:
        raise SchemaCorruptedException(
            table=table.name, reason=f"dedup_sort of {name} must be asc or desc, got {direction!r}"
        )
    return name, cast("Literal['asc', 'desc']", direction)


def _scd2_hints(table: Table) -> Scd2Hints:
    valid_from, valid_to = (_single_column(table, hint) for hint in ("x-valid-from", "x-valid-to"))
    if valid_from is None or valid_to is None:
        raise SchemaCorruptedException(
            table=table.name, reason="the merge strategy 'scd2' needs two columns for the validity of rows"
        )
    return Scd2Hints(
        valid_from=valid_from,
        valid_to=valid_to,
        version=_single_column(table, "x-row-version") or ID_COLUMN,
        active_record_timestamp=_text(table.columns[valid_to].hints.get("x-active-record-timestamp")),
        boundary=_text(table.extras.get("x-boundary-timestamp")),
        ending=_single_column(table, ENDS_VERSION_HINT),
    )


def _text(timestamp: Any) -> str | None:
    return None if timestamp is None else str(timestamp)
