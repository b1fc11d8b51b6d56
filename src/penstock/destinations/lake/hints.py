"""How the rows of a chain are merged, read off the hints of its root table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from penstock.errors import SchemaCorruptedException
from penstock.package.sql import quote_name
from penstock.schema.defaults import ID_COLUMN

if TYPE_CHECKING:
    from penstock.schema import Table

MergeStrategy = Literal["delete-insert", "upsert", "insert-only", "scd2"]
"""How rows meet those that are there; the first is the default, unless a destination has another one."""

STRATEGIES: Final[tuple[MergeStrategy, ...]] = get_args(MergeStrategy)
_NEEDS_PRIMARY_KEY: Final = frozenset(("upsert", "insert-only"))


@dataclass(frozen=True, slots=True, kw_only=True)
class HardDelete:
    """The column that says of a row that it is to be deleted: true, or any value where it is no boolean."""

    column: str
    is_bool: bool

    def sql(self, alias: str | None = None) -> str:
        """Whether a row is to be deleted; never null.

        >>> HardDelete(column="gone", is_bool=True).sql("s")
        '(`s`.`gone` IS NOT NULL AND `s`.`gone`)'
        """
        name = quote_name(alias, self.column) if alias else quote_name(self.column)
        return f"({name} IS NOT NULL AND {name})" if self.is_bool else f"({name} IS NOT NULL)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scd2Hints:
    """The columns of a table that keeps old versions of its rows."""

    valid_from: str
    valid_to: str
    version: str
    """The column that differs when anything in the row does."""
    active_record_timestamp: str | None
    """What stands in `valid_to` of a row that is valid now; None for null."""
    boundary: str | None
    """The moment at which versions change; None for that of the load."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeHints:
    """What the root table says about how it is merged, the tables nested in it with it."""

    strategy: MergeStrategy
    primary_key: tuple[str, ...] = ()
    merge_key: tuple[str, ...] = ()
    hard_delete: HardDelete | None = None
    dedup_sort: tuple[str, Literal["asc", "desc"]] | None = None
    is_deduplicated: bool = False
    """Whether the user promises that no primary key comes twice in a load."""
    row_key: str = ID_COLUMN
    scd2: Scd2Hints | None = None

    @property
    def key_sets(self) -> tuple[tuple[str, ...], ...]:
        """Rows are the same when all columns of one of these sets are equal; nulls never are."""
        return tuple(keys for keys in (self.primary_key, self.merge_key) if keys)

    @property
    def deduplicates(self) -> bool:
        """Whether of rows with one primary key in a load all but one are left out."""
        return bool(self.primary_key) and not self.is_deduplicated and self.scd2 is None

    @property
    def skips_rows(self) -> bool:
        """Whether a row of the load may not get into its table."""
        return self.deduplicates or (self.hard_delete is not None and self.scd2 is None)


def merge_hints(root: Table, default: MergeStrategy = STRATEGIES[0]) -> MergeHints:
    """Read the hints of a root table whose disposition is merge; columns without a type do not count."""
    strategy = root.extras.get("x-merge-strategy") or default
    if strategy not in STRATEGIES:
        raise SchemaCorruptedException(
            table=root.name, reason=f"the merge strategy {strategy!r} is not one of: {', '.join(STRATEGIES)}"
        )
    primary_key = _columns_with(root, "primary_key")
    if strategy in _NEEDS_PRIMARY_KEY and not primary_key:
        raise SchemaCorruptedException(
            table=root.name, reason=f"the merge strategy {strategy!r} needs a primary key, and there is none"
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
    found = _columns_with(table, hint)
    if len(found) > 1:
        raise SchemaCorruptedException(
            table=table.name,
            reason=f"{' and '.join(found)} have the hint {hint!r}, which one column may have",
        )
    return found[0] if found else None


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
            table=table.name, reason=f"{name} is to be sorted {direction!r}, which is neither asc nor desc"
        )
    return name, cast("Literal['asc', 'desc']", direction)


def _scd2_hints(table: Table) -> Scd2Hints:
    since, until = (_single_column(table, hint) for hint in ("x-valid-from", "x-valid-to"))
    if since is None or until is None:
        raise SchemaCorruptedException(
            table=table.name, reason="it keeps versions of rows and has no columns for when they are valid"
        )
    return Scd2Hints(
        valid_from=since,
        valid_to=until,
        version=_single_column(table, "x-row-version") or ID_COLUMN,
        active_record_timestamp=_text(table.columns[until].hints.get("x-active-record-timestamp")),
        boundary=_text(table.extras.get("x-boundary-timestamp")),
    )


def _text(moment: Any) -> str | None:
    return None if moment is None else str(moment)
