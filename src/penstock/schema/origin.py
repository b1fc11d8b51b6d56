"""Origins of columns: the rule that made a column or changed its type, and the place of a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.schema.evidence import Position
    from penstock.schema.observation import ObservedType
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.value_path import ValuePath

OriginRule = Literal["inference", "detection", "preferred_type", "widening", "variant", "hint"]
"""The rule that decided the type of a column:

- `inference`: the type of the first value
- `detection`: a detector of the schema matched the values
- `preferred_type`: the schema has a preferred type for the name
- `widening`: the column has a wider type, because values did not fit its own
- `variant`: values that did not fit their column got another one
- `hint`: the column is declared
"""
RULE_TEXTS: Final[Mapping[str, str]] = {
    "inference": "the column has the type of its first value",
    "detection": "a type detector of the schema matches the values",
    "preferred_type": "the schema has a preferred type for this name",
    "widening": "a value did not fit the column, which got a type that holds all of them",
    "variant": "values that do not fit the column of their key have a separate one",
    "hint": "the column is declared",
    "system": "penstock adds the column",
}
"""The rules in words, and `system` for columns without an origin."""
PermittedBy = Literal["tables", "columns", "data_type", "first_rows"]
"""The part of the contract that permitted a column; `first_rows`: a new table may add columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOrigin:
    """The origin of a column or of a new type of it; the value itself is not recorded."""

    table: str
    column: str
    rule: OriginRule
    permitted_by: PermittedBy | None = None
    """None for a declared column."""
    path: ValuePath | None = None
    value_type: ObservedType | None = None
    """The type of the value at the path."""
    position: Position | None = None
    """The place of such a value, without the number of the value in its row; None for columns of frames."""

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> ColumnOrigin:
        """Read a document of `asdict`; a missing or wrong field is a `KeyError` or `TypeError`."""
        fields = dict(document)
        for name in ("path", "position"):
            if fields.get(name) is not None:
                fields[name] = tuple(fields[name])
        if fields["rule"] not in get_args(OriginRule):
            raise TypeError(f"rule is {fields['rule']!r:.80}")
        return ColumnOrigin(**fields)


def hint_origins(before: StoredSchema, after: StoredSchema) -> Iterator[ColumnOrigin]:
    """Yield the origins of columns that a declaration completes, or whose type it changes."""
    for name, table in after.tables.items():
        known_columns = before.tables[name].columns if name in before.tables else {}
        if known_columns is table.columns:
            continue
        for column in table.complete_columns():
            earlier = known_columns.get(column.name)
            if earlier is None or earlier.data_type != column.data_type:
                yield ColumnOrigin(table=name, column=column.name, rule="hint")


def json_path(path: ValuePath, indexes: tuple[int, ...] | None = None) -> str:
    """Return a path as JSONPath, with `[*]` for each list, or with the index of one element.

    >>> from penstock.schema import EACH
    >>> json_path(("items", EACH, "unit price")), json_path(("items", EACH, "sku"), (2,))
    ("$.items[*]['unit price']", '$.items[2].sku')
    """
    text, position = "$", 0
    for step in path:
        if isinstance(step, str):
            text += f".{step}" if step.isidentifier() else f"[{_quoted(step)}]"
        else:
            text += "[*]" if indexes is None or position >= len(indexes) else f"[{indexes[position]}]"
            position += 1
    return text


def _quoted(key: str) -> str:
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
