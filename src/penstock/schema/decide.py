"""From what was seen to what will be: the one function that changes a schema because of data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from penstock.schema.contract import contract_of
from penstock.schema.decision import Decision, Refusal, Rule
from penstock.schema.frozen import FrozenMap
from penstock.schema.layout import lay_out
from penstock.schema.namer import SOURCE_PATH, Namer
from penstock.schema.names import stored_naming
from penstock.schema.patterns import NamePatterns
from penstock.schema.place import PlaceDecision, Surroundings, is_new
from penstock.schema.rootkeys import propagated, with_root_key
from penstock.schema.rowids import row_id_of
from penstock.schema.systemcolumns import system_columns
from penstock.schema.table import Table
from penstock.schema.terms import Terms

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.schema.column import Column
    from penstock.schema.contract import Contract, EvolutionMode
    from penstock.schema.decision import Action
    from penstock.schema.evidence import Evidence
    from penstock.schema.layout import Place
    from penstock.schema.look import SeenType
    from penstock.schema.path import Path
    from penstock.schema.rowids import RowId
    from penstock.schema.stored import StoredSchema
    from penstock.schema.types import DataType
    from penstock.schema.unique import NameCollision

_DEFAULT_TERMS: Final = Terms()


def decide(
    stored: StoredSchema, table: str, evidence: Collection[Evidence], terms: Terms = _DEFAULT_TERMS
) -> Decision:
    """Decide what becomes of the rows of a root table, by what was seen in them.

    Nothing is read but the arguments, so the same evidence gives the same decision anywhere. Refused values
    are not an error here: `Decision.check` raises for what the contract freezes.

    Example:
        >>> from penstock.schema import Schema, gather
        >>> decision = decide(Schema("shop").stored, "orders", gather([{"id": 1}, {"id": 3.7}]))
        >>> [(c.name, c.data_type) for c in decision.update["orders"].columns.values()][::3]
        [('id', 'bigint'), ('id__v_double', 'double')]
    """
    return _Decider(stored, table, terms).decide(evidence)


class _Decider:
    def __init__(self, stored: StoredSchema, table: str, terms: Terms) -> None:
        self.table, self.terms = table, terms
        self.stored = with_root_key(stored, table) if table in stored.tables else stored
        rules = terms.naming or stored_naming(stored.normalizers)
        self.namer = Namer(rules, stored.normalizers.get("use_break_path_on_normalize") is not False)
        self.patterns = NamePatterns.of(stored.settings)
        self.rules: dict[tuple[Path, SeenType], Rule] = {}
        self.refusals: list[Refusal] = []
        self.collisions: list[NameCollision] = []
        self.never_typed: dict[str, tuple[str, ...]] = {}
        self.decided: dict[str, Table] = {}
        self.update: dict[str, Table] = {}
        self.tables: dict[Path, str] = {}

    def decide(self, evidence: Collection[Evidence]) -> Decision:
        layout = lay_out(
            self.table,
            evidence,
            stored=self.stored,
            namer=self.namer,
            patterns=self.patterns,
            max_columns=self.terms.max_columns,
            max_nesting=self.terms.max_nesting,
        )
        around = Surroundings(
            namer=self.namer,
            patterns=self.patterns,
            tables=self.stored.tables,
            detections=tuple(self.stored.settings.get("detections") or ()),
            terms=self.terms,
            whole=layout.whole,
        )
        for place in layout.places.values():
            self._decide_place(place, layout.owners.get(place.table), around)
        changed = {name: self.decided[name] for name in self.update}
        return Decision(
            schema=self.stored.with_tables(changed.values()) if changed else self.stored,
            update=FrozenMap(self.update),
            rules=self.rules,
            tables=self.tables,
            row_id=self._row_id(),
            refusals=tuple(
                sorted(self.refusals, key=lambda refusal: (refusal.first[:-1], refusal.first[-1]))
            ),
            collisions=(*layout.collisions, *self.collisions),
            never_typed=FrozenMap(self.never_typed),
        )

    def _row_id(self) -> RowId:
        root = self.tables.get(())
        return row_id_of(self.decided[root], self.terms.merge_strategy) if root else "place"

    def _decide_place(self, place: Place, owner: str | None, around: Surroundings) -> None:
        if place.parent is not None and place.parent.row not in self.tables:
            return
        known = self.stored.tables.get(place.table)
        contract = self._contract(place)
        if is_new(known) and contract.tables != "evolve":
            self._refuse_table(place, contract.tables)
            return
        self.tables[place.row] = place.table
        for one in place.lists:
            self.rules[one.path, one.type] = Rule(action="rows", table=place.table)
        fresh = self._fresh(place, known, owner)
        decision = PlaceDecision(place, known, fresh=fresh, contract=contract, around=around)
        after, added = decision.decide(self._system_columns(place, is_root=not fresh.is_nested))
        self.decided[place.table] = after
        if added is not None:
            self.update[place.table] = added
        self.rules.update(decision.rules)
        self.refusals.extend(decision.refusals)
        self.collisions.extend(decision.collisions)
        if decision.never_typed:
            self.never_typed[place.table] = tuple(decision.never_typed)

    def _contract(self, place: Place) -> Contract:
        return contract_of(
            place.table,
            self.stored.tables,
            parent=place.parent.table if place.parent else None,
            schema=self.stored.settings.get("schema_contract"),
            run=self.terms.contract,
        )

    def _refuse_table(self, place: Place, mode: EvolutionMode) -> None:
        """Rows without a table are left out; the row that holds the list of them stays."""
        action: Action = "freeze" if mode == "freeze" else "discard_value" if place.parent else "discard_row"
        evidence = place.lists or [one for field in place.fields.values() for one in field]
        for one in evidence:
            self.rules[one.path, one.type] = Rule(action=action, table=place.table)
        self.refusals.append(
            Refusal(
                table=place.table,
                column=None,
                path=place.row,
                type="list" if place.parent else "object",
                entity="tables",
                mode=mode,
                count=place.rows,
                first=(*place.first_row, 0),
                reason="there is no such table",
            )
        )

    def _fresh(self, place: Place, known: Table | None, owner: str | None) -> Table:
        """What the table is without columns; a stored one that nested rows go to may be a root by itself."""
        parent = place.parent.table if place.parent and not (known and not known.is_nested) else None
        fresh = Table(name=place.table, parent=parent, extras={SOURCE_PATH: owner} if owner else {})
        return fresh if known else fresh.with_root_defaults()

    def _system_columns(self, place: Place, *, is_root: bool) -> tuple[Column, ...]:
        inherited: dict[str, DataType] = {}
        above = place.parent
        while above is not None:
            table = self.decided[above.table]
            for source, name in propagated(self.stored, above.table, is_root=not table.is_nested).items():
                column = table.columns.get(source)
                if column is not None and column.data_type is not None:
                    inherited.setdefault(name, column.data_type)
            above = above.parent
        return system_columns(self.patterns, is_root=is_root, inherited=inherited)
