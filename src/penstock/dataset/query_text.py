"""SQL texts of users: their tables and their placeholders. Values are bound, never inserted into a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from penstock.errors import UsageError
from penstock.package.sql import quote_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


VALUES_FRAME: Final = "values"
DIALECT: Final = "spark"
"""The dialect of queries, by the name that sqlglot has for it."""
_TEXTS: Final = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|--[^\n]*|/\*.*?\*/"""
_NAME: Final = r"`(?:[^`]|``)*`|\w+"
_QUOTED: Final = re.compile(rf"({_TEXTS}|`(?:[^`]|``)*`)", re.DOTALL)
_MARKER: Final = re.compile(r"%(?:%|s|\((\w+)\)s)")
_PATH: Final = re.compile(rf"(?P<text>{_TEXTS})|(?P<path>(?:{_NAME})(?:\s*\.\s*(?:{_NAME}))*)", re.DOTALL)
_QUERY: Final = re.compile(
    r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*(?:SELECT|WITH|FROM|VALUES|TABLE)\b", re.DOTALL | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class BoundStatement:
    """A text with named placeholders, and the values by these names."""

    text: str
    values: dict[str, Any]


def engine_placeholder(name: str) -> str:
    """Return the named parameter of Spark SQL."""
    return f":{name}"


def frame_placeholder(name: str) -> str:
    """Return a subquery for a value in a frame with one row, which Spark gets beside the text."""
    return f"(SELECT {quote_name(name)} FROM {{{VALUES_FRAME}}})"


def bind_values(
    text: str,
    values: Sequence[Any] = (),
    named: Mapping[str, Any] | None = None,
    *,
    placeholder: Callable[[str], str] = engine_placeholder,
) -> BoundStatement:
    """Replace `%s` and `%(name)s` by placeholders; without values return the text unchanged.

    >>> bind_values("SELECT * FROM t WHERE id = %s AND name LIKE 'a%%'", [7])
    BoundStatement(text="SELECT * FROM t WHERE id = :value_0 AND name LIKE 'a%'", values={'value_0': 7})
    """
    if not values and not named:
        return BoundStatement(text, {})
    if values and named:
        raise UsageError(
            "the query has positional and named values", hint="use %s for all, or %(name)s for all"
        )
    names: list[str] = []

    def substitute(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        names.append(match[1] or f"value_{len(names)}")
        return placeholder(names[-1])

    # Every second piece is quoted: a percent sign in it is literal.
    pieces = [
        piece.replace("%%", "%") if number % 2 else _MARKER.sub(substitute, piece)
        for number, piece in enumerate(_QUOTED.split(text))
    ]
    by_name = dict(named or {f"value_{number}": value for number, value in enumerate(values)})
    missing, unused = [name for name in names if name not in by_name], by_name.keys() - set(names)
    if missing or (values and unused):
        raise UsageError(
            f"the query has {len(names)} placeholders for {len(by_name)} values",
            hint="write one %s for each value, or %(name)s for named values; escape a percent sign as %%",
        )
    return BoundStatement("".join(pieces), by_name)


def parsed_query(statement: BoundStatement) -> exp.Query:
    """Return a query with its values as literals.

    >>> parsed_query(BoundStatement("SELECT a FROM t WHERE b = :value_0", {"value_0": "x"})).sql(DIALECT)
    "SELECT a FROM t WHERE b = 'x'"
    """
    try:
        tree: Any = sqlglot.parse_one(statement.text, read=DIALECT)
    except SqlglotError as error:
        raise UsageError(
            f"the query cannot be parsed: {str(error).splitlines()[0]}",
            hint="use its own text: Spark runs queries that to_sql does not know",
        ) from error

    def with_value(node: Any) -> Any:
        is_value = isinstance(node, exp.Placeholder) and node.name in statement.values
        return exp.convert(statement.values[node.name]) if is_value else node

    query: exp.Query = tree.transform(with_value)
    return query


def spark_query(query: str | exp.Query, dialect: str | None) -> str:
    """Return the text of a query in Spark's dialect.

    >>> spark_query('SELECT "a b" FROM t', "duckdb")
    'SELECT `a b` FROM t'
    """
    if not isinstance(query, str):
        return query.sql(dialect=DIALECT)
    if dialect in {None, DIALECT}:
        return query
    try:
        (text,) = sqlglot.transpile(query, read=dialect, write=DIALECT)
    except (SqlglotError, ValueError) as error:
        raise UsageError(
            f"the query cannot be translated from {dialect}: {str(error).splitlines()[0]}",
            hint="pass one query in a dialect of sqlglot, or in Spark's without query_dialect",
        ) from error
    return text


def is_query(text: str) -> bool:
    r"""Return whether a text is a query, which changes nothing.

    >>> is_query("-- all of them\n(SELECT 1)"), is_query("DELETE FROM t")
    (True, False)
    """
    return _QUERY.match(text) is not None


def mentioned_tables(text: str, tables: Iterable[str]) -> list[str]:
    """Return the tables whose names occur in a text: all that it reads, and rarely one that it does not.

    >>> query = "SELECT * FROM Orders JOIN `order lines` USING (id)"
    >>> mentioned_tables(query, ["orders", "order lines", "lines"])
    ['orders', 'order lines', 'lines']
    """
    return [name for name in tables if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]


def without_dataset_name(text: str, dataset: str, tables: Iterable[str]) -> str:
    """Return the text without the dataset's name before its tables.

    >>> without_dataset_name("SELECT 'demo.items' FROM demo.items", "demo", ["items"])
    "SELECT 'demo.items' FROM items"
    """
    table_names = {name.casefold() for name in tables}

    def strip_dataset(match: re.Match[str]) -> str:
        parts = re.findall(_NAME, match["path"] or "")
        names = [part.strip("`").casefold() for part in parts[:2]]
        if len(names) > 1 and names[0] == dataset.casefold() and names[1] in table_names:
            return ".".join(parts[1:])
        return match[0]

    return _PATH.sub(strip_dataset, text)


def with_table_frames(text: str, tables: Sequence[str]) -> tuple[str, dict[str, str]]:
    r"""Return a query in which names of tables refer to frames, and the table of each frame.

    Spark gets the frames beside the text, so no view is created in the session. Names in the query take
    precedence over those of tables, as in SQL.

    >>> with_table_frames("SELECT id FROM items", ["items"])
    ('WITH `items` AS (SELECT * FROM {table_0}) (\nSELECT id FROM items\n)', {'table_0': 'items'})
    """
    frames = {f"table_{number}": name for number, name in enumerate(tables)}
    if not frames:
        return text, {}
    definitions = ", ".join(
        f"{escape_braces(quote_name(name))} AS (SELECT * FROM {{{frame}}})" for frame, name in frames.items()
    )
    return f"WITH {definitions} (\n{text}\n)", frames


def escape_braces(text: str) -> str:
    """Return the text of a query with its braces doubled, so that none of them is a placeholder of a frame.

    >>> escape_braces("SELECT '{a}';")
    "SELECT '{{a}}'"
    """
    return re.sub(r"[\s;]+\Z", "", text).replace("{", "{{").replace("}", "}}")


_DML = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:DELETE|UPDATE|INSERT|MERGE)\b", re.DOTALL | re.IGNORECASE)


def resolve_tables(text: str, *, dataset: str, tables: Mapping[str, str]) -> str:
    """Return a statement that changes tables, with the tables of the dataset replaced by their SQL names.

    >>> tables = {"items": "delta.`s3a://b/items`"}
    >>> resolve_tables("DELETE FROM items WHERE items.id = ?", dataset="demo", tables=tables)
    'DELETE FROM delta.`s3a://b/items` AS items WHERE items.id = ?'
    """
    if _DML.match(text) is None:
        raise _unsupported_statement("it is not DELETE, UPDATE, INSERT or MERGE")
    try:
        tree = sqlglot.parse_one(text, read=DIALECT)
    except SqlglotError as error:
        raise _unsupported_statement(f"it cannot be parsed: {str(error).splitlines()[0]}") from error
    sql_names = {name.casefold(): sql_name for name, sql_name in tables.items()}
    cte_names = {cte.alias_or_name.casefold() for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        name, owner = table.name.casefold(), table.db.casefold()
        if (
            owner not in {"", dataset.casefold()}
            or name not in sql_names
            or (not owner and name in cte_names)
        ):
            continue
        resolved = exp.to_table(sql_names[name], dialect=DIALECT)
        is_target = isinstance(tree, exp.Insert) and table.find_ancestor(exp.Insert, exp.Select) is tree
        # The target of an insert takes no alias; elsewhere columns may be qualified by their table.
        alias = table.alias or ("" if is_target else table.name)
        table.replace(exp.alias_(resolved, alias, table=True, dialect=DIALECT) if alias else resolved)
    return tree.sql(dialect=DIALECT)


def _unsupported_statement(reason: str) -> UsageError:
    return UsageError(
        f"the SQL client does not run this statement: {reason}",
        hint="run it with spark.sql in your own session, or load the change with the pipeline",
    )
