"""What the ids of root rows are made of, where they are not made of their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from penstock.package import tags
from penstock.package.projection.typed_values import typed_value
from penstock.package.sql import literal
from penstock.schema import plain_name
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.value_path import EACH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.normalize.nested_layout import NestedLayout
    from penstock.package.projection.typed_values import ValueType
    from penstock.schema import Decision, NamingConvention
    from penstock.schema.observation import ObservedType
    from penstock.schema.value_path import ValuePath

_TAGS: Final[Mapping[ObservedType, str]] = {
    "timestamp": tags.DATETIME,
    "date": tags.DATE,
    "decimal": tags.DECIMAL,
    "binary": tags.BYTES,
    "time": tags.TIME,
}
_WITH_NULLS: Final = "map('ignoreNullFields', 'false')"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowHashSpec:
    """Ids of rows by what they hold.

    `keys` are the columns of the primary key, and the paths at which their values may stand; None where the
    id is made of the whole row.
    """

    keys: Mapping[str, tuple[tuple[str, ...], ...]] | None = None


def row_hash_spec(decision: Decision, naming: NamingConvention) -> RowHashSpec | None:
    """How the root rows of a decision get their ids; None where it is by their place."""
    match decision.row_id_type:
        case "place":
            return None
        case "row_hash":
            return RowHashSpec()
        case "key_hash":
            table = decision.schema.tables[decision.tables[()]]
            named: dict[str, list[tuple[str, ...]]] = {one: [] for one in table.columns_with("primary_key")}
            for path, column in _column_paths(decision, naming):
                if column in named:
                    named[column].append(path)
            # A key that nobody has seen may still come: under its own name it is found.
            return RowHashSpec(
                keys={name: tuple(dict.fromkeys(found)) or ((name,),) for name, found in named.items()}
            )


def typed_hash_input(decision: Decision, layout: NestedLayout, naming: NamingConvention) -> str | None:
    """SQL for the JSON text that the ids of typed rows are made of, as if rows of Python had come."""
    hashing = row_hash_spec(decision, naming)
    if hashing is None:
        return None
    if hashing.keys is None:
        wanted: dict[str, ValuePath] = {
            key: (key,) for key in layout.root.fields if not key.startswith(SYSTEM_PREFIX)
        }
    else:
        wanted = {name: paths[0] for name, paths in hashing.keys.items()}
    kinds = {path: kind for path, kind in decision.rules if kind in _TAGS}
    fields = (
        f"{literal(name)}, {_hashed_value(layout, path, kinds.get(path))}" for name, path in wanted.items()
    )
    return f"to_json(named_struct({', '.join(fields)}), {_WITH_NULLS})"


def _hashed_value(layout: NestedLayout, path: ValuePath, kind: ObservedType | None) -> str:
    try:
        _, access = layout.resolve(path)
    except KeyError:
        return "CAST(NULL AS STRING)"
    if kind is None:
        return access.sql()
    return f"concat({literal(_TAGS[kind])}, {typed_value(access.sql(), 'typed', cast('ValueType', kind))})"


def _column_paths(decision: Decision, naming: NamingConvention) -> Iterator[tuple[tuple[str, ...], str]]:
    """The columns of the root table that keys of its rows go to, whether or not all values fit there."""
    for (path, _), rule in decision.rules.items():
        if EACH in path or not path:
            continue
        keys = tuple(str(key) for key in path)
        if rule.column is not None:
            yield keys, rule.column
        yield keys, naming.shorten_fragments(*(plain_name(key, naming) for key in keys))
