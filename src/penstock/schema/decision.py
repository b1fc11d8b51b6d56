"""What was decided about a batch of rows: the schema after it, and what becomes of every value."""

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
"""What to do with a value:

- `keep`: write it into the column as it is
- `convert`: write it into the column as a value of its type; `otherwise` says what to do when it does not fit
- `json`: write the object or list into the column as JSON text
- `flatten`: the object's keys are columns of the same table
- `rows`: the list's elements are rows of another table
- `nothing`: there is no value
- `discard_value`, `discard_row`, `freeze`: refused; leave the value out, leave the row out, or stop
- `exclude`: leave it out, because a filter of the schema says so
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What to do with the values of one type at one path."""

    action: RuleAction
    table: str
    column: str | None = None
    """The column that takes the value; for `rows` there is none, and `table` is the table of the elements."""
    data_type: DataType | None = None
    """The type of that column."""
    otherwise: Rule | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractRefusal:
    """Values that the contract refuses, or that a column cannot be without."""

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
    """The outcome for one root table and everything below it.

    `schema` is the value that was given when nothing changed. `update` has, for each table that is new or has
    new or changed columns, a table with just those. A `Rule` stands for each path and type of the evidence.
    """

    schema: StoredSchema
    update: Mapping[str, Table] = field(default=FrozenMap[Any]())
    rules: Mapping[tuple[ValuePath, ObservedType], Rule]
    tables: Mapping[ValuePath, str]
    """The table of each kind of row: `()` for the root rows, else the path of the elements of a list."""
    row_id_type: RowIdType = "place"
    """What the ids of root rows are made of."""
    refusals: tuple[ContractRefusal, ...] = ()
    """In the order in which the rows came."""
    collisions: tuple[NameCollision, ...] = ()
    never_typed: Mapping[str, tuple[str, ...]] = field(default=FrozenMap[Any]())
    """Columns that came with nothing but nulls and do not exist yet, by table."""

    def rule(self, path: ValuePath, kind: ObservedType) -> Rule:
        """Give the rule for a value; one that the evidence did not have raises `KeyError`."""
        return self.rules[path, kind]

    def check(self) -> Decision:
        """Give the decision back, or raise `DataValidationError` for the first thing that is frozen."""
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
