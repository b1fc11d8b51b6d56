"""Names for the keys of rows: plain where they can be, different always, and the same in every batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.schema.defaults import LIST_INDEX_COLUMN, LOAD_ID_COLUMN, PARENT_ID_COLUMN, ROOT_ID_COLUMN
from penstock.schema.path import path_of, path_text, split_row
from penstock.schema.shorten import tagged
from penstock.schema.unique import NAMELESS, distinct, renamed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from penstock.schema.column import Column
    from penstock.schema.names import NamingConvention
    from penstock.schema.types import DataType
    from penstock.schema.unique import NameCollision

INNER_LIST: Final = "list"
"""The key under which a list stands that is itself an element of a list."""
SOURCE_PATH: Final = "x-source-path"
"""The hint that remembers whose name a name is, once two keys have met in it."""
RESERVED: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN, ROOT_ID_COLUMN))
_OLD_JSON: Final = "complex"

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The name of each key of a table, and what to report and remember of it."""

    names: Mapping[Keys, str]
    collisions: tuple[NameCollision, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    """For names that two keys wanted: the path of the key that has it."""


@dataclass(frozen=True, slots=True)
class Namer:
    """Plain names for keys, each worked out once."""

    naming: NamingConvention
    breaks_paths: bool
    _known: dict[str, str] = field(default_factory=dict)

    def fragment(self, key: str) -> str:
        """Normalise one key; one with nothing in it is called `_empty`."""
        name = self._known.get(key)
        if name is None:
            normalize = self.naming.normalize_path if self.breaks_paths else self.naming.normalize_identifier
            name = (normalize(key) if key and not key.isspace() else "") or self.naming.normalize_path(
                NAMELESS
            )
            self._known[key] = name
        return name

    def column(self, keys: Keys) -> str:
        """Join the names of nested keys."""
        if len(keys) == 1:
            return self.fragment(keys[0])
        return self.naming.shorten_fragments(*map(self.fragment, keys))

    def columns(self, keys: Iterable[Keys], stored: Mapping[str, Column]) -> ColumnNames:
        """Give each key a column of its own; the first to come has the plain name.

        Names that the engine fills itself are taken, and so is what once was made a variant column.
        """
        own = stored if self.naming.is_idempotent else {}
        plain = {one: one[0] if len(one) == 1 and one[0] in own else self.column(one) for one in keys}
        values = plain.values()
        reserved = RESERVED.intersection(values)
        reserved |= {n for n in values if n in stored and "variant" in stored[n].hints}
        known = {_keys(c.hints[SOURCE_PATH]): n for n, c in stored.items() if SOURCE_PATH in c.hints}
        if not reserved and not known and len(set(values)) == len(plain):
            return ColumnNames(names=plain)
        names = distinct(
            plain,
            known=known,
            original=path_text,
            reserved=reserved,
            max_length=self.naming.max_length,
        )
        collisions = renamed(names, plain, original=path_text)
        wanted = {c.plain_name for c in collisions} - reserved
        owners = {n: path_text(one) for one, n in names.items() if n != plain[one] or n in wanted}
        return ColumnNames(names=names, collisions=collisions, owners=owners)

    def variant(
        self, column: str, kind: DataType, stored: Mapping[str, Column], taken: Collection[str]
    ) -> str:
        """Name the column beside `column` for values of type `kind`; a key's own column is never used."""
        name = self.naming.shorten_fragments(column, f"v_{kind}")
        old = self.naming.shorten_fragments(column, f"v_{_OLD_JSON}")
        if kind == "json" and old in stored and stored[old].has("variant"):
            return old
        if name in taken or (name in stored and not stored[name].has("variant")):
            return tagged(name, original=path_text((column, kind)), max_length=self.naming.max_length)
        return name


def _keys(text: str) -> Keys:
    return split_row(path_of(text))[1]
