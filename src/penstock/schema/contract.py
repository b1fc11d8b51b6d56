"""Schema contracts: a mode for each entity, and the precedence of run, table and schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from penstock.errors import UsageError
from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from penstock.schema.table import Table

EvolutionMode = Literal["evolve", "discard_value", "freeze", "discard_row"]
ContractEntity = Literal["tables", "columns", "data_type"]
ContractSettings = EvolutionMode | Mapping[str, Any]
"""One mode for all entities, or a mode for each; an entity without a mode evolves."""

MODES: Final[tuple[EvolutionMode, ...]] = get_args(EvolutionMode)
ENTITIES: Final[tuple[ContractEntity, ...]] = get_args(ContractEntity)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """A mode for each entity: new tables, new columns, and values that do not fit their column's type.

    Example:
        >>> Contract.from_settings({"columns": "freeze"})
        Contract(tables='evolve', columns='freeze', data_type='evolve')
    """

    tables: EvolutionMode = "evolve"
    columns: EvolutionMode = "evolve"
    data_type: EvolutionMode = "evolve"

    @classmethod
    def from_settings(cls, settings: ContractSettings | None) -> Contract:
        """Return the contract of a setting; None means that everything evolves."""
        if settings is None:
            return DEFAULT_CONTRACT
        if isinstance(settings, str):
            settings = dict.fromkeys(ENTITIES, settings)
        if not isinstance(settings, Mapping):
            raise UsageError(f"{settings!r} is not a schema contract", hint=_HINT)
        unknown = [key for key, mode in settings.items() if key not in ENTITIES or mode not in MODES]
        if unknown:
            raise UsageError(
                f"a schema contract cannot have {unknown[0]}={settings[unknown[0]]!r}", hint=_HINT
            )
        return cls(**settings)


DEFAULT_CONTRACT: Final = Contract()
_HINT: Final = f"give one of {', '.join(MODES)}, or such a mode for each of {', '.join(ENTITIES)}"


def effective_contract(
    table: str,
    tables: Mapping[str, Table],
    *,
    parent: str | None = None,
    schema_contract: ContractSettings | None = None,
    run_contract: ContractSettings | None = None,
) -> Contract:
    """Return the contract in effect for a table: that of the run, else of the table, else of the schema.

    A nested table without one inherits that of the nearest table above it; `parent` is the parent of a table
    that is not in `tables` yet. System tables have no contract.
    """
    if table.startswith(SYSTEM_PREFIX):
        return DEFAULT_CONTRACT
    if run_contract is not None:
        return Contract.from_settings(run_contract)
    stored_table = tables.get(table)
    parent = stored_table.parent if stored_table else parent
    table_contract = stored_table.extras.get("schema_contract") if stored_table else None
    if table_contract is None and parent is not None:
        return effective_contract(parent, tables, schema_contract=schema_contract)
    return Contract.from_settings(schema_contract if table_contract is None else table_contract)
