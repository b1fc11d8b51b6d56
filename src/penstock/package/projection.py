"""A table as a projection of a nested dataset: plain data, compiled to SQL text.

The nested dataset of a root table has two columns: `id`, the row's id, and `row`, the typed struct. A child
table is reached by stepping into lists. Because the projection is data, it can be stored in a job file and
read by anybody.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never

from penstock.package import tags
from penstock.package.sql import literal, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

Conversion = Literal["as_is", "parse", "text", "binary", "json", "number", "document"]
"""`as_is`.

Typed already. `parse`, `text`, `binary`: from text. `json`, `number`: from a value of mixed type. `document`:
from a value that has parts, and no tags in them.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputColumn:
    """A column of the table: where its value stands below the row, and how it becomes the column's type."""

    name: str
    path: tuple[str, ...]
    sql_type: str
    conversion: Conversion = "as_is"
    tagged: bool = False
    """Texts may begin with a character that tells their type and is not part of the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListStep:
    """One list on the way from the root to the table; `table` names the rows that its elements become."""

    path: tuple[str, ...]
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """The way from a nested dataset to one table."""

    steps: tuple[ListStep, ...] = ()
    columns: tuple[OutputColumn, ...] = ()

    def selects(self, *, load_id: str) -> list[list[str]]:
        """The select lists to apply one after another to the nested dataset."""
        selects: list[list[str]] = []
        for step in self.steps:
            values = quoted("row", *step.path)
            selects.append(["`id` AS `parent`", f"posexplode({values}) AS (`idx`, `row`)"])
            selects.append(["`parent`", "`idx`", f"{_child_id(step.table)} AS `id`", "`row`"])
        system = (
            [
                "`parent` AS `_dlt_parent_id`",
                "CAST(`idx` AS BIGINT) AS `_dlt_list_idx`",
                "`id` AS `_dlt_id`",
            ]
            if self.steps
            else [f"{literal(load_id)} AS `_dlt_load_id`", "`id` AS `_dlt_id`"]
        )
        selects.append([*(_value(column) for column in self.columns), *system])
        return selects

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the job file."""
        return asdict(self)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Projection:
        """Read what `to_dict` gave."""
        return Projection(
            steps=tuple(
                ListStep(path=tuple(step["path"]), table=step["table"]) for step in document["steps"]
            ),
            columns=tuple(
                OutputColumn(**{**column, "path": tuple(column["path"])}) for column in document["columns"]
            ),
        )


def digest(text: str) -> str:
    """SQL for an id of 80 bits over a text expression, in the 14 characters of dlt's ids."""
    return f"left(base64(substring(unhex(sha2({text}, 256)), 1, 10)), 14)"


def _child_id(table: str) -> str:
    return digest(f"concat(`parent`, '_', {literal(table)}, '_', CAST(`idx` AS STRING))")


def _value(column: OutputColumn) -> str:
    source = quoted("row", *column.path)
    return f"{_converted(column, source)} AS {quoted(column.name)}"


def _converted(column: OutputColumn, source: str) -> str:
    text = untagged(source) if column.tagged else source
    match column.conversion:
        case "as_is":
            return f"CAST({source} AS {column.sql_type})"
        case "parse":
            return f"try_cast({text} AS {column.sql_type})"
        case "text":
            return f"CAST({text} AS STRING)"
        case "binary":
            return f"unbase64({text})"
        case "json":
            return f"regexp_replace(nullif(to_json({source}), 'null'), {_TAG_IN_JSON}, '\"')"
        case "document":
            return f"nullif(to_json({source}), 'null')"
        case "number":
            value = f"try_variant_get({source}, '$', 'string')"
            return f"try_cast({untagged(value)} AS {column.sql_type})"
        case _:
            assert_never(column.conversion)


_TAG_IN_JSON = literal(rf'(?<!\\)"[{tags.FIRST}-{tags.LAST}]')


def is_tagged(source: str) -> str:
    """SQL that tells whether a text begins with a type tag."""
    return f"substring({source}, 1, 1) BETWEEN '{tags.FIRST}' AND '{tags.LAST}'"


def untagged(source: str) -> str:
    """SQL for a text without its tag, if it has one."""
    return f"CASE WHEN {is_tagged(source)} THEN substring({source}, 2) ELSE {source} END"
