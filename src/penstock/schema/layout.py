"""Which rows make which table, and which values are columns of it: the shape of a batch before its types."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

from penstock.schema.evidence import VALUE
from penstock.schema.namer import INNER_LIST, SOURCE_PATH, Keys, Namer
from penstock.schema.path import EACH, path_text, split_row
from penstock.schema.shorten import tagged
from penstock.schema.table_names import nested_table_name
from penstock.schema.unique import NameCollision

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.look import SeenType
    from penstock.schema.path import Path, Step
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.stored import StoredSchema

DEFAULT_NESTING: Final = 1000


@dataclass(slots=True, kw_only=True)
class Place:
    """The rows of one table: where they come from, and the evidence for their values by their keys."""

    row: Path
    table: str
    fragments: tuple[str, ...]
    parent: Place | None = None
    fields: dict[Keys, list[Evidence]] = field(default_factory=dict)
    lists: list[Evidence] = field(default_factory=list)
    """The lists whose elements these rows are."""
    rows: int = 0
    first_row: Position = (sys.maxsize,)


@dataclass(slots=True, kw_only=True)
class Layout:
    """The places of a batch, parents first, and what is kept whole."""

    places: dict[Path, Place]
    whole: set[tuple[Path, SeenType]] = field(default_factory=set)
    """Objects and lists that are kept as JSON."""
    lengths: set[int] = field(default_factory=set)
    """The lengths of their paths, so that a path need not be compared at each of its steps."""
    owners: dict[str, str] = field(default_factory=dict)
    """For tables whose name two lists wanted: the path of the list that has it."""
    collisions: list[NameCollision] = field(default_factory=list)

    def hides(self, path: Path) -> bool:
        """Whether the path leads into something that is kept whole."""
        return any(
            length < len(path) and (path[:length], "list" if path[length] == EACH else "object") in self.whole
            for length in self.lengths
        )


def lay_out(
    table: str,
    evidence: Collection[Evidence],
    *,
    stored: StoredSchema,
    namer: Namer,
    patterns: NamePatterns,
    max_columns: int,
    max_nesting: int | None = None,
) -> Layout:
    """Give every value its place, by dlt's rules for nesting.

    An object is flattened and a list makes a table, unless the nesting is used up, the column is JSON by
    declaration or by preference, or the object has so many keys that they must be data.
    """
    builder = _Builder(table, stored, namer, patterns, max_nesting)
    maps = _map_like(evidence, max_columns) if len(evidence) > max_columns else frozenset()
    containers = [one for one in evidence if one.type in ("object", "list")]
    elements = {one.path for one in evidence if _is_row(one.path)}
    for one in sorted(containers, key=lambda one: (len(one.path), one.first)):
        builder.enter(one, is_map=one.path in maps, is_empty=(*one.path, EACH) not in elements)
    layout = builder.layout
    for one in evidence:
        if not layout.whole or not layout.hides(one.path):
            builder.file(one)
    return layout


def _is_row(path: Path) -> bool:
    return not path or path[-1] == EACH


def canonical(path: Path, *, is_list: bool) -> tuple[Path, Keys]:
    """Split a path into the row and the keys in it, where an element has the key it is stored under."""
    if EACH not in path:
        return (), cast("Keys", path)
    row, keys = split_row(path)
    spelled: list[Step] = []
    for step in row:
        if step == EACH and spelled and spelled[-1] == EACH:
            spelled.append(INNER_LIST)
        spelled.append(step)
    return tuple(spelled), keys or (INNER_LIST if is_list else VALUE,)


class _Builder:
    def __init__(
        self,
        table: str,
        stored: StoredSchema,
        namer: Namer,
        patterns: NamePatterns,
        max_nesting: int | None,
    ) -> None:
        self.stored, self.namer, self.patterns = stored, namer, patterns
        nesting = _max_nesting(stored, table)
        self.nesting = nesting if max_nesting is None else min(nesting, max_nesting)
        self.root = Place(row=(), table=table, fragments=(table,))
        self.layout = Layout(places={(): self.root})
        self.taken: dict[str, Path] = {table: ()}

    def enter(self, one: Evidence, *, is_map: bool, is_empty: bool) -> None:
        """Decide for an object or a list whether it is entered or kept whole."""
        is_row = one.type == "object" and _is_row(one.path)
        if is_row or self.layout.hides(one.path):
            return
        row, keys = canonical(one.path, is_list=one.type == "list")
        place = self._place(row, one)
        if self._is_json(place, keys, one.path) or (
            is_map and one.type == "object" and not self._is_flat(place, keys)
        ):
            self.layout.whole.add((one.path, one.type))
            self.layout.lengths.add(len(one.path))
        elif one.type == "list" and not is_empty:
            self._place((*row, *keys, EACH), one).lists.append(one)

    def file(self, one: Evidence) -> None:
        """Put evidence to the place and the keys it speaks of."""
        if one.path and EACH not in one.path:
            # Most values of most tables stand in the root row.
            self.root.fields.setdefault(cast("Keys", one.path), []).append(one)
            return
        row, keys = canonical(one.path, is_list=one.type == "list")
        place = self.layout.places.get(row) or self._place(row, one)
        if _is_row(one.path):
            place.rows += one.count
            place.first_row = min(place.first_row, one.first[:-1])
            if one.type == "object":
                return
        place.fields.setdefault(keys, []).append(one)

    def _is_json(self, place: Place, keys: Keys, path: Path) -> bool:
        if self._level(path) <= 0:
            return True
        name = self.namer.column(keys)
        table = self.stored.tables.get(place.table)
        column = table.columns.get(name) if table else None
        kind = column.data_type if column else None
        return (kind or self.patterns.preferred_type(name)) == "json"

    def _is_flat(self, place: Place, keys: Keys) -> bool:
        """Whether the object was flattened before: what began as columns goes on as columns."""
        table = self.stored.tables.get(place.table)
        prefix = self.namer.column(keys) + self.namer.naming.path_separator
        return table is not None and any(name.startswith(prefix) for name in table.columns)

    def _level(self, path: Path) -> int:
        """How much nesting is left where this object or list stands; none is left at 0."""
        row, keys = split_row(path)
        lists = row.count(EACH)
        inner = sum(1 for above, step in pairwise(row) if above == step == EACH)
        return self.nesting - lists - inner - (len(keys) - 1 if keys else 1)

    def _place(self, row: Path, one: Evidence) -> Place:
        known = self.layout.places.get(row)
        if known is not None:
            return known
        above, keys = split_row(row[:-1])
        parent = self._place(above, one)
        fragments = (*parent.fragments, *map(self.namer.fragment, keys))
        plain = nested_table_name(self.namer.naming, *fragments)
        name = self._table_name(row, plain, parent.table)
        if name != plain:
            fragments = (name,)
        place = Place(row=row, table=name, fragments=fragments, parent=parent)
        self.layout.places[row] = place
        return place

    def _table_name(self, row: Path, plain: str, parent: str) -> str:
        """The plain name, or a tagged one where another list has it, now or since an earlier batch."""
        source = path_text((self.root.table, *row))
        other = tagged(plain, original=source, max_length=self.namer.naming.max_length)
        name = plain
        if other in self.stored.tables and self.stored.tables[other].extras.get(SOURCE_PATH) == source:
            name = other
        elif (kept_by := self._owner(plain, source, parent)) is not None:
            name = other
            self.layout.owners.update({name: source, plain: kept_by})
            self.layout.collisions.append(
                NameCollision(key=source, plain_name=plain, given_name=name, kept_by=kept_by)
            )
        self.taken[name] = row
        return name

    def _owner(self, plain: str, source: str, parent: str) -> str | None:
        if plain in self.taken:
            return path_text((self.root.table, *self.taken[plain]))
        stored = self.stored.tables.get(plain)
        if stored is None:
            return None
        owner: str = stored.extras.get(SOURCE_PATH, source)
        if owner == source and stored.parent not in (None, parent):
            owner = path_text((stored.parent, plain))
        return None if owner == source else owner


def _max_nesting(stored: StoredSchema, table: str) -> int:
    known = stored.tables.get(table)
    own: int | None = known.extras.get("x-normalizer", {}).get("max_nesting") if known else None
    if own is not None:
        return own
    config = stored.normalizers.get("json", {}).get("config") or {}
    nesting: int = config.get("max_nesting", DEFAULT_NESTING)
    return nesting


def _map_like(evidence: Iterable[Evidence], max_columns: int) -> frozenset[Path]:
    """Name the objects with more keys than that; the root row cannot be one."""
    keys = {one.path for one in evidence if len(one.path) > 1 and one.path[-1] != EACH}
    counts = Counter(path[:-1] for path in keys)
    return frozenset(path for path, count in counts.items() if count > max_columns and path[-1] != EACH)
