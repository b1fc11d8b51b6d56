"""Names for the keys of rows: plain where they can be, different always, and the same in every batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.schema.defaults import LIST_INDEX_COLUMN, LOAD_ID_COLUMN, PARENT_ID_COLUMN, ROOT_ID_COLUMN
from penstock.schema.name_collisions import EMPTY_KEY_NAME, distinct_names, find_collisions
from penstock.schema.shorten import append_tag
from penstock.schema.value_path import parse_path, path_text, split_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from penstock.schema.column import Column
    from penstock.schema.name_collisions import NameCollision
    from penstock.schema.naming import NamingConvention
    from penstock.schema.types import DataType

INNER_LIST_KEY: Final = "list"
"""The key under which a list stands that is itself an element of a list."""
SOURCE_PATH_HINT: Final = "x-source-path"
"""The hint that remembers whose name a name is, once two keys have met in it."""
RESERVED_COLUMNS: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN, ROOT_ID_COLUMN))
_LEGACY_JSON_TYPE: Final = "complex"

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The name of each key of a table, and what to report and remember of it."""

    names: Mapping[KeyPath, str]
    collisions: tuple[NameCollision, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    """For names that two keys wanted: the path of the key that has it."""


@dataclass(frozen=True, slots=True)
class Namer:
    """Plain names for keys, each worked out once."""

    naming: NamingConvention
    breaks_paths: bool
    _cache: dict[str, str] = field(default_factory=dict)

    def normalize_key(self, key: str) -> str:
        """Normalise one key; one with nothing in it is called `_empty`."""
        name = self._cache.get(key)
        if name is None:
            normalize = self.naming.normalize_path if self.breaks_paths else self.naming.normalize_identifier
            name = (normalize(key) if key and not key.isspace() else "") or self.naming.normalize_path(
                EMPTY_KEY_NAME
            )
            self._cache[key] = name
        return name

    def column_name(self, keys: KeyPath) -> str:
        """Join the names of nested keys."""
        if len(keys) == 1:
            return self.normalize_key(keys[0])
        return self.naming.shorten_fragments(*map(self.normalize_key, keys))

    def column_names(self, keys: Iterable[KeyPath], stored: Mapping[str, Column]) -> ColumnNames:
        """Give each key a column of its own; the first to come has the plain name.

        Names that the engine fills itself are taken, and so is what once was made a variant column.
        """
        own = stored if self.naming.is_idempotent else {}
        plain = {one: one[0] if len(one) == 1 and one[0] in own else self.column_name(one) for one in keys}
        values = plain.values()
        reserved = RESERVED_COLUMNS.intersection(values)
        reserved |= {n for n in values if n in stored and "variant" in stored[n].hints}
        known = {
            _parse_key_path(c.hints[SOURCE_PATH_HINT]): n
            for n, c in stored.items()
            if SOURCE_PATH_HINT in c.hints
        }
        if not reserved and not known and len(set(values)) == len(plain):
            return ColumnNames(names=plain)
        names = distinct_names(
            plain,
            known_names=known,
            key_text=path_text,
            reserved=reserved,
            max_length=self.naming.max_length,
        )
        collisions = find_collisions(names, plain, key_text=path_text)
        wanted = {c.plain_name for c in collisions} - reserved
        owners = {n: path_text(one) for one, n in names.items() if n != plain[one] or n in wanted}
        return ColumnNames(names=names, collisions=collisions, owners=owners)

    def variant_name(
        self, column: str, kind: DataType, stored: Mapping[str, Column], taken: Collection[str]
    ) -> str:
        """Name the column beside `column` for values of type `kind`; a key's own column is never used."""
        name = self.naming.shorten_fragments(column, f"v_{kind}")
        old = self.naming.shorten_fragments(column, f"v_{_LEGACY_JSON_TYPE}")
        if kind == "json" and old in stored and stored[old].has("variant"):
            return old
        if name in taken or (name in stored and not stored[name].has("variant")):
            return append_tag(name, original=path_text((column, kind)), max_length=self.naming.max_length)
        return name


def _parse_key_path(text: str) -> KeyPath:
    return split_row(parse_path(text))[1]
