"""The MERGE of one table, as text: every name and value is quoted by sqlglot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from penstock.package.sql import literal, quote_name

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from penstock.destinations.lake.hints import MergeHints, Scd2Hints
    from penstock.destinations.lake.plan import ChainStep

OP_COLUMN: Final = "_penstock_op"
"""The column of the source that tells rows from marks."""
ROW, SUPERSEDED = "row", "mark"
_TARGET_ALIAS, _SOURCE_ALIAS = "t", "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeStatement:
    """All that the text of a MERGE is made of, but for the names of target and source."""

    step: ChainStep
    hints: MergeHints
    columns: Sequence[str]
    """The columns that rows of the load have."""
    target_columns: Collection[str]
    """The columns that the table has; those that it lacks are added with the same commit."""
    pruning_condition: str | None = None

    @property
    def evolves_schema(self) -> bool:
        """Whether the table gets new columns."""
        return any(name not in self.target_columns for name in self.columns)

    def sql(self, *, target: str, source: str) -> str:
        """The statement; `target` and `source` are SQL names."""
        words = "MERGE WITH SCHEMA EVOLUTION INTO" if self.evolves_schema else "MERGE INTO"
        lines = [
            f"{words} {target} AS {quote_name(_TARGET_ALIAS)}",
            f"USING {source} AS {quote_name(_SOURCE_ALIAS)}",
            f"ON {self._on_condition()}",
        ]
        return "\n".join((*lines, *self._matched_clauses(), *self._insert_clauses()))

    def _on_condition(self) -> str:
        conditions = (
            [f"{quote_name(_SOURCE_ALIAS, OP_COLUMN)} = {literal(SUPERSEDED)}"]
            if self.step.superseded
            else []
        )
        conditions += [
            f"{self._root_reference(name)} = {quote_name(_SOURCE_ALIAS, name)}" for name in self.step.match
        ]
        if self.step.merge_kind == "history" and self.hints.scd2 is not None:
            conditions += self._active_conditions(self.hints.scd2)
        return " AND ".join((*conditions, *([self.pruning_condition] if self.pruning_condition else [])))

    def _root_reference(self, name: str) -> str:
        """What a row of the table names: its root, or its parent where it is too old to know its root."""
        if self.step.parent_key is None:
            return quote_name(_TARGET_ALIAS, name)
        return root_reference(self.target_columns, name, self.step.parent_key, _TARGET_ALIAS)

    def _active_conditions(self, scd2: Scd2Hints) -> list[str]:
        is_new = scd2.valid_to not in self.target_columns
        return [] if is_new else [active_condition(scd2, _TARGET_ALIAS)]

    def _matched_clauses(self) -> list[str]:
        match self.step.merge_kind:
            case "exchange":
                return ["WHEN MATCHED THEN DELETE"]
            case "upsert":
                flag = self.hints.hard_delete
                deleted = [f"WHEN MATCHED AND {flag.sql(_SOURCE_ALIAS)} THEN DELETE"] if flag else []
                return [*deleted, f"WHEN MATCHED THEN UPDATE SET {self._assignments(self.columns)}"]
            case "history":
                until = [self.hints.scd2.valid_to] if self.hints.scd2 else []
                return [f"WHEN MATCHED THEN UPDATE SET {self._assignments(until)}"]
            case "add" | None:
                return []
            case _:
                assert_never(self.step.merge_kind)

    def _insert_clauses(self) -> list[str]:
        if self.step.rows is None:
            return []
        conditions = (
            [f"{quote_name(_SOURCE_ALIAS, OP_COLUMN)} = {literal(ROW)}"] if self.step.superseded else []
        )
        if self.step.rows == "winners" and self.hints.hard_delete:
            conditions.append(f"NOT {self.hints.hard_delete.sql(_SOURCE_ALIAS)}")
        when = f"WHEN NOT MATCHED AND {' AND '.join(conditions)}" if conditions else "WHEN NOT MATCHED"
        names = ", ".join(quote_name(name) for name in self.columns)
        values = ", ".join(quote_name(_SOURCE_ALIAS, name) for name in self.columns)
        return [f"{when} THEN INSERT ({names}) VALUES ({values})"]

    @staticmethod
    def _assignments(columns: Sequence[str]) -> str:
        return ", ".join(f"{quote_name(name)} = {quote_name(_SOURCE_ALIAS, name)}" for name in columns)


def root_reference(columns: Collection[str], root_key: str, parent_key: str, alias: str) -> str:
    """What nested rows name, in a table with these columns: their root, or else their parent.

    >>> root_reference({"root", "parent"}, "root", "parent", "t")
    'coalesce(`t`.`root`, `t`.`parent`)'
    """
    names = [quote_name(alias, name) for name in dict.fromkeys((root_key, parent_key)) if name in columns]
    return f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]


def active_condition(scd2: Scd2Hints, alias: str | None = None) -> str:
    """Whether a version is valid now."""
    name = quote_name(alias, scd2.valid_to) if alias else quote_name(scd2.valid_to)
    if scd2.active_record_timestamp is None:
        return f"{name} IS NULL"
    return f"({name} IS NULL OR {name} = {timestamp_literal(scd2.active_record_timestamp)})"


def timestamp_literal(text: str | None) -> str:
    """A moment as a value; None is null.

    >>> timestamp_literal("2024-01-02T03:04:05+00:00")
    "CAST('2024-01-02T03:04:05+00:00' AS TIMESTAMP)"
    """
    return f"CAST({'NULL' if text is None else literal(text)} AS TIMESTAMP)"
