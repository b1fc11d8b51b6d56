"""Counts of what the statements of a load would change: each statement is counted instead of run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from penstock.interfaces import TableChanges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.destinations.sql.chain_statements import ChainStatements
    from penstock.destinations.sql.connection import SqlConnection
    from penstock.destinations.sql.dialect import DatasetNames


@dataclass(frozen=True, slots=True)
class ChangeCounter:
    """Counts over a connection with an open transaction, in which it creates and drops temporary tables."""

    connection: SqlConnection
    names: DatasetNames

    def count_rows(self, tables: Iterable[str]) -> dict[str, int]:
        """Return the rows of existing tables."""
        return {name: self._count(_all_rows(self.names.table(name))) for name in tables}

    def count_changes(self, chain: ChainStatements) -> list[TableChanges]:
        """Return the changes of each table of a chain.

        A statement sees the table as it is before the others, which makes no difference: rows that one of
        them deletes do not keep another one from an insert.
        """
        changes = {
            step.table: TableChanges(table=step.table, files=None, file_bytes=None)
            for step in chain.plan.steps
            if step.commit != "nothing"
        }
        for statement in chain.statements():
            expression = statement.expression
            if isinstance(expression, exp.Create | exp.Drop):
                self.connection.execute(expression)
                continue
            name = expression.find(exp.Table).name  # type: ignore[union-attr]  # the first is the target
            count, change = self._count(_counted_query(expression)), changes[name]
            if isinstance(expression, exp.Insert):
                replaced = chain.replaced_rows() if name == chain.plan.root else None
                updated = self._count(replaced) if replaced is not None else 0
                deleted = (change.deleted or 0) - updated
                changes[name] = replace(
                    change,
                    inserted=count - updated,
                    updated=(change.updated or 0) + updated,
                    deleted=deleted,
                )
            elif isinstance(expression, exp.Delete):
                changes[name] = replace(change, deleted=count)
            elif chain.ends_versions(name):
                changes[name] = replace(change, ended=count)
            else:
                changes[name] = replace(change, updated=count)
        return list(changes.values())

    def _count(self, query: exp.Query) -> int:
        ((count,),) = self.connection.query(query)
        return int(count)


def _counted_query(statement: exp.Expression) -> exp.Select:
    """Return the query of the number of rows that a statement changes."""
    if isinstance(statement, exp.Insert):
        query: exp.Select = statement.expression.copy()
        return query.select(exp.Count(this=exp.Star()), append=False)
    rows = _all_rows(statement.this.copy())
    others = statement.args.get("from_") or statement.args.get("from")
    if others is not None:
        rows = rows.join(others.this.copy(), join_type="cross")
    where = statement.args.get("where")
    return rows.where(where.this.copy()) if where is not None else rows


def _all_rows(table: exp.Table) -> exp.Select:
    return exp.select(exp.Count(this=exp.Star())).from_(table)
