"""The decision about a batch: evidence from rows changes the schema here and nowhere else."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from penstock.schema.column_names import SOURCE_PATH_HINT, Namer
from penstock.schema.contract import effective_contract
from penstock.schema.decision import ContractRefusal, Decision, Rule
from penstock.schema.frozen_map import FrozenMap
from penstock.schema.inference_options import InferenceOptions
from penstock.schema.layout import build_layout
from penstock.schema.naming import stored_naming_convention
from penstock.schema.patterns import NamePatterns
from penstock.schema.system_columns import propagated_columns, row_id_type, system_columns, with_root_key
from penstock.schema.table import Table
from penstock.schema.table_decision import BatchContext, TableDecision, is_new_table

if TYPE_CHECKING:
    from collections.abc import Collection

    from penstock.schema.column import Column
    from penstock.schema.column_names import NameCollision
    from penstock.schema.contract import Contract, EvolutionMode
    from penstock.schema.decision import RuleAction
    from penstock.schema.evidence import Evidence
    from penstock.schema.layout import TableEvidence
    from penstock.schema.observation import ObservedType
    from penstock.schema.origin import ColumnOrigin
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.system_columns import RowIdType
    from penstock.schema.types import DataType
    from penstock.schema.value_path import ValuePath

_DEFAULT_OPTIONS: Final = InferenceOptions()


def decide(
    stored: StoredSchema,
    table: str,
    evidence: Collection[Evidence],
    options: InferenceOptions = _DEFAULT_OPTIONS,
) -> Decision:
    """Decide about the rows of a root table by the evidence from them.

    A pure function: equal arguments have equal results in every process. Refused values are no error here:
    `Decision.check` raises for those in mode `freeze`.

    Example:
        >>> from penstock.schema import Schema, gather
        >>> decision = decide(Schema("shop").stored, "orders", gather([{"id": 1}, {"id": 3.7}]))
        >>> [(c.name, c.data_type) for c in decision.update["orders"].columns.values()][::3]
        [('id', 'bigint'), ('id__v_double', 'double')]
    """
    return _Decider(stored, table, options).decide(evidence)


class _Decider:
    def __init__(self, stored: StoredSchema, table: str, options: InferenceOptions) -> None:
        self.table, self.options = table, options
        self.stored = with_root_key(stored, table) if table in stored.tables else stored
        naming = options.naming or stored_naming_convention(stored.normalizers)
        breaks_paths = stored.normalizers.get("use_break_path_on_normalize") is not False
        self.namer = Namer(naming, breaks_paths, options.fold_identifier)
        self.patterns = NamePatterns.from_settings(stored.settings)
        self.rules: dict[tuple[ValuePath, ObservedType], Rule] = {}
        self.refusals: list[ContractRefusal] = []
        self.collisions: list[NameCollision] = []
        self.never_typed: dict[str, tuple[str, ...]] = {}
        self.origins: list[ColumnOrigin] = []
        self.decided_tables: dict[str, Table] = {}
        self.update: dict[str, Table] = {}
        self.tables: dict[ValuePath, str] = {}

    def decide(self, evidence: Collection[Evidence]) -> Decision:
        layout = build_layout(
            self.table,
            evidence,
            stored=self.stored,
            namer=self.namer,
            patterns=self.patterns,
            max_columns=self.options.max_columns,
            max_nesting=self.options.max_nesting,
            max_table_nesting=self.options.max_table_nesting,
        )
        context = BatchContext(
            namer=self.namer,
            patterns=self.patterns,
            tables=self.stored.tables,
            detections=tuple(self.stored.settings.get("detections") or ()),
            options=self.options,
            kept_as_json=layout.kept_as_json,
        )
        for table_evidence in layout.tables.values():
            self._decide_table(table_evidence, layout.owners.get(table_evidence.table), context)
        changed = {name: self.decided_tables[name] for name in self.update}
        return Decision(
            schema=self.stored.with_tables(changed.values()) if changed else self.stored,
            update=FrozenMap(self.update),
            rules=self.rules,
            tables=self.tables,
            row_id_type=self._row_id_type(),
            refusals=tuple(
                sorted(self.refusals, key=lambda refusal: (refusal.first[:-1], refusal.first[-1]))
            ),
            collisions=(*layout.collisions, *self.collisions),
            never_typed=FrozenMap(self.never_typed),
            origins=tuple(self.origins),
        )

    def _row_id_type(self) -> RowIdType:
        root = self.tables.get(())
        return row_id_type(self.decided_tables[root], self.options.merge_strategy) if root else "position"

    def _decide_table(self, table_evidence: TableEvidence, owner: str | None, context: BatchContext) -> None:
        if table_evidence.parent is not None and table_evidence.parent.row_path not in self.tables:
            return
        stored_table = self.stored.tables.get(table_evidence.table)
        contract = self._contract(table_evidence)
        if is_new_table(stored_table) and contract.tables != "evolve":
            self._refuse_table(table_evidence, contract.tables)
            return
        self.tables[table_evidence.row_path] = table_evidence.table
        for value in table_evidence.lists:
            self.rules[value.path, value.type] = Rule(action="rows", table=table_evidence.table)
        empty = self._empty_table(table_evidence, stored_table, owner)
        decision = TableDecision(
            table_evidence, stored_table, empty_table=empty, contract=contract, context=context
        )
        table, added = decision.decide(self._system_columns(table_evidence, is_root=not empty.is_nested))
        limited = self.options.type_limits.changed_columns(table)
        if limited:
            table, added = table.with_columns(limited), (added or empty).with_columns(limited)
        self.decided_tables[table_evidence.table] = table
        if added is not None:
            self.update[table_evidence.table] = added
        self.rules.update(decision.rules)
        self.refusals.extend(decision.refusals)
        self.collisions.extend(decision.collisions)
        self.origins.extend(decision.origins)
        if decision.never_typed:
            self.never_typed[table_evidence.table] = tuple(decision.never_typed)

    def _contract(self, table_evidence: TableEvidence) -> Contract:
        return effective_contract(
            table_evidence.table,
            self.stored.tables,
            parent=table_evidence.parent.table if table_evidence.parent else None,
            schema_contract=self.stored.settings.get("schema_contract"),
            run_contract=self.options.contract,
        )

    def _refuse_table(self, table_evidence: TableEvidence, mode: EvolutionMode) -> None:
        """Leave out the rows of a table that may not be created; the row that holds their list is kept."""
        action: RuleAction = (
            "freeze" if mode == "freeze" else "discard_value" if table_evidence.parent else "discard_row"
        )
        evidence = table_evidence.lists or list(chain.from_iterable(table_evidence.fields.values()))
        for value in evidence:
            self.rules[value.path, value.type] = Rule(action=action, table=table_evidence.table)
        self.refusals.append(
            ContractRefusal(
                table=table_evidence.table,
                column=None,
                path=table_evidence.row_path,
                type="list" if table_evidence.parent else "object",
                entity="tables",
                mode=mode,
                count=table_evidence.row_count,
                first=(*table_evidence.first_row, 0),
                reason="there is no such table",
            )
        )

    def _empty_table(
        self, table_evidence: TableEvidence, stored_table: Table | None, owner: str | None
    ) -> Table:
        """Return the table without columns; nested rows may also go to a stored root table."""
        parent = (
            table_evidence.parent.table
            if table_evidence.parent and not (stored_table and not stored_table.is_nested)
            else None
        )
        extras = {SOURCE_PATH_HINT: owner} if owner else {}
        table = Table(name=table_evidence.table, parent=parent, extras=extras)
        return table if stored_table else table.with_root_defaults()

    def _system_columns(self, table_evidence: TableEvidence, *, is_root: bool) -> tuple[Column, ...]:
        inherited: dict[str, DataType] = {}
        parent = table_evidence.parent
        while parent is not None:
            table = self.decided_tables[parent.table]
            propagated = propagated_columns(self.stored, parent.table, is_root=not table.is_nested)
            for source, name in propagated.items():
                column = table.columns.get(source)
                if column is not None and column.data_type is not None:
                    inherited.setdefault(name, column.data_type)
            parent = parent.parent
        return system_columns(self.patterns, is_root=is_root, inherited=inherited)
