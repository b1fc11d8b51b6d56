"""The layout of a batch: which rows go to which table, and which values are its columns, without types."""

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
    """The rows of one table: their path, and the evidence for their values by keys."""

    row_path: ValuePath
    table: str
    fragments: tuple[str, ...]
    parent: TableEvidence | None = None
    fields: dict[KeyPath, list[Evidence]] = field(default_factory=dict)
    lists: list[Evidence] = field(default_factory=list)
    """The lists that have these rows as elements."""
    row_count: int = 0
    first_row: Position = (sys.maxsize,)


@dataclass(slots=True, kw_only=True)
class BatchLayout:
    """The tables of a batch, parents first, and the values that are kept as JSON."""

    tables: dict[ValuePath, TableEvidence]
    kept_as_json: set[tuple[ValuePath, ObservedType]] = field(default_factory=set)
    """Objects and lists that are kept as JSON, by path."""
    json_path_lengths: set[int] = field(default_factory=set)
    """The lengths of their paths, so that fewer prefixes of a path are compared."""
    owners: dict[str, str] = field(default_factory=dict)
    """For table names in which lists collide: the path of the list that has the name."""
    collisions: list[NameCollision] = field(default_factory=list)

    def is_inside_json(self, path: ValuePath) -> bool:
        """Return whether a path leads into a value that is kept as JSON."""
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
    max_table_nesting: int | None = None,
) -> BatchLayout:
    """Assign every value to a table and a key, by dlt's rules of nesting.

    An object is flattened and a list becomes a table, unless the maximum nesting is reached, the column is
    declared or preferred as JSON, or the object has so many keys that it is a map.
    """
    nesting = _max_nesting(stored, table, max_table_nesting)
    limit = nesting if max_nesting is None else min(nesting, max_nesting)
    builder = _LayoutBuilder(table, stored, namer, patterns, limit)
    maps = _map_like_objects(evidence, max_columns) if len(evidence) > max_columns else frozenset()
    containers = [value for value in evidence if value.type in ("object", "list")]
    elements = {value.path for value in evidence if _is_row(value.path)}
    for value in sorted(containers, key=lambda container: (len(container.path), container.first)):
        builder.add_container(value, is_map=value.path in maps, is_empty=(*value.path, EACH) not in elements)
    layout = builder.layout
    for value in evidence:
        if not layout.kept_as_json or not layout.is_inside_json(value.path):
            builder.add_evidence(value)
    return layout


def _is_row(path: ValuePath) -> bool:
    return not path or path[-1] == EACH


def canonical_row_and_keys(path: ValuePath, *, is_list: bool) -> tuple[ValuePath, KeyPath]:
    """Split a path into its row and the keys in it, with the keys that elements of lists are stored under."""
    if EACH not in path:
        return (), cast("KeyPath", path)
    row, keys = split_row(path)
    steps: list[PathStep] = []
    for step in row:
        if step == EACH and steps and steps[-1] == EACH:
            steps.append(INNER_LIST_KEY)
        steps.append(step)
    return tuple(steps), keys or (INNER_LIST_KEY if is_list else VALUE_KEY,)


class _LayoutBuilder:
    def __init__(
        self,
        table: str,
        stored: StoredSchema,
        namer: Namer,
        patterns: NamePatterns,
        max_nesting: int,
    ) -> None:
        self.stored, self.namer, self.patterns = stored, namer, patterns
        self.max_nesting = max_nesting
        self.root = TableEvidence(row_path=(), table=table, fragments=(table,))
        self.layout = BatchLayout(tables={(): self.root})
        self.taken_names: dict[str, ValuePath] = {table: ()}

    def add_container(self, evidence: Evidence, *, is_map: bool, is_empty: bool) -> None:
        """Decide whether an object or list is kept as JSON, else add the table of a list."""
        is_row = evidence.type == "object" and _is_row(evidence.path)
        if is_row or self.layout.is_inside_json(evidence.path):
            return
        row, keys = canonical_row_and_keys(evidence.path, is_list=evidence.type == "list")
        table_evidence = self._table_at(row, evidence)
        if self._is_json(table_evidence, keys, evidence.path) or (
            is_map and evidence.type == "object" and not self._is_already_flattened(table_evidence, keys)
        ):
            self.layout.kept_as_json.add((evidence.path, evidence.type))
            self.layout.json_path_lengths.add(len(evidence.path))
        elif evidence.type == "list" and not is_empty:
            self._table_at((*row, *keys, EACH), evidence).lists.append(evidence)

    def add_evidence(self, evidence: Evidence) -> None:
        """Add evidence to its table under its keys."""
        if evidence.path and EACH not in evidence.path:
            # Most values of most tables are in the root row.
            self.root.fields.setdefault(cast("KeyPath", evidence.path), []).append(evidence)
            return
        row, keys = canonical_row_and_keys(evidence.path, is_list=evidence.type == "list")
        table_evidence = self.layout.tables.get(row) or self._table_at(row, evidence)
        if _is_row(evidence.path):
            table_evidence.row_count += evidence.count
            table_evidence.first_row = min(table_evidence.first_row, evidence.first[:-1])
            if evidence.type == "object":
                return
        table_evidence.fields.setdefault(keys, []).append(evidence)

    def _is_json(self, table_evidence: TableEvidence, keys: KeyPath, path: ValuePath) -> bool:
        if self._remaining_nesting(path) <= 0:
            return True
        name = self.namer.column_name(keys)
        table = self.stored.tables.get(table_evidence.table)
        column = table.columns.get(name) if table else None
        kind = column.data_type if column else None
        return (kind or self.patterns.preferred_type(name)) == "json"

    def _is_already_flattened(self, table_evidence: TableEvidence, keys: KeyPath) -> bool:
        """Return whether the object has columns already; it keeps being flattened then."""
        table = self.stored.tables.get(table_evidence.table)
        prefix = self.namer.column_name(keys) + self.namer.naming.path_separator
        return table is not None and any(name.startswith(prefix) for name in table.columns)

    def _remaining_nesting(self, path: ValuePath) -> int:
        """Return the levels of nesting that are left for an object or list; 0 if none."""
        row, keys = split_row(path)
        lists = row.count(EACH)
        inner = sum(1 for parent, step in pairwise(row) if parent == step == EACH)
        return self.max_nesting - lists - inner - (len(keys) - 1 if keys else 1)

    def _table_at(self, row: ValuePath, evidence: Evidence) -> TableEvidence:
        table_evidence = self.layout.tables.get(row)
        if table_evidence is not None:
            return table_evidence
        parent_row, keys = split_row(row[:-1])
        parent = self._table_at(parent_row, evidence)
        fragments = (*parent.fragments, *map(self.namer.normalize_key, keys))
        plain = nested_table_name(self.namer.naming, *fragments)
        name = self._table_name(row, plain, parent.table)
        if name != plain:
            fragments = (name,)
        table_evidence = TableEvidence(row_path=row, table=name, fragments=fragments, parent=parent)
        self.layout.tables[row] = table_evidence
        return table_evidence

    def _table_name(self, row: ValuePath, plain: str, parent: str) -> str:
        """Return the plain name, or a tagged one if another list has it in this or an earlier batch."""
        source = path_text((self.root.table, *row))
        tagged = append_tag(plain, original=source, max_length=self.namer.naming.max_length)
        name = plain
        if tagged in self.stored.tables and self.stored.tables[tagged].extras.get(SOURCE_PATH_HINT) == source:
            name = tagged
        elif (owner := self._name_owner(plain, source, parent)) is not None:
            name = tagged
            self.layout.owners.update({name: source, plain: owner})
            self.layout.collisions.append(
                NameCollision(key=source, plain_name=plain, assigned_name=name, owner_key=owner)
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


def _max_nesting(stored: StoredSchema, table: str, max_table_nesting: int | None) -> int:
    """Return the nesting of the table, else that of the destination, else that of the schema."""
    stored_table = stored.tables.get(table)
    hint: int | None = (
        stored_table.extras.get("x-normalizer", {}).get("max_nesting") if stored_table else None
    )
    if hint is None:
        hint = max_table_nesting
    if hint is not None:
        return hint
    config = stored.normalizers.get("json", {}).get("config") or {}
    nesting: int = config.get("max_nesting", DEFAULT_MAX_NESTING)
    return nesting


def _map_like_objects(evidence: Iterable[Evidence], max_columns: int) -> frozenset[ValuePath]:
    """Return the paths of objects with more than `max_columns` keys; rows are never among them."""
    keys = {value.path for value in evidence if len(value.path) > 1 and value.path[-1] != EACH}
    counts = Counter(path[:-1] for path in keys)
    return frozenset(path for path, count in counts.items() if count > max_columns and path[-1] != EACH)
