"""Decisions about a batch of rows: the schema after it, and a rule for every value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from penstock.errors import DataValidationError
from penstock.schema.contract import ContractEntity
from penstock.schema.frozen_map import FrozenMap

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema.column_names import NameCollision
    from penstock.schema.contract import EvolutionMode
    from penstock.schema.evidence import Position
    from penstock.schema.observation import ObservedType
    from penstock.schema.origin import ColumnOrigin
    from penstock.schema.stored_schema import StoredSchema
    from penstock.schema.system_columns import RowIdType
    from penstock.schema.table import Table
    from penstock.schema.types import DataType
    from penstock.schema.value_path import ValuePath

RefusedEntity = ContractEntity | Literal["nullable"]
RuleAction = Literal[
    "keep",
    "convert",
    "json",
    "flatten",
    "rows",
    "nothing",
    "discard_value",
    "discard_row",
    "freeze",
    "exclude",
]
"""The action for a value:

- `keep`: write it to the column unchanged
- `convert`: convert it to the type of the column; if that fails, apply `otherwise`
- `json`: write the object or list to the column as JSON text
- `flatten`: the object's keys are columns of the same table
- `rows`: the list's elements are rows of another table
- `nothing`: it is null, or an empty list
- `discard_value`, `discard_row`, `freeze`: refused; leave out the value, leave out the row, or abort
- `exclude`: leave it out because of a filter of the schema
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The action for the values of one type at one path."""

    action: RuleAction
    table: str
    column: str | None = None
    """The column of the value; None for `rows`, where `table` is the table of the elements."""
    data_type: DataType | None = None
    """The type of that column."""
    otherwise: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractRefusal:
    """Values that the contract refuses, or nulls in a column that is not nullable."""

    table: str
    column: str | None
    path: ValuePath
    type: ObservedType
    entity: RefusedEntity
    mode: EvolutionMode
    count: int
    first: Position
    reason: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision for one root table and its nested tables.

    `schema` is the same object as before if nothing changed. `update` has each new or changed table with only
    its new and changed columns. `rules` has an entry for each path and type of the evidence.
    """

    schema: StoredSchema
    update: Mapping[str, Table] = field(default=FrozenMap[Any]())
    rules: Mapping[tuple[ValuePath, ObservedType], Rule]
    tables: Mapping[ValuePath, str]
    """Table names by row path: `()` for root rows, else the path of the elements of a list."""
    row_id_type: RowIdType = "position"
    """The input of root row ids."""
    refusals: tuple[ContractRefusal, ...] = ()
    """In the order of the rows."""
    collisions: tuple[NameCollision, ...] = ()
    never_typed: Mapping[str, tuple[str, ...]] = field(default=FrozenMap[Any]())
    """Columns by table that have only nulls so far and are not created."""
    origins: tuple[ColumnOrigin, ...] = ()
    """The origins of the new columns and of the new types in `update`, but of no system column."""

    def rule(self, path: ValuePath, kind: ObservedType) -> Rule:
        """Return the rule for a value; raise `KeyError` if the evidence has no such value."""
        return self.rules[path, kind]

    def check(self) -> Decision:
        """Return the decision; raise `DataValidationError` for the first refusal in mode `freeze`."""
        for refusal in self.refusals:
            if refusal.mode == "freeze":
                raise DataValidationError(
                    schema_name=self.schema.name,
                    table_name=refusal.table,
                    column_name=refusal.column,
                    schema_entity=refusal.entity,
                    contract_mode=refusal.mode,
                    reason=refusal.reason,
                    count=refusal.count,
                    data_item=refusal.examples[0] if refusal.examples else None,
                )
        return self
