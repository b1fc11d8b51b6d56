"""The MERGE statement of one table; every name and value is quoted by sqlglot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from penstock.destinations.lake.hints import MergeHints, Scd2Hints
    from penstock.destinations.lake.plan import ChainStep

OP_COLUMN: Final = "_penstock_op"
"""The column of the source that separates rows of the load from the keys of superseded rows."""
ROW, SUPERSEDED = "row", "mark"
TARGET_ALIAS, SOURCE_ALIAS = "t", "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStatement:
    """A MERGE without the names of its target and source."""

    step: ChainStep
    hints: MergeHints
    columns: Sequence[str]
    """The columns of the rows of the load."""
    target_columns: Collection[str]
    """The columns of the table; missing ones are added by the same commit."""
    pruning_condition: str | None = None

    @property
    def evolves_schema(self) -> bool:
        """Whether the table gets new columns."""
        return any(name not in self.target_columns for name in self.columns)

    def sql(self, *, target: str, source: str) -> str:
        """Return the statement; `target` and `source` are SQL names."""
        verb = "MERGE WITH SCHEMA EVOLUTION INTO" if self.evolves_schema else "MERGE INTO"
        lines = [
            f"{verb} {target} AS {quote_name(TARGET_ALIAS)}",
            f"USING {source} AS {quote_name(SOURCE_ALIAS)}",
            f"ON {self.on_condition()}",
        ]
        return "\n".join((*lines, *self._matched_clauses(), *self._insert_clauses()))

    def on_condition(self) -> str:
        """Return the condition of a match of the aliases `t`, the target, and `s`, the source."""
        conditions = (
            [f"{quote_name(SOURCE_ALIAS, OP_COLUMN)} = {literal(SUPERSEDED)}"] if self.step.superseded else []
        )
        conditions += [
            f"{self._root_reference(name)} = {quote_name(SOURCE_ALIAS, name)}" for name in self.step.match
        ]
        if self.step.merge_kind == "scd2" and self.hints.scd2 is not None:
            conditions += self._active_conditions(self.hints.scd2)
        return " AND ".join((*conditions, *([self.pruning_condition] if self.pruning_condition else [])))

    def _root_reference(self, name: str) -> str:
        """Return the key of the root, or of the parent for rows older than the root key."""
        if self.step.parent_key is None:
            return quote_name(TARGET_ALIAS, name)
        return root_reference(self.target_columns, name, self.step.parent_key, TARGET_ALIAS)

    def _active_conditions(self, scd2: Scd2Hints) -> list[str]:
        is_new = scd2.valid_to not in self.target_columns
        return [] if is_new else [active_condition(scd2, TARGET_ALIAS)]

    def _matched_clauses(self) -> list[str]:
        match self.step.merge_kind:
            case "delete_insert":
                return ["WHEN MATCHED THEN DELETE"]
            case "upsert":
                flag = self.hints.hard_delete
                deleted = [f"WHEN MATCHED AND {flag.sql(SOURCE_ALIAS)} THEN DELETE"] if flag else []
                return [*deleted, f"WHEN MATCHED THEN UPDATE SET {self._assignments(self.columns)}"]
            case "scd2":
                ended = [self.hints.scd2.valid_to] if self.hints.scd2 else []
                return [f"WHEN MATCHED THEN UPDATE SET {self._assignments(ended)}"]
            case "insert" | None:
                return []
            case _:
                assert_never(self.step.merge_kind)

    def _insert_clauses(self) -> list[str]:
        if self.step.rows is None:
            return []
        conditions = (
            [f"{quote_name(SOURCE_ALIAS, OP_COLUMN)} = {literal(ROW)}"] if self.step.superseded else []
        )
        if self.step.rows == "winners" and self.hints.hard_delete:
            conditions.append(f"NOT {self.hints.hard_delete.sql(SOURCE_ALIAS)}")
        when = f"WHEN NOT MATCHED AND {' AND '.join(conditions)}" if conditions else "WHEN NOT MATCHED"
        names = ", ".join(quote_name(name) for name in self.columns)
        values = ", ".join(quote_name(SOURCE_ALIAS, name) for name in self.columns)
        return [f"{when} THEN INSERT ({names}) VALUES ({values})"]

    @staticmethod
    def _assignments(columns: Sequence[str]) -> str:
        return ", ".join(f"{quote_name(name)} = {quote_name(SOURCE_ALIAS, name)}" for name in columns)


def root_reference(columns: Collection[str], root_key: str, parent_key: str, alias: str) -> str:
    """Return SQL for the root key of nested rows, or else their parent key, in a table with these columns.

    >>> root_reference({"root", "parent"}, "root", "parent", "t")
    'coalesce(`t`.`root`, `t`.`parent`)'
    """
    names = [quote_name(alias, name) for name in dict.fromkeys((root_key, parent_key)) if name in columns]
    return f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]


def active_condition(scd2: Scd2Hints, alias: str | None = None) -> str:
    """Return the condition of active versions."""
    name = quote_name(alias, scd2.valid_to) if alias else quote_name(scd2.valid_to)
    if scd2.active_record_timestamp is None:
        return f"{name} IS NULL"
    return f"({name} IS NULL OR {name} = {timestamp_literal(scd2.active_record_timestamp)})"


def timestamp_literal(text: str | None) -> str:
    """Return a timestamp as an SQL value; None is null.

    >>> timestamp_literal("2024-01-02T03:04:05+00:00")
    "CAST('2024-01-02T03:04:05+00:00' AS TIMESTAMP)"
    """
    return f"CAST({'NULL' if text is None else literal(text)} AS TIMESTAMP)"
