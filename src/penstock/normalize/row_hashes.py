"""Row ids that are hashes of a key or of the whole row, rather than of the row's position."""

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
    """The input of hashed row ids.

    `keys` are the columns of the primary key, each with the paths at which its value may be; None if ids are
    hashes of whole rows.
    """

    keys: Mapping[str, tuple[tuple[str, ...], ...]] | None = None


def row_hash_spec(decision: Decision, naming: NamingConvention) -> RowHashSpec | None:
    """Return the hash of root row ids; None if ids are made of the position."""
    match decision.row_id_type:
        case "position":
            return None
        case "row_hash":
            return RowHashSpec()
        case "key_hash":
            table = decision.schema.tables[decision.tables[()]]
            key_paths: dict[str, list[tuple[str, ...]]] = {
                name: [] for name in table.columns_with("primary_key")
            }
            for path, column in _column_paths(decision, naming):
                if column in key_paths:
                    key_paths[column].append(path)
            # A key column without values yet is looked up under its own name.
            return RowHashSpec(
                keys={name: tuple(dict.fromkeys(paths)) or ((name,),) for name, paths in key_paths.items()}
            )


def typed_hash_input(decision: Decision, layout: NestedLayout, naming: NamingConvention) -> str | None:
    """Return SQL for the JSON that ids of typed rows are hashes of: the same as for equal Python rows."""
    hash_spec = row_hash_spec(decision, naming)
    if hash_spec is None:
        return None
    if hash_spec.keys is None:
        paths: dict[str, ValuePath] = {
            key: (key,) for key in layout.root.fields if not key.startswith(SYSTEM_PREFIX)
        }
    else:
        paths = {name: key_paths[0] for name, key_paths in hash_spec.keys.items()}
    tagged_types = {path: kind for path, kind in decision.rules if kind in _TAGS}
    fields = (
        f"{literal(name)}, {_hashed_value(layout, path, tagged_types.get(path))}"
        for name, path in paths.items()
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
    """Yield the columns of the root table that each path may go to, whether or not all values fit."""
    for (path, _), rule in decision.rules.items():
        if EACH in path or not path:
            continue
        keys = tuple(str(key) for key in path)
        if rule.column is not None:
            yield keys, rule.column
        yield keys, naming.shorten_fragments(*(plain_name(key, naming) for key in keys))
