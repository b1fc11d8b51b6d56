"""Column names for the keys of rows: unique, plain if possible, and the same in every batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

from penstock.schema.defaults import LIST_INDEX_COLUMN, LOAD_ID_COLUMN, PARENT_ID_COLUMN, ROOT_ID_COLUMN
from penstock.schema.naming import append_tag
from penstock.schema.value_path import parse_path, path_text, split_row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.naming import NamingConvention
    from penstock.schema.types import DataType

INNER_LIST_KEY: Final = "list"
"""The key of a list that is itself an element of a list."""
SOURCE_PATH_HINT: Final = "x-source-path"
"""The hint with the path of the key that has a name, once two keys have collided in it."""
RESERVED_COLUMNS: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN, ROOT_ID_COLUMN))
_LEGACY_JSON_TYPE: Final = "complex"
EMPTY_KEY_NAME: Final = "_empty"
_NO_KNOWN_NAMES: Final[dict[str, str]] = {}

K = TypeVar("K")
KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCollision:
    """A key that has another name than its plain one, because another key had that first."""

    key: str
    plain_name: str
    assigned_name: str
    owner_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The names of a table's keys, their collisions, and the owners to store."""

    names: Mapping[KeyPath, str]
    collisions: tuple[NameCollision, ...] = ()
    owners: Mapping[str, str] = field(default_factory=dict)
    """For names in which keys collide: the path of the key that has the name."""


@dataclass(frozen=True, slots=True)
class Namer:
    """A naming convention with a cache of the plain names of keys."""

    naming: NamingConvention
    breaks_paths: bool
    fold: Callable[[str], str] = str
    """Names with the same result are one name at the destination."""
    _cache: dict[str, str] = field(default_factory=dict)

    def normalize_key(self, key: str) -> str:
        """Return the normalized key, `_empty` for a blank one."""
        name = self._cache.get(key)
        if name is None:
            normalize = self.naming.normalize_path if self.breaks_paths else self.naming.normalize_identifier
            name = (normalize(key) if key and not key.isspace() else "") or self.naming.normalize_path(
                EMPTY_KEY_NAME
            )
            self._cache[key] = name
        return name

    def column_name(self, keys: KeyPath) -> str:
        """Return the joined names of nested keys."""
        if len(keys) == 1:
            return self.normalize_key(keys[0])
        return self.naming.shorten_fragments(*map(self.normalize_key, keys))

    def column_names(
        self,
        keys: Iterable[KeyPath],
        stored: Mapping[str, Column],
        *,
        own_columns: Collection[str] = frozenset(),
    ) -> ColumnNames:
        """Return a column name for each key; the first key gets the plain name.

        Names of system columns, without `own_columns`, and of stored variant columns are reserved.
        """
        normalized = stored if self.naming.is_idempotent else {}
        plain = {
            path: path[0] if len(path) == 1 and path[0] in normalized else self.column_name(path)
            for path in keys
        }
        values = plain.values()
        reserved = RESERVED_COLUMNS.difference(own_columns).intersection(values)
        reserved |= {n for n in values if n in stored and "variant" in stored[n].hints}
        stored_names = {
            _parse_key_path(c.hints[SOURCE_PATH_HINT]): n
            for n, c in stored.items()
            if SOURCE_PATH_HINT in c.hints
        }
        if self.fold is not str:
            # Each stored column has its name, whether this batch has its key or not.
            stored_names = _first_keys_of_stored(plain, stored, reserved) | stored_names
            reserved |= stored.keys() - set(values)
        elif not reserved and not stored_names and len(set(values)) == len(plain):
            return ColumnNames(names=plain)
        names = distinct_names(
            plain,
            known_names=stored_names,
            key_text=path_text,
            reserved=reserved,
            max_length=self.naming.max_length,
            fold=self.fold,
        )
        collisions = find_collisions(names, plain, key_text=path_text)
        contested = {c.plain_name for c in collisions} - reserved
        owners = {n: path_text(path) for path, n in names.items() if n != plain[path] or n in contested}
        return ColumnNames(names=names, collisions=collisions, owners=owners)

    def variant_name(
        self, column: str, kind: DataType, stored: Mapping[str, Column], taken: Collection[str]
    ) -> str:
        """Return the name of the variant of `column` for values of a type; never a column of another key."""
        name = self.naming.shorten_fragments(column, f"v_{kind}")
        legacy = self.naming.shorten_fragments(column, f"v_{_LEGACY_JSON_TYPE}")
        if kind == "json" and legacy in stored and stored[legacy].has("variant"):
            return legacy
        if name in taken or (name in stored and not stored[name].has("variant")):
            return append_tag(name, original=path_text((column, kind)), max_length=self.naming.max_length)
        return name


def _first_keys_of_stored(
    plain: Mapping[KeyPath, str], stored: Mapping[str, Column], reserved: Collection[str]
) -> dict[KeyPath, str]:
    """Return the keys whose plain name is that of a stored column which no other key owns."""
    first = {name: path for path, name in reversed(list(plain.items()))}
    return {
        path: name
        for name, path in first.items()
        if name in stored and name not in reserved and SOURCE_PATH_HINT not in stored[name].hints
    }


def _parse_key_path(text: str) -> KeyPath:
    return split_row(parse_path(text))[1]


def plain_name(key: str, naming: NamingConvention) -> str:
    """Return the normalized path of a key from data, `_empty` for a blank one."""
    return naming.normalize_path(key) or naming.normalize_path(EMPTY_KEY_NAME)


def unique_names(
    keys: Sequence[str],
    naming: NamingConvention,
    *,
    known_names: Mapping[str, str] = _NO_KNOWN_NAMES,
    fold_case: bool = False,
) -> dict[str, str]:
    """Return a unique name for each key, in the order of the keys.

    The first key gets the plain name; a later key that collides with it gets `_` and a tag of the key, so
    that its name does not depend on its position. Keys in `known_names` keep these names, which makes names
    stable between packages. `fold_case` is for destinations that ignore case.
    """
    plain = {key: plain_name(key, naming) for key in keys}
    return distinct_names(
        plain,
        known_names=known_names,
        key_text=str,
        max_length=naming.max_length,
        fold=str.lower if fold_case else str,
    )


def distinct_names(
    plain: Mapping[K, str],
    *,
    key_text: Callable[[K], str],
    known_names: Mapping[K, str],
    reserved: Iterable[str] = (),
    max_length: int | None = None,
    fold: Callable[[str], str] = str,
) -> dict[K, str]:
    """Make plain names differ from each other and from `reserved` ones; earlier keys go first.

    `key_text` returns the text of a key that its tag is made of. Names with the same `fold` do not differ.
    """
    taken = {fold(name) for name in (*known_names.values(), *reserved)}
    names: dict[K, str] = {}
    for key, name in plain.items():
        unique = known_names.get(key)
        if unique is None:
            candidates = _candidates(name, key_text(key), max_length)
            unique = next(candidate for candidate in candidates if fold(candidate) not in taken)
        taken.add(fold(unique))
        names[key] = unique
    return names


def find_key_collisions(names: Mapping[str, str], naming: NamingConvention) -> tuple[NameCollision, ...]:
    """Return the collisions in a result of `unique_names`."""
    return find_collisions(names, {key: plain_name(key, naming) for key in names}, key_text=str)


def find_collisions(
    names: Mapping[K, str], plain: Mapping[K, str], *, key_text: Callable[[K], str]
) -> tuple[NameCollision, ...]:
    """Return the keys without their plain name in a result of `distinct_names`, and the keys that have it."""
    owners = {name: key for key, name in names.items()}
    folded: dict[str, K] = {}
    for key, name in names.items():
        folded.setdefault(name.lower(), key)
    collisions = []
    for key, name in names.items():
        if name != plain[key]:
            owner = owners.get(plain[key], folded.get(plain[key].lower()))
            owner_key = "" if owner is None else key_text(owner)
            collisions.append(
                NameCollision(
                    key=key_text(key), plain_name=plain[key], assigned_name=name, owner_key=owner_key
                )
            )
    return tuple(collisions)


def _candidates(plain: str, original: str, max_length: int | None) -> Iterator[str]:
    yield plain
    yield append_tag(plain, original=original, max_length=max_length)
    for attempt in count(2):
        yield append_tag(plain, original=f"{original}\n{attempt}", max_length=max_length)
