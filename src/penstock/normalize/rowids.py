"""What the ids of root rows are made of, where they are not made of their place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from penstock.package import tags
from penstock.package.picking import picked
from penstock.package.sql import literal
from penstock.schema import plain_name
from penstock.schema.defaults import SYSTEM_PREFIX
from penstock.schema.path import EACH

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from penstock.normalize.stored import Dataset
    from penstock.package.picking import Picked
    from penstock.schema import Decision, NamingConvention
    from penstock.schema.look import SeenType
    from penstock.schema.path import Path

_TAGS: Final[Mapping[SeenType, str]] = {
    "timestamp": tags.DATETIME,
    "date": tags.DATE,
    "decimal": tags.DECIMAL,
    "binary": tags.BYTES,
    "time": tags.TIME,
}
_WITH_NULLS: Final = "map('ignoreNullFields', 'false')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashing:
    """Ids of rows by what they hold.

    `keys` are the columns of the primary key, and the paths at which their values may stand; None where the
    id is made of the whole row.
    """

    keys: Mapping[str, tuple[tuple[str, ...], ...]] | None = None


def hashing_of(decision: Decision, naming: NamingConvention) -> Hashing | None:
    """How the root rows of a decision get their ids; None where it is by their place."""
    match decision.row_id:
        case "place":
            return None
        case "row_hash":
            return Hashing()
        case "key_hash":
            table = decision.schema.tables[decision.tables[()]]
            named: dict[str, list[tuple[str, ...]]] = {one: [] for one in table.columns_with("primary_key")}
            for path, column in _named(decision, naming):
                if column in named:
                    named[column].append(path)
            # A key that nobody has seen may still come: under its own name it is found.
            return Hashing(
                keys={name: tuple(dict.fromkeys(found)) or ((name,),) for name, found in named.items()}
            )


def typed_content(decision: Decision, dataset: Dataset, naming: NamingConvention) -> str | None:
    """SQL for the JSON text that the ids of typed rows are made of, as if rows of Python had come."""
    hashing = hashing_of(decision, naming)
    if hashing is None:
        return None
    if hashing.keys is None:
        wanted: dict[str, Path] = {
            key: (key,) for key in dataset.root.fields if not key.startswith(SYSTEM_PREFIX)
        }
    else:
        wanted = {name: paths[0] for name, paths in hashing.keys.items()}
    kinds = {path: kind for path, kind in decision.rules if kind in _TAGS}
    fields = (f"{literal(name)}, {_value(dataset, path, kinds.get(path))}" for name, path in wanted.items())
    return f"to_json(named_struct({', '.join(fields)}), {_WITH_NULLS})"


def _value(dataset: Dataset, path: Path, kind: SeenType | None) -> str:
    try:
        _, access = dataset.reach(path)
    except KeyError:
        return "CAST(NULL AS STRING)"
    if kind is None:
        return access.sql()
    return f"concat({literal(_TAGS[kind])}, {picked(access.sql(), 'typed', cast('Picked', kind))})"


def _named(decision: Decision, naming: NamingConvention) -> Iterator[tuple[tuple[str, ...], str]]:
    """The columns of the root table that keys of its rows go to, whether or not all values fit there."""
    for (path, _), rule in decision.rules.items():
        if EACH in path or not path:
            continue
        keys = tuple(str(key) for key in path)
        if rule.column is not None:
            yield keys, rule.column
        yield keys, naming.shorten_fragments(*(plain_name(key, naming) for key in keys))
