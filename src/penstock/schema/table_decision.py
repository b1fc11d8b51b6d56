"""The decision about one table of a batch: its columns after it, and a rule for each of its values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from penstock.schema.column_names import SOURCE_PATH_HINT
from penstock.schema.decision import ContractRefusal, Rule
from penstock.schema.defaults import ID_COLUMN, SYSTEM_PREFIX
from penstock.schema.evidence import MAX_EXAMPLES
from penstock.schema.inference_options import fits_type, value_type, wider_type
from penstock.schema.observation import detected_type
from penstock.schema.origin import ColumnOrigin
from penstock.schema.patterns import ColumnFilters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from penstock.schema.column import Column
    from penstock.schema.column_names import KeyPath, NameCollision, Namer
    from penstock.schema.contract import Contract, EvolutionMode
    from penstock.schema.decision import RefusedEntity, RuleAction
    from penstock.schema.evidence import Evidence, Position
    from penstock.schema.inference_options import InferenceOptions
    from penstock.schema.layout import TableEvidence
    from penstock.schema.observation import Detection, ObservedType
    from penstock.schema.origin import OriginRule, PermittedBy
    from penstock.schema.patterns import NamePatterns
    from penstock.schema.table import Table
    from penstock.schema.types import DataType
    from penstock.schema.value_path import ValuePath

_EVOLVE_ONCE_KEY: Final = "evolve-columns-once"
_MICROSECOND_DIGITS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchContext:
    """The names, settings and options that all tables of a batch share."""

    namer: Namer
    patterns: NamePatterns
    tables: Mapping[str, Table]
    detections: tuple[Detection, ...]
    options: InferenceOptions
    kept_as_json: set[tuple[ValuePath, ObservedType]]


def is_new_table(table: Table | None) -> bool:
    """Return whether the table has no typed column yet, so that only the contract of tables applies."""
    return table is None or not any(column.data_type for column in table.columns.values())


def evolves_once(table: Table | None) -> bool:
    """Return whether this is the first run with data for the table, which may add columns."""
    return is_new_table(table) or bool(table and table.extras.get("x-normalizer", {}).get(_EVOLVE_ONCE_KEY))


class TableDecision:
    """The state of the decision about one table; `decide` completes it."""

    def __init__(
        self,
        table_evidence: TableEvidence,
        stored_table: Table | None,
        *,
        empty_table: Table,
        contract: Contract,
        context: BatchContext,
    ) -> None:
        self.table_evidence, self.stored_table, self.empty_table, self.contract, self.context = (
            table_evidence,
            stored_table,
            empty_table,
            contract,
            context,
        )
        self.may_add_columns = contract.columns == "evolve" or evolves_once(stored_table)
        self.may_change_types = contract.data_type == "evolve"
        self.stored_columns: Mapping[str, Column] = stored_table.columns if stored_table else {}
        self.rules: dict[tuple[ValuePath, ObservedType], Rule] = {}
        self._refusals: dict[tuple[ValuePath, ObservedType, str, RefusedEntity], ContractRefusal] = {}
        self.collisions: tuple[NameCollision, ...] = ()
        self.never_typed: list[str] = []
        self.origins: list[ColumnOrigin] = []
        self._new_columns: dict[str, tuple[Position, Column]] = {}
        self._changed_columns: dict[str, Column] = {}

    @property
    def refusals(self) -> tuple[ContractRefusal, ...]:
        """The refused values."""
        return tuple(self._refusals.values())

    def decide(self, system_columns: Sequence[Column]) -> tuple[Table, Table | None]:
        """Return the table after the batch, and its new and changed columns or None."""
        fields = sorted(self.table_evidence.fields.items(), key=_field_order)
        namer, options = self.context.namer, self.context.options
        is_root = self.table_evidence.parent is None
        own_columns = options.own_columns if is_root else frozenset[str]()
        column_names = namer.column_names(
            (keys for keys, _ in fields), self.stored_columns, own_columns=own_columns
        )
        self.collisions = column_names.collisions
        # Rows may bring their own id, which is text like the system column.
        ids = {
            column.name: column
            for column in system_columns
            if column.name in {ID_COLUMN, *own_columns} and column.name not in self.stored_columns
        }
        stored_columns = {**self.stored_columns, **ids} if ids else self.stored_columns
        planner = ColumnPlanner(
            stored_columns,
            self.context.patterns,
            self.context.detections,
            self.context.options,
            lambda name, kind: namer.variant_name(name, kind, stored_columns, column_names.names.values()),
        )
        filters = ColumnFilters(self.table_evidence.table, self.context.tables, namer.naming)
        for keys, evidence in fields:
            name = column_names.names[keys]
            is_ignored = is_root and keys[0] in options.ignored_keys
            if is_ignored or (filters and filters.is_excluded(name)):
                self._set_rule(evidence, Rule(action="exclude", table=self.table_evidence.table, column=name))
            else:
                self._decide_field(stored_columns.get(name), name, evidence, planner)
        self._record_owners(column_names.owners)
        return self._assemble_table(system_columns)

    def _decide_field(
        self, stored_column: Column | None, name: str, evidence: list[Evidence], planner: ColumnPlanner
    ) -> None:
        kind = stored_column.data_type if stored_column else None
        # A column that may be widened is planned with all its values; else values of its type need no plan.
        settled_type = None if self.context.options.type_evolution == "widen" else kind
        table, planned = self.table_evidence.table, []
        for value in evidence:
            key = value.path, value.type
            if value.type == settled_type:
                # By far the most common case, so it comes first.
                self.rules[key] = Rule(action="keep", table=table, column=name, data_type=kind)
            elif value.type == "null":
                self._decide_null(value, name, stored_column)
            elif value.type == "object" and key not in self.context.kept_as_json:
                self.rules[key] = Rule(action="flatten", table=table)
            elif value.type == "list" and key not in self.context.kept_as_json:
                # The rule of a list with elements is set with its table.
                self.rules[key] = Rule(action="nothing", table=table)
            else:
                planned.append(value)
        if planned:
            planned.sort(key=_first_position)
            self._apply_plan(name, planner.plan(name, planned, may_change=self.may_change_types))
        elif kind is None and all(value.type == "null" for value in evidence):
            self.never_typed.append(name)

    def _decide_null(self, evidence: Evidence, name: str, stored_column: Column | None) -> None:
        if stored_column is None or stored_column.data_type is None or stored_column.is_nullable:
            self.rules[evidence.path, evidence.type] = Rule(
                action="nothing", table=self.table_evidence.table, column=name
            )
        else:
            rule = self._refuse(
                evidence, name, "nullable", "discard_row", f"{name} must have a value and got none"
            )
            self.rules[evidence.path, evidence.type] = rule

    def _apply_plan(self, name: str, plan: ColumnPlan) -> None:
        """Apply a plan as far as the contract allows.

        Values of one type may have several placements: the column first, then its variants.
        """
        base = next((decided.column for decided in plan.new if decided.column.name == name), None)
        is_refused = base is not None and not self.may_add_columns and not name.startswith(SYSTEM_PREFIX)
        chains: dict[tuple[ValuePath, ObservedType], list[Rule]] = {}
        for placement in plan.placements:
            value = placement.evidence
            if is_refused:
                reason = f"there is no column {name}"
                rule = self._refuse(value, name, "columns", self.contract.columns, reason)
            elif (
                placement.is_variant
                and placement.column not in self.stored_columns
                and not self.may_change_types
            ):
                reason = f"{value.type} does not fit {name}"
                rule = self._refuse(value, placement.column, "data_type", self.contract.data_type, reason)
            else:
                rule = _placement_rule(placement, self.table_evidence.table)
            chain = chains.setdefault((value.path, value.type), [])
            if rule not in chain:
                chain.append(rule)
        for key, chain in chains.items():
            self.rules[key] = _rule_chain(chain)
        if is_refused:
            return
        for decided in plan.new:
            if self.may_change_types or decided.column is base:
                self._new_columns[decided.column.name] = (decided.position, decided.column)
                self.origins.append(self._origin(decided))
        if plan.changed is not None:
            self._changed_columns[name] = plan.changed.column
            self.origins.append(self._origin(plan.changed, is_new=False))

    def _origin(self, decided: DecidedColumn, *, is_new: bool = True) -> ColumnOrigin:
        permitted_by: PermittedBy
        if decided.rule == "variant" or not is_new:
            permitted_by = "data_type"
        elif is_new_table(self.stored_table):
            permitted_by = "tables"
        else:
            permitted_by = "columns" if self.contract.columns == "evolve" else "first_rows"
        return ColumnOrigin(
            table=self.table_evidence.table,
            column=decided.column.name,
            rule=decided.rule,
            permitted_by=permitted_by,
            path=decided.evidence.path,
            value_type=decided.evidence.type,
            position=decided.evidence.first[:-1],
        )

    def _set_rule(self, evidence: Iterable[Evidence], rule: Rule) -> None:
        for value in evidence:
            self.rules[value.path, value.type] = rule

    def _refuse(
        self, evidence: Evidence, column: str, entity: RefusedEntity, mode: EvolutionMode, reason: str
    ) -> Rule:
        key = (evidence.path, evidence.type, column, entity)
        refusal = self._refusals.get(key)
        examples = (refusal.examples if refusal else ()) + evidence.examples
        self._refusals[key] = ContractRefusal(
            table=self.table_evidence.table,
            column=column,
            path=evidence.path,
            type=evidence.type,
            entity=entity,
            mode=mode,
            count=evidence.count + (refusal.count if refusal else 0),
            first=min(evidence.first, refusal.first) if refusal else evidence.first,
            reason=reason,
            examples=examples[:MAX_EXAMPLES],
        )
        return Rule(action=cast("RuleAction", mode), table=self.table_evidence.table, column=column)

    def _record_owners(self, owners: Mapping[str, str]) -> None:
        """Store on columns in which keys collide the path of the key that owns them."""
        for name, path in owners.items():
            if name in self._new_columns:
                position, column = self._new_columns[name]
                self._new_columns[name] = (position, column.with_hints(**{SOURCE_PATH_HINT: path}))
            elif (
                name in self.stored_columns and self.stored_columns[name].hints.get(SOURCE_PATH_HINT) != path
            ):
                stored_column = self._changed_columns.get(name, self.stored_columns[name])
                self._changed_columns[name] = stored_column.with_hints(**{SOURCE_PATH_HINT: path})

    def _assemble_table(self, system_columns: Sequence[Column]) -> tuple[Table, Table | None]:
        missing = [
            self._typed_column(column)
            for column in system_columns
            if not self._is_stored(column.name) and column.name not in self._new_columns
        ]
        is_marked = (
            self.stored_table is not None
            and self.empty_table.extras.items() <= self.stored_table.extras.items()
        )
        if not self._new_columns and not self._changed_columns and not missing and is_marked:
            return cast("Table", self.stored_table), None
        positioned = sorted(self._new_columns.values(), key=lambda item: item[0])
        # System columns come after the columns of the first row and before all others.
        in_first_row = sum(1 for position, _ in positioned if position[:-1] == self.table_evidence.first_row)
        new = [column for _, column in positioned]
        new[in_first_row:in_first_row] = missing
        added = replace(self.empty_table, columns={column.name: column for column in new})
        table = self.stored_table.merged(added) if self.stored_table else added
        changed = self._changed_columns.values()
        return table.with_columns(changed), added.with_columns(changed)

    def _is_stored(self, name: str) -> bool:
        return name in self.stored_columns and self.stored_columns[name].is_complete

    def _typed_column(self, system_column: Column) -> Column:
        """Return a system column; one that was declared without a type, as ids with history are, gets it."""
        declared = self.stored_columns.get(system_column.name, system_column)
        return declared.with_hints(data_type=system_column.data_type)


def _first_position(evidence: Evidence) -> Position:
    return evidence.first


def _field_order(item: tuple[KeyPath, list[Evidence]]) -> tuple[bool, Position]:
    """Sort keys by their first value, keys with nulls only last."""
    evidence = item[1]
    if len(evidence) == 1:
        return evidence[0].type == "null", evidence[0].first
    return min((value.type == "null", value.first) for value in evidence)


def _placement_rule(placement: Placement, table: str) -> Rule:
    kind = value_type(placement.evidence)
    action: RuleAction = "convert"
    if kind == placement.data_type:
        action = "json" if kind == "json" else "keep"
    return Rule(action=action, table=table, column=placement.column, data_type=placement.data_type)


def _rule_chain(rules: Sequence[Rule]) -> Rule:
    chain = replace(rules[-1], otherwise=None)
    for rule in reversed(rules[:-1]):
        chain = replace(rule, otherwise=chain)
    return chain


class Placement(NamedTuple):
    """Values of one type, and the column that they go to."""

    evidence: Evidence
    column: str
    data_type: DataType
    is_variant: bool


class DecidedColumn(NamedTuple):
    """A new or changed column, its position among the new ones, and the values and rule that decided it."""

    column: Column
    position: Position
    evidence: Evidence
    rule: OriginRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPlan:
    """The placements of the values of one key, with the new and changed columns that they need."""

    placements: tuple[Placement, ...]
    new: tuple[DecidedColumn, ...] = ()
    changed: DecidedColumn | None = None


@dataclass(frozen=True, slots=True)
class ColumnPlanner:
    """The stored columns of a table, and the settings for new ones: the first value decides the type."""

    stored_columns: Mapping[str, Column]
    patterns: NamePatterns
    detections: tuple[Detection, ...]
    options: InferenceOptions
    variant_name: Callable[[str, DataType], str]

    def plan(self, name: str, evidence: Sequence[Evidence], *, may_change: bool = True) -> ColumnPlan:
        """Plan the columns of values, sorted by position, without nulls and flattened objects."""
        stored_column = self.stored_columns.get(name)
        if stored_column is not None and stored_column.data_type is not None:
            return self._plan_stored(stored_column, stored_column.data_type, evidence, may_change=may_change)
        preferred = self.patterns.preferred_type(name)
        first = next(
            (value for value in evidence if fits_type(value, self._first_type(value, preferred))), None
        )
        if first is None:
            return self._plan_variants(name, (), evidence)
        base = self._first_type(first, preferred)
        decisive, rule = first, _type_rule(first, base, preferred)
        fitting, failing = _split_by_fit(evidence, base)
        if failing and (wider := wider_type(base, evidence, is_stored=False, options=self.options)):
            decisive, rule = failing[0], "widening"
            base, fitting, failing = wider, tuple(evidence), ()
        column = self.patterns.infer_column(name, base)
        if stored_column is not None:
            column = column.merged(stored_column)
        placements = tuple(Placement(value, name, base, is_variant=False) for value in fitting)
        plan = self._plan_variants(name, placements, failing)
        return replace(plan, new=(DecidedColumn(column, first.first, decisive, rule), *plan.new))

    def _plan_stored(
        self, stored_column: Column, base: DataType, evidence: Sequence[Evidence], *, may_change: bool
    ) -> ColumnPlan:
        fitting, failing = _split_by_fit(evidence, base)
        changed = None
        if (
            may_change
            and failing
            and (wider := wider_type(base, evidence, is_stored=True, options=self.options))
        ):
            column = replace(stored_column, data_type=wider, precision=None, scale=None)
            changed = DecidedColumn(column, failing[0].first, failing[0], "widening")
            fitting, failing = tuple(evidence), ()
        elif may_change and (digits := self._wider_precision(stored_column, fitting)):
            longest = max(fitting, key=lambda value: value.longest)
            column = replace(stored_column, precision=digits)
            changed = DecidedColumn(column, longest.first, longest, "widening")
        kind = changed.column.data_type if changed and changed.column.data_type else base
        placements = tuple(Placement(value, stored_column.name, kind, is_variant=False) for value in fitting)
        return replace(self._plan_variants(stored_column.name, placements, failing), changed=changed)

    def _first_type(self, evidence: Evidence, preferred: DataType | None) -> DataType:
        return preferred or detected_type(evidence.detected, value_type(evidence), self.detections)

    def _wider_precision(self, stored_column: Column, evidence: Sequence[Evidence]) -> int | None:
        """Return the digits of a second that a timestamp column must be widened to, or None."""
        if (
            self.options.type_evolution != "widen"
            or stored_column.data_type != "timestamp"
            or stored_column.precision is None
        ):
            return None
        if ("timestamp", "timestamp") not in self.options.can_alter:
            return None
        digits = max((value.longest for value in evidence if value.type == "timestamp"), default=0)
        digits = min(digits, _MICROSECOND_DIGITS)
        return digits if digits > stored_column.precision else None

    def _plan_variants(
        self, name: str, base_placements: tuple[Placement, ...], failing: Sequence[Evidence]
    ) -> ColumnPlan:
        new: list[DecidedColumn] = []
        placements = list(base_placements)
        for kind in dict.fromkeys(map(value_type, failing)):
            values = [value for value in failing if value_type(value) == kind]
            self._place_variants(self.variant_name(name, kind), kind, values, placements, new)
        return ColumnPlan(placements=tuple(placements), new=tuple(new))

    def _place_variants(
        self,
        name: str,
        kind: DataType,
        evidence: Sequence[Evidence],
        placements: list[Placement],
        new: list[DecidedColumn],
    ) -> None:
        stored_column = self.stored_columns.get(name)
        if stored_column is not None and stored_column.data_type is not None:
            fitting, failing = _split_by_fit(evidence, stored_column.data_type)
            placements.extend(
                Placement(value, name, stored_column.data_type, is_variant=True) for value in fitting
            )
            if failing:
                # A detector chose the type of this variant, and it does not match these values.
                self._place_variants(self.variant_name(name, kind), kind, failing, placements, new)
            return
        first = evidence[0]
        detected = detected_type(first.detected, kind, self.detections)
        base = detected if all(fits_type(value, detected) for value in evidence) else kind
        column = self.patterns.infer_column(name, base).with_hints(variant=True)
        new.append(DecidedColumn(column, first.first, first, "variant"))
        placements.extend(Placement(value, name, base, is_variant=True) for value in evidence)


def _type_rule(evidence: Evidence, base: DataType, preferred: DataType | None) -> OriginRule:
    """Return the rule by which values got the type of a new column."""
    if preferred is not None:
        return "preferred_type"
    return "inference" if base == value_type(evidence) else "detection"


def _split_by_fit(
    evidence: Sequence[Evidence], to_type: DataType
) -> tuple[tuple[Evidence, ...], tuple[Evidence, ...]]:
    fitting = tuple(value for value in evidence if fits_type(value, to_type))
    if len(fitting) == len(evidence):
        return fitting, ()
    return fitting, tuple(value for value in evidence if not fits_type(value, to_type))
