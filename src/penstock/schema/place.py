"""One table of a batch: its columns after it, and a rule for every value that arrives for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from penstock.schema.columns import Columns
from penstock.schema.decision import Refusal, Rule
from penstock.schema.defaults import ID_COLUMN, SYSTEM_PREFIX
from penstock.schema.evidence import MAX_EXAMPLES
from penstock.schema.namer import SOURCE_PATH
from penstock.schema.patterns import Filters
from penstock.schema.terms import value_type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.columns import ColumnPlan, Placement
    from penstock.schema.contract import Contract, EvolutionMode
    from penstock.schema.decision import Action, RefusedEntity
    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.layout import Place
    from penstock.schema.look import Detection, SeenType
    from penstock.schema.namer import Keys, Namer
    from penstock.schema.path import Path
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.table import Table
    from penstock.schema.terms import Terms
    from penstock.schema.unique import NameCollision

_ONCE: Final = "evolve-columns-once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What all tables of a batch have in common."""

    namer: Namer
    patterns: NamePatterns
    tables: Mapping[str, Table]
    detections: tuple[Detection, ...]
    terms: Terms
    whole: set[tuple[Path, SeenType]]


def is_new(table: Table | None) -> bool:
    """Whether the table has no typed column yet, so that only the contract on tables binds it."""
    return table is None or not any(column.data_type for column in table.columns.values())


def evolves_once(table: Table | None) -> bool:
    """Whether this is the first run that brings data to the table, in which its columns may come."""
    return is_new(table) or bool(table and table.extras.get("x-normalizer", {}).get(_ONCE))


class PlaceDecision:
    """Decides one table; made, then asked."""

    def __init__(
        self, place: Place, known: Table | None, *, fresh: Table, contract: Contract, around: Surroundings
    ) -> None:
        self.place, self.known, self.fresh, self.contract, self.around = place, known, fresh, contract, around
        self.may_add = contract.columns == "evolve" or evolves_once(known)
        self.may_vary = contract.data_type == "evolve"
        self.stored: Mapping[str, Column] = known.columns if known else {}
        self.rules: dict[tuple[Path, SeenType], Rule] = {}
        self._refusals: dict[tuple[Path, SeenType, str, RefusedEntity], Refusal] = {}
        self.collisions: tuple[NameCollision, ...] = ()
        self.never_typed: list[str] = []
        self._new: dict[str, tuple[Position, Column]] = {}
        self._changed: dict[str, Column] = {}

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        """What is not taken in."""
        return tuple(self._refusals.values())

    def decide(self, system: Sequence[Column]) -> tuple[Table, Table | None]:
        """Give the table after the batch, and just what is new in it; None when nothing is."""
        fields = sorted(self.place.fields.items(), key=_first_value)
        named = self.around.namer.columns((keys for keys, _ in fields), self.stored)
        self.collisions = named.collisions
        # The id may come with the data; it is text whoever gives it.
        ids = {c.name: c for c in system if c.name == ID_COLUMN and c.name not in self.stored}
        known = {**self.stored, **ids} if ids else self.stored
        columns = Columns(
            known,
            self.around.patterns,
            self.around.detections,
            self.around.terms,
            lambda name, kind: self.around.namer.variant(name, kind, known, named.names.values()),
        )
        filters = Filters(self.place.table, self.around.tables, self.around.namer.naming)
        for keys, evidence in fields:
            name = named.names[keys]
            if filters and filters.leave_out(name):
                self._set(evidence, Rule(action="exclude", table=self.place.table, column=name))
            else:
                self._decide_field(known.get(name), name, evidence, columns)
        self._remember(named.owners)
        return self._assembled(system)

    def _decide_field(
        self, known: Column | None, name: str, evidence: list[Evidence], columns: Columns
    ) -> None:
        kind = known.data_type if known else None
        # Where a column may become wider, all its values have a say; else its own type needs no plan.
        settled = None if self.around.terms.type_evolution == "widen" else kind
        values = []
        for one in evidence:
            if one.type == settled:
                # By far the most common case, and the one that must cost next to nothing.
                self.rules[one.path, one.type] = Rule(
                    action="keep", table=self.place.table, column=name, data_type=kind
                )
            elif one.type == "null":
                self._decide_null(one, name, known)
            elif one.type == "object" and (one.path, one.type) not in self.around.whole:
                self.rules[one.path, one.type] = Rule(action="flatten", table=self.place.table)
            elif one.type == "list" and (one.path, one.type) not in self.around.whole:
                # A list with elements has a table, which says more; an empty one has nothing to give.
                self.rules[one.path, one.type] = Rule(action="nothing", table=self.place.table)
            else:
                values.append(one)
        if values:
            values.sort(key=_position)
            self._take(name, columns.plan(name, values, may_change=self.may_vary))
        elif kind is None and all(one.type == "null" for one in evidence):
            self.never_typed.append(name)

    def _decide_null(self, one: Evidence, name: str, known: Column | None) -> None:
        if known is None or known.data_type is None or known.is_nullable:
            self.rules[one.path, one.type] = Rule(action="nothing", table=self.place.table, column=name)
        else:
            rule = self._refused(
                one, name, "nullable", "discard_row", f"{name} must have a value and got none"
            )
            self.rules[one.path, one.type] = rule

    def _take(self, name: str, plan: ColumnPlan) -> None:
        """Carry out a plan as far as the contract lets it happen.

        Values of one type that part ways by what they fit are tried for the column first, then for its
        variants: the order of the placements.
        """
        base = next((column for _, column in plan.new if column.name == name), None)
        is_refused = base is not None and not self.may_add and not name.startswith(SYSTEM_PREFIX)
        chains: dict[tuple[Path, SeenType], list[Rule]] = {}
        for placement in plan.placements:
            one = placement.evidence
            if is_refused:
                rule = self._refused(
                    one, name, "columns", self.contract.columns, f"there is no column {name}"
                )
            elif placement.is_variant and placement.column not in self.stored and not self.may_vary:
                reason = f"{one.type} does not fit {name}"
                rule = self._refused(one, placement.column, "data_type", self.contract.data_type, reason)
            else:
                rule = _placed(placement, self.place.table)
            chain = chains.setdefault((one.path, one.type), [])
            if rule not in chain:
                chain.append(rule)
        for key, chain in chains.items():
            self.rules[key] = _chained(chain)
        if is_refused:
            return
        for position, column in plan.new:
            if self.may_vary or column is base:
                self._new[column.name] = (position, column)
        if plan.changed is not None:
            self._changed[name] = plan.changed

    def _set(self, evidence: Iterable[Evidence], rule: Rule) -> None:
        for one in evidence:
            self.rules[one.path, one.type] = rule

    def _refused(
        self, one: Evidence, column: str, entity: RefusedEntity, mode: EvolutionMode, reason: str
    ) -> Rule:
        key = (one.path, one.type, column, entity)
        known = self._refusals.get(key)
        examples = (known.examples if known else ()) + one.examples
        self._refusals[key] = Refusal(
            table=self.place.table,
            column=column,
            path=one.path,
            type=one.type,
            entity=entity,
            mode=mode,
            count=one.count + (known.count if known else 0),
            first=min(one.first, known.first) if known else one.first,
            reason=reason,
            examples=examples[:MAX_EXAMPLES],
        )
        return Rule(action=cast("Action", mode), table=self.place.table, column=column)

    def _remember(self, owners: Mapping[str, str]) -> None:
        """Note on columns that two keys wanted whose they are."""
        for name, path in owners.items():
            if name in self._new:
                position, column = self._new[name]
                self._new[name] = (position, column.with_hints(**{SOURCE_PATH: path}))
            elif name in self.stored and self.stored[name].hints.get(SOURCE_PATH) != path:
                known = self._changed.get(name, self.stored[name])
                self._changed[name] = known.with_hints(**{SOURCE_PATH: path})

    def _assembled(self, system: Sequence[Column]) -> tuple[Table, Table | None]:
        missing = [c for c in system if c.name not in self.stored and c.name not in self._new]
        is_marked = self.known is not None and self.fresh.extras.items() <= self.known.extras.items()
        if not self._new and not self._changed and not missing and is_marked:
            return cast("Table", self.known), None
        arrived = sorted(self._new.values(), key=lambda item: item[0])
        # Columns of the first row come before those that the engine adds, later ones after.
        early = sum(1 for position, _ in arrived if position[:-1] == self.place.first_row)
        new = [column for _, column in arrived]
        new[early:early] = missing
        added = replace(self.fresh, columns={column.name: column for column in new})
        after = self.known.merged(added) if self.known else added
        return after.with_columns(self._changed.values()), added.with_columns(self._changed.values())


def _position(one: Evidence) -> Position:
    return one.first


def _first_value(item: tuple[Keys, list[Evidence]]) -> tuple[bool, Position]:
    """Keys in the order in which values came; keys that came without any last."""
    evidence = item[1]
    if len(evidence) == 1:
        return evidence[0].type == "null", evidence[0].first
    return min((one.type == "null", one.first) for one in evidence)


def _placed(placement: Placement, table: str) -> Rule:
    kind = value_type(placement.evidence)
    action: Action = "convert"
    if kind == placement.data_type:
        action = "json" if kind == "json" else "keep"
    return Rule(action=action, table=table, column=placement.column, data_type=placement.data_type)


def _chained(rules: Sequence[Rule]) -> Rule:
    chain = replace(rules[-1], otherwise=None)
    for rule in reversed(rules[:-1]):
        chain = replace(rule, otherwise=chain)
    return chain
