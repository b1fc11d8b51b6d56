"""SQL texts as users write them: which tables they name, and where values go. Nothing is put into a text."""

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
    """A text with places for values, and the values by the names of their places."""

    text: str
    values: dict[str, Any]


def engine_placeholder(name: str) -> str:
    """The marker of Spark SQL for a value with a name."""
    return f":{name}"


def frame_placeholder(name: str) -> str:
    """A value out of a frame with one row, which is given to Spark beside the text."""
    return f"(SELECT {quote_name(name)} FROM {{{VALUES_FRAME}}})"


def bind_values(
    text: str,
    values: Sequence[Any] = (),
    named: Mapping[str, Any] | None = None,
    *,
    placeholder: Callable[[str], str] = engine_placeholder,
) -> BoundStatement:
    """Turn `%s` and `%(name)s` into places for values; without values the text stays as it is.

    >>> bind_values("SELECT * FROM t WHERE id = %s AND name LIKE 'a%%'", [7])
    BoundStatement(text="SELECT * FROM t WHERE id = :value_0 AND name LIKE 'a%'", values={'value_0': 7})
    """
    if not values and not named:
        return BoundStatement(text, {})
    if values and named:
        raise UsageError(
            "a query has values by place and by name", hint="use %s for all, or %(name)s for all"
        )
    asked: list[str] = []

    def placed(found: re.Match[str]) -> str:
        if found[0] == "%%":
            return "%"
        asked.append(found[1] or f"value_{len(asked)}")
        return placeholder(asked[-1])

    # Every second piece is quoted: there a percent sign is only ever a percent sign.
    pieces = [
        piece.replace("%%", "%") if number % 2 else _MARKER.sub(placed, piece)
        for number, piece in enumerate(_QUOTED.split(text))
    ]
    given = dict(named or {f"value_{number}": value for number, value in enumerate(values)})
    missing, left = [name for name in asked if name not in given], given.keys() - set(asked)
    if missing or (values and left):
        raise UsageError(
            f"the query has {len(asked)} places for {len(given)} values",
            hint="put one %s for each value, or %(name)s with values by name; a percent sign is written %%",
        )
    return BoundStatement("".join(pieces), given)


def is_query(text: str) -> bool:
    r"""Whether a text asks for rows, and changes nothing.

    >>> is_query("-- all of them\n(SELECT 1)"), is_query("DELETE FROM t")
    (True, False)
    """
    return _QUERY.match(text) is not None


def mentioned_tables(text: str, tables: Iterable[str]) -> list[str]:
    """The tables whose names stand in a text: those that it reads, and seldom one that it does not.

    >>> query = "SELECT * FROM Orders JOIN `order lines` USING (id)"
    >>> mentioned_tables(query, ["orders", "order lines", "lines"])
    ['orders', 'order lines', 'lines']
    """
    return [name for name in tables if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)]


def without_dataset_name(text: str, dataset: str, tables: Iterable[str]) -> str:
    """The text with the dataset's name taken away from before its tables.

    >>> without_dataset_name("SELECT 'demo.items' FROM demo.items", "demo", ["items"])
    "SELECT 'demo.items' FROM items"
    """
    known = {name.casefold() for name in tables}

    def shorter(found: re.Match[str]) -> str:
        parts = re.findall(_NAME, found["path"] or "")
        names = [part.strip("`").casefold() for part in parts[:2]]
        if len(names) == len(parts[:2]) > 1 and names[0] == dataset.casefold() and names[1] in known:
            return ".".join(parts[1:])
        return found[0]

    return _PATH.sub(shorter, text)


def with_table_frames(text: str, tables: Sequence[str]) -> tuple[str, dict[str, str]]:
    r"""A query in which names of tables mean frames: its text, and the table for each place of a frame.

    The frames are given to Spark beside the text, so no view is left in anybody's session. Names of the query
    itself win over those of tables, as they do in SQL.

    >>> with_table_frames("SELECT id FROM items", ["items"])
    ('WITH `items` AS (SELECT * FROM {table_0}) (\nSELECT id FROM items\n)', {'table_0': 'items'})
    """
    places = {f"table_{number}": name for number, name in enumerate(tables)}
    if not places:
        return text, {}
    frames = ", ".join(
        f"{escape_braces(quote_name(name))} AS (SELECT * FROM {{{place}}})" for place, name in places.items()
    )
    return f"WITH {frames} (\n{text}\n)", places


def escape_braces(text: str) -> str:
    """The text of a query, of which nothing is a place for a frame yet: braces are doubled.

    >>> escape_braces("SELECT '{a}';")
    "SELECT '{{a}}'"
    """
    return re.sub(r"[\s;]+\Z", "", text).replace("{", "{{").replace("}", "}}")


_DIALECT = "spark"
_DML = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*(?:DELETE|UPDATE|INSERT|MERGE)\b", re.DOTALL | re.IGNORECASE)


def resolve_tables(text: str, *, dataset: str, tables: Mapping[str, str]) -> str:
    """A statement in which tables of the dataset are called what they are called in SQL.

    >>> tables = {"items": "delta.`s3a://b/items`"}
    >>> resolve_tables("DELETE FROM items WHERE items.id = ?", dataset="demo", tables=tables)
    'DELETE FROM delta.`s3a://b/items` AS items WHERE items.id = ?'
    """
    if _DML.match(text) is None:
        raise _unsupported_statement("it is none of DELETE, UPDATE, INSERT and MERGE")
    try:
        tree = sqlglot.parse_one(text, read=_DIALECT)
    except SqlglotError as error:
        raise _unsupported_statement(f"it cannot be understood: {str(error).splitlines()[0]}") from error
    known = {name.casefold(): place for name, place in tables.items()}
    inner = {one.alias_or_name.casefold() for one in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        name, owner = table.name.casefold(), table.db.casefold()
        if owner not in {"", dataset.casefold()} or name not in known or (not owner and name in inner):
            continue
        place = exp.to_table(known[name], dialect=_DIALECT)
        is_target = isinstance(tree, exp.Insert) and table.find_ancestor(exp.Insert, exp.Select) is tree
        # An insert has no alias; everywhere else columns may be called by their table.
        called = table.alias or ("" if is_target else table.name)
        table.replace(exp.alias_(place, called, table=True, dialect=_DIALECT) if called else place)
    return tree.sql(dialect=_DIALECT)


def _unsupported_statement(reason: str) -> UsageError:
    return UsageError(
        f"this statement is not run on a dataset: {reason}",
        hint="run it with spark.sql in your own session, or load the change with the pipeline",
    )
