"""The MERGE of one table, as text: every name and value is quoted by sqlglot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, assert_never

from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from penstock.destinations.lake.hints import History, MergeHints
    from penstock.destinations.lake.plan import Step

OP: Final = "_penstock_op"
"""The column of the source that tells rows from marks."""
ROW, MARK = "row", "mark"
_T, _S = "t", "s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """All that the text of a MERGE is made of, but for the names of target and source."""

    step: Step
    hints: MergeHints
    columns: Sequence[str]
    """The columns that rows of the load have."""
    target_columns: Collection[str]
    """The columns that the table has; those that it lacks are added with the same commit."""
    prune: str | None = None

    @property
    def evolves(self) -> bool:
        """Whether the table gets new columns."""
        return any(name not in self.target_columns for name in self.columns)

    def text(self, *, target: str, source: str) -> str:
        """The statement; `target` and `source` are SQL names."""
        words = "MERGE WITH SCHEMA EVOLUTION INTO" if self.evolves else "MERGE INTO"
        lines = [f"{words} {target} AS {quoted(_T)}", f"USING {source} AS {quoted(_S)}", f"ON {self._on()}"]
        return "\n".join((*lines, *self._matched(), *self._inserted()))

    def _on(self) -> str:
        conditions = [f"{quoted(_S, OP)} = {literal(MARK)}"] if self.step.marks else []
        conditions += [f"{self._named(name)} = {quoted(_S, name)}" for name in self.step.match]
        if self.step.kind == "history" and self.hints.history is not None:
            conditions += self._active(self.hints.history)
        return " AND ".join((*conditions, *([self.prune] if self.prune else [])))

    def _named(self, name: str) -> str:
        """What a row of the table names: its root, or its parent where it is too old to know its root."""
        if self.step.parent_key is None:
            return quoted(_T, name)
        return named(self.target_columns, name, self.step.parent_key, _T)

    def _active(self, history: History) -> list[str]:
        is_new = history.valid_to not in self.target_columns
        return [] if is_new else [is_active(history, _T)]

    def _matched(self) -> list[str]:
        match self.step.kind:
            case "exchange":
                return ["WHEN MATCHED THEN DELETE"]
            case "upsert":
                flag = self.hints.hard_delete
                deleted = [f"WHEN MATCHED AND {flag.sql(_S)} THEN DELETE"] if flag else []
                return [*deleted, f"WHEN MATCHED THEN UPDATE SET {self._assigned(self.columns)}"]
            case "history":
                until = [self.hints.history.valid_to] if self.hints.history else []
                return [f"WHEN MATCHED THEN UPDATE SET {self._assigned(until)}"]
            case "add" | None:
                return []
            case _:
                assert_never(self.step.kind)

    def _inserted(self) -> list[str]:
        if self.step.rows is None:
            return []
        conditions = [f"{quoted(_S, OP)} = {literal(ROW)}"] if self.step.marks else []
        if self.step.rows == "winners" and self.hints.hard_delete:
            conditions.append(f"NOT {self.hints.hard_delete.sql(_S)}")
        when = f"WHEN NOT MATCHED AND {' AND '.join(conditions)}" if conditions else "WHEN NOT MATCHED"
        names = ", ".join(quoted(name) for name in self.columns)
        values = ", ".join(quoted(_S, name) for name in self.columns)
        return [f"{when} THEN INSERT ({names}) VALUES ({values})"]

    @staticmethod
    def _assigned(columns: Sequence[str]) -> str:
        return ", ".join(f"{quoted(name)} = {quoted(_S, name)}" for name in columns)


def named(columns: Collection[str], root_key: str, parent_key: str, alias: str) -> str:
    """What nested rows name, in a table with these columns: their root, or else their parent.

    >>> named({"root", "parent"}, "root", "parent", "t")
    'coalesce(`t`.`root`, `t`.`parent`)'
    """
    names = [quoted(alias, name) for name in dict.fromkeys((root_key, parent_key)) if name in columns]
    return f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]


def is_active(history: History, alias: str | None = None) -> str:
    """Whether a version is valid now."""
    name = quoted(alias, history.valid_to) if alias else quoted(history.valid_to)
    if history.active_until is None:
        return f"{name} IS NULL"
    return f"({name} IS NULL OR {name} = {moment(history.active_until)})"


def moment(text: str | None) -> str:
    """A moment as a value; None is null.

    >>> moment("2024-01-02T03:04:05+00:00")
    "CAST('2024-01-02T03:04:05+00:00' AS TIMESTAMP)"
    """
    return f"CAST({'NULL' if text is None else literal(text)} AS TIMESTAMP)"
