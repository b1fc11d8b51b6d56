"""Names for the keys of rows: plain where they can be, different always, and the same in every batch."""

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
"""The key under which a list stands that is itself an element of a list."""
SOURCE_PATH_HINT: Final = "x-source-path"
"""The hint that remembers whose name a name is, once two keys have met in it."""
RESERVED_COLUMNS: Final = frozenset((LOAD_ID_COLUMN, PARENT_ID_COLUMN, LIST_INDEX_COLUMN, ROOT_ID_COLUMN))
_LEGACY_JSON_TYPE: Final = "complex"
EMPTY_KEY_NAME: Final = "_empty"
_NO_KNOWN_NAMES: Final[dict[str, str]] = {}

K = TypeVar("K")
KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NameCollision:
    """A key that could not have its plain name, because another key had it first."""

    key: str
    plain_name: str
    assigned_name: str
    owner_key: str


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


def plain_name(key: str, naming: NamingConvention) -> str:
    """Normalise a key that comes from data; a key with nothing in it is called `_empty`."""
    return naming.normalize_path(key) or naming.normalize_path(EMPTY_KEY_NAME)


def unique_names(
    keys: Sequence[str],
    naming: NamingConvention,
    *,
    known_names: Mapping[str, str] = _NO_KNOWN_NAMES,
    fold_case: bool = False,
) -> dict[str, str]:
    """Give every key of `raw` a name that no other key has.

    The first key to come has the plain name; a later one that meets it has `_` and a tag of its own key
    appended, so that its name depends on the key and not on the place. Keys in `known` keep the name they
    were given before, which makes names stable from one package to the next. `fold_case` is for destinations
    that cannot tell `ID` from `id`. The result has the keys of `raw` in their order, each once.
    """
    plain = {key: plain_name(key, naming) for key in keys}
    return distinct_names(
        plain, known_names=known_names, key_text=str, max_length=naming.max_length, fold_case=fold_case
    )


def distinct_names(
    plain: Mapping[K, str],
    *,
    key_text: Callable[[K], str],
    known_names: Mapping[K, str],
    reserved: Iterable[str] = (),
    max_length: int | None = None,
    fold_case: bool = False,
) -> dict[K, str]:
    """Make plain names different from each other and from `reserved` ones, the first key first.

    `original` gives the text of a key that its tag is made of.
    """
    fold = str.lower if fold_case else str
    taken = {fold(name) for name in (*known_names.values(), *reserved)}
    names: dict[K, str] = {}
    for key, name in plain.items():
        given = known_names.get(key)
        if given is None:
            candidates = _candidates(name, key_text(key), max_length)
            given = next(candidate for candidate in candidates if fold(candidate) not in taken)
        taken.add(fold(given))
        names[key] = given
    return names


def find_key_collisions(names: Mapping[str, str], naming: NamingConvention) -> tuple[NameCollision, ...]:
    """Tell from the result of `unique_names` which keys had to give way, and to which other key."""
    return find_collisions(names, {key: plain_name(key, naming) for key in names}, key_text=str)


def find_collisions(
    names: Mapping[K, str], plain: Mapping[K, str], *, key_text: Callable[[K], str]
) -> tuple[NameCollision, ...]:
    """Tell from the result of `distinct` which keys had to give way, and to which other key."""
    owners = {name: key for key, name in names.items()}
    folded: dict[str, K] = {}
    for key, name in names.items():
        folded.setdefault(name.lower(), key)
    found = []
    for key, name in names.items():
        if name != plain[key]:
            owner = owners.get(plain[key], folded.get(plain[key].lower()))
            kept_by = "" if owner is None else key_text(owner)
            found.append(
                NameCollision(key=key_text(key), plain_name=plain[key], assigned_name=name, owner_key=kept_by)
            )
    return tuple(found)


def _candidates(plain: str, original: str, max_length: int | None) -> Iterator[str]:
    yield plain
    yield append_tag(plain, original=original, max_length=max_length)
    for attempt in count(2):
        yield append_tag(plain, original=f"{original}\n{attempt}", max_length=max_length)
