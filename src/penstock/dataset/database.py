"""Queries that the database of a destination answers, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.dataset.query_text import bind_values
from penstock.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from penstock.dataset.query_text import BoundStatement
    from penstock.interfaces.sql_client import SqlSession, WithSqlSession

_ROWS = "penstock_rows"


class DatabaseReader:
    """The reader of one dataset, by a connection for each query or by an open one."""

    def __init__(self, database: WithSqlSession, session: SqlSession | None = None) -> None:
        self._database, self._session = database, session

    @property
    def dialect(self) -> str:
        """The dialect of queries, by the name that sqlglot has for it."""
        return self._database.sql_dialect

    def rows(self, query: exp.Query, limit: int | None = None) -> pa.Table:
        """Return the rows of a query, or the first ones."""
        if limit is not None:
            query = exp.select("*").from_(_subquery(query)).limit(limit)
        return self._run(query)

    def row_count(self, query: exp.Query) -> int:
        """Return the number of rows of a query."""
        counted = exp.select(exp.Count(this=exp.Star())).from_(_subquery(query))
        return int(self._run(counted).column(0)[0].as_py())

    def rows_of_text(self, statement: BoundStatement) -> pa.Table:
        """Return the rows of a query as its user wrote it."""
        return self._run(statement.text, statement.values)

    def bind(self, text: str, args: Sequence[Any], named: Mapping[str, Any]) -> BoundStatement:
        """Replace `%s` and `%(name)s` by placeholders of the database."""
        return bind_values(text, args, named, placeholder=self._database.placeholder)

    def text_of(self, query: str | exp.Query, dialect: str | None) -> str:
        """Return a query in the dialect of the database, from another dialect of sqlglot."""
        if not isinstance(query, str):
            return query.sql(dialect=self.dialect)
        if dialect in {None, self.dialect}:
            return query
        try:
            (text,) = sqlglot.transpile(query, read=dialect, write=self.dialect)
        except (SqlglotError, ValueError) as error:
            raise UsageError(
                f"the query cannot be translated from {dialect}: {str(error).splitlines()[0]}",
                hint=f"pass one query in a dialect of sqlglot, or in that of {self.dialect}",
            ) from error
        return text

    def parse(self, text: str, args: Sequence[Any], named: Mapping[str, Any]) -> exp.Query:
        """Return a query with its values as literals, from which other queries are derived."""
        statement = bind_values(text, args, named, placeholder=lambda name: f":{name}")
        try:
            tree: Any = sqlglot.parse_one(statement.text, read=self.dialect)
        except SqlglotError as error:
            raise UsageError(
                f"the query cannot be parsed: {str(error).splitlines()[0]}",
                hint="read its rows as they are, by df(), arrow() or fetchall()",
            ) from error

        def with_value(node: Any) -> Any:
            is_value = isinstance(node, exp.Placeholder) and node.name in statement.values
            return exp.convert(statement.values[node.name]) if is_value else node

        query: exp.Query = tree.transform(with_value)
        return query

    def _run(self, query: exp.Query | str, values: Mapping[str, Any] | None = None) -> pa.Table:
        if self._session is not None:
            return self._session.query_rows(query, values)
        with self._database.sql_session() as session:
            return session.query_rows(query, values)


def _subquery(query: exp.Query) -> exp.Subquery:
    return query.subquery(exp.to_identifier(_ROWS, quoted=True))
