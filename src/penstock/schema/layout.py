"""Which rows make which table, and which values are columns of it: the shape of a batch before its types."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final, cast

from penstock.schema.column_names import INNER_LIST_KEY, SOURCE_PATH_HINT, KeyPath, NameCollision, Namer
from penstock.schema.evidence import VALUE_KEY
from penstock.schema.naming import append_tag, nested_table_name
from penstock.schema.value_path import EACH, path_text, split_row

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.observation import ObservedType
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.value_path import PathStep, ValuePath

DEFAULT_MAX_NESTING: Final = 1000


@dataclass(slots=True, kw_only=True)
class TableEvidence:
    """The rows of one table: where they come from, and the evidence for their values by their keys."""

    row_path: ValuePath
    table: str
    fragments: tuple[str, ...]
    parent: TableEvidence | None = None
    fields: dict[KeyPath, list[Evidence]] = field(default_factory=dict)
    lists: list[Evidence] = field(default_factory=list)
    """The lists whose elements these rows are."""
    row_count: int = 0
    first_row: Position = (sys.maxsize,)


@dataclass(slots=True, kw_only=True)
class BatchLayout:
    """The places of a batch, parents first, and what is kept whole."""

    tables: dict[ValuePath, TableEvidence]
    kept_as_json: set[tuple[ValuePath, ObservedType]] = field(default_factory=set)
    """Objects and lists that are kept as JSON."""
    json_path_lengths: set[int] = field(default_factory=set)
    """The lengths of their paths, so that a path need not be compared at each of its steps."""
    owners: dict[str, str] = field(default_factory=dict)
    """For tables whose name two lists wanted: the path of the list that has it."""
    collisions: list[NameCollision] = field(default_factory=list)

    def is_inside_json(self, path: ValuePath) -> bool:
        """Whether the path leads into something that is kept whole."""
        return any(
            length < len(path)
            and (path[:length], "list" if path[length] == EACH else "object") in self.kept_as_json
            for length in self.json_path_lengths
        )


def build_layout(
    table: str,
    evidence: Collection[Evidence],
    *,
    stored: StoredSchema,
    namer: Namer,
    patterns: NamePatterns,
    max_columns: int,
    max_nesting: int | None = None,
) -> BatchLayout:
    """Give every value its place, by dlt's rules for nesting.

    An object is flattened and a list makes a table, unless the nesting is used up, the column is JSON by
    declaration or by preference, or the object has so many keys that they must be data.
    """
    builder = _LayoutBuilder(table, stored, namer, patterns, max_nesting)
    maps = _map_like_objects(evidence, max_columns) if len(evidence) > max_columns else frozenset()
    containers = [one for one in evidence if one.type in ("object", "list")]
    elements = {one.path for one in evidence if _is_row(one.path)}
    for one in sorted(containers, key=lambda one: (len(one.path), one.first)):
        builder.add_container(one, is_map=one.path in maps, is_empty=(*one.path, EACH) not in elements)
    layout = builder.layout
    for one in evidence:
        if not layout.kept_as_json or not layout.is_inside_json(one.path):
            builder.add_evidence(one)
    return layout


def _is_row(path: ValuePath) -> bool:
    return not path or path[-1] == EACH


def canonical_row_and_keys(path: ValuePath, *, is_list: bool) -> tuple[ValuePath, KeyPath]:
    """Split a path into the row and the keys in it, where an element has the key it is stored under."""
    if EACH not in path:
        return (), cast("KeyPath", path)
    row, keys = split_row(path)
    spelled: list[PathStep] = []
    for step in row:
        if step == EACH and spelled and spelled[-1] == EACH:
            spelled.append(INNER_LIST_KEY)
        spelled.append(step)
    return tuple(spelled), keys or (INNER_LIST_KEY if is_list else VALUE_KEY,)


class _LayoutBuilder:
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
        self.max_nesting = nesting if max_nesting is None else min(nesting, max_nesting)
        self.root = TableEvidence(row_path=(), table=table, fragments=(table,))
        self.layout = BatchLayout(tables={(): self.root})
        self.taken_names: dict[str, ValuePath] = {table: ()}

    def add_container(self, evidence: Evidence, *, is_map: bool, is_empty: bool) -> None:
        """Decide for an object or a list whether it is entered or kept whole."""
        is_row = evidence.type == "object" and _is_row(evidence.path)
        if is_row or self.layout.is_inside_json(evidence.path):
            return
        row, keys = canonical_row_and_keys(evidence.path, is_list=evidence.type == "list")
        place = self._table_at(row, evidence)
        if self._is_json(place, keys, evidence.path) or (
            is_map and evidence.type == "object" and not self._is_already_flattened(place, keys)
        ):
            self.layout.kept_as_json.add((evidence.path, evidence.type))
            self.layout.json_path_lengths.add(len(evidence.path))
        elif evidence.type == "list" and not is_empty:
            self._table_at((*row, *keys, EACH), evidence).lists.append(evidence)

    def add_evidence(self, evidence: Evidence) -> None:
        """Put evidence to the place and the keys it speaks of."""
        if evidence.path and EACH not in evidence.path:
            # Most values of most tables stand in the root row.
            self.root.fields.setdefault(cast("KeyPath", evidence.path), []).append(evidence)
            return
        row, keys = canonical_row_and_keys(evidence.path, is_list=evidence.type == "list")
        place = self.layout.tables.get(row) or self._table_at(row, evidence)
        if _is_row(evidence.path):
            place.row_count += evidence.count
            place.first_row = min(place.first_row, evidence.first[:-1])
            if evidence.type == "object":
                return
        place.fields.setdefault(keys, []).append(evidence)

    def _is_json(self, table_evidence: TableEvidence, keys: KeyPath, path: ValuePath) -> bool:
        if self._remaining_nesting(path) <= 0:
            return True
        name = self.namer.column_name(keys)
        table = self.stored.tables.get(table_evidence.table)
        column = table.columns.get(name) if table else None
        kind = column.data_type if column else None
        return (kind or self.patterns.preferred_type(name)) == "json"

    def _is_already_flattened(self, table_evidence: TableEvidence, keys: KeyPath) -> bool:
        """Whether the object was flattened before: what began as columns goes on as columns."""
        table = self.stored.tables.get(table_evidence.table)
        prefix = self.namer.column_name(keys) + self.namer.naming.path_separator
        return table is not None and any(name.startswith(prefix) for name in table.columns)

    def _remaining_nesting(self, path: ValuePath) -> int:
        """How much nesting is left where this object or list stands; none is left at 0."""
        row, keys = split_row(path)
        lists = row.count(EACH)
        inner = sum(1 for above, step in pairwise(row) if above == step == EACH)
        return self.max_nesting - lists - inner - (len(keys) - 1 if keys else 1)

    def _table_at(self, row: ValuePath, evidence: Evidence) -> TableEvidence:
        known = self.layout.tables.get(row)
        if known is not None:
            return known
        above, keys = split_row(row[:-1])
        parent = self._table_at(above, evidence)
        fragments = (*parent.fragments, *map(self.namer.normalize_key, keys))
        plain = nested_table_name(self.namer.naming, *fragments)
        name = self._table_name(row, plain, parent.table)
        if name != plain:
            fragments = (name,)
        place = TableEvidence(row_path=row, table=name, fragments=fragments, parent=parent)
        self.layout.tables[row] = place
        return place

    def _table_name(self, row: ValuePath, plain: str, parent: str) -> str:
        """The plain name, or a tagged one where another list has it, now or since an earlier batch."""
        source = path_text((self.root.table, *row))
        other = append_tag(plain, original=source, max_length=self.namer.naming.max_length)
        name = plain
        if other in self.stored.tables and self.stored.tables[other].extras.get(SOURCE_PATH_HINT) == source:
            name = other
        elif (kept_by := self._name_owner(plain, source, parent)) is not None:
            name = other
            self.layout.owners.update({name: source, plain: kept_by})
            self.layout.collisions.append(
                NameCollision(key=source, plain_name=plain, assigned_name=name, owner_key=kept_by)
            )
        self.taken_names[name] = row
        return name

    def _name_owner(self, plain: str, source: str, parent: str) -> str | None:
        if plain in self.taken_names:
            return path_text((self.root.table, *self.taken_names[plain]))
        stored = self.stored.tables.get(plain)
        if stored is None:
            return None
        owner: str = stored.extras.get(SOURCE_PATH_HINT, source)
        if owner == source and stored.parent not in (None, parent):
            owner = path_text((stored.parent, plain))
        return None if owner == source else owner


def _max_nesting(stored: StoredSchema, table: str) -> int:
    known = stored.tables.get(table)
    own: int | None = known.extras.get("x-normalizer", {}).get("max_nesting") if known else None
    if own is not None:
        return own
    config = stored.normalizers.get("json", {}).get("config") or {}
    nesting: int = config.get("max_nesting", DEFAULT_MAX_NESTING)
    return nesting


def _map_like_objects(evidence: Iterable[Evidence], max_columns: int) -> frozenset[ValuePath]:
    """Name the objects with more keys than that; the root row cannot be one."""
    keys = {one.path for one in evidence if len(one.path) > 1 and one.path[-1] != EACH}
    counts = Counter(path[:-1] for path in keys)
    return frozenset(path for path, count in counts.items() if count > max_columns and path[-1] != EACH)
