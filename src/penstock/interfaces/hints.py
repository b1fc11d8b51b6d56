"""Hints of a resource for its tables: values, or functions of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from penstock.errors import InconsistentTableTemplate, UsageError
from penstock.interfaces.incremental import Incremental, as_incremental
from penstock.schema import Contract, TWriteDisposition, columns_of_model, contract_of_model
from penstock.schema.frozen_map import FrozenMap, freeze
from penstock.schema.pydantic_models import is_model

MergeStrategy = Literal["delete-insert", "scd2", "upsert", "insert-only", "cdc"]

WRITE_DISPOSITIONS: Final[tuple[TWriteDisposition, ...]] = get_args(TWriteDisposition)
NestedValues = Literal["tables", "keep"]
"""How structs, lists and maps of frames are written: as columns and tables, or unchanged."""
NESTED_VALUES: Final[tuple[NestedValues, ...]] = get_args(NestedValues)
MERGE_STRATEGIES: Final[tuple[MergeStrategy, ...]] = get_args(MergeStrategy)
_STATIC_HINTS: Final = frozenset(("incremental", "additional_table_hints", "max_table_nesting", "nested"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHints:
    """The hints of one table; None is an unset hint.

    Every hint except `incremental`, `nested` and `max_table_nesting` may be a function that is called with
    each item; `table_name` must be one then.
    """

    table_name: str | Callable[[Any], str] | None = None
    parent_table_name: str | Callable[[Any], str] | None = None
    write_disposition: Any = None
    columns: Any = None
    primary_key: Any = None
    merge_key: Any = None
    schema_contract: Any = None
    table_format: Any = None
    file_format: Any = None
    references: Any = None
    nested_hints: Any = None
    incremental: Any = None
    additional_table_hints: Any = None
    max_table_nesting: int | None = None
    nested: NestedValues | None = None

    @property
    def has_dynamic_table_name(self) -> bool:
        """Whether the table name is a function of an item."""
        return is_dynamic(self.table_name)

    @property
    def disposition(self) -> str | None:
        """The write disposition; None if unset or a function of an item."""
        disposition = self.write_disposition
        if disposition is None or is_dynamic(disposition):
            return None
        return str(disposition["disposition"] if isinstance(disposition, Mapping) else disposition)

    @property
    def merge_strategy(self) -> str | None:
        """The merge strategy; None if unset or a function of an item."""
        disposition = self.write_disposition
        return disposition.get("strategy") if isinstance(disposition, Mapping) else None

    @property
    def dynamic_names(self) -> tuple[str, ...]:
        """The hints that are functions of an item."""
        return tuple(
            each.name
            for each in fields(self)
            if each.name not in _STATIC_HINTS and is_dynamic(getattr(self, each.name))
        )

    def merged_with(self, other: TableHints) -> TableHints:
        """Return these hints changed by others: None keeps a hint, an empty value removes it.

        Columns are added to the existing ones, and so are additional hints of the table; all other hints are
        replaced.
        """
        changes = {
            each.name: _merged_hint(each.name, getattr(self, each.name), new)
            for each in fields(self)
            if (new := getattr(other, each.name)) is not None
        }
        return _validate(replace(self, **changes))

    def for_item(self, item: Any) -> TableHints:
        """Return the hints with every function called with this item."""
        names = self.dynamic_names
        if not names:
            return self
        return make_hints(**{**self.to_dict(), **{name: getattr(self, name)(item) for name in names}})

    def to_dict(self) -> dict[str, Any]:
        """Return the hints that are set, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}


NO_HINTS: Final = TableHints()


def make_hints(**hints: Any) -> TableHints:
    """Create hints from the arguments of users.

    `columns` may be a dict, a list of columns with names, or a pydantic model, which also sets the schema
    contract. `nested_hints` is keyed by a name or a path of names.

    >>> make_hints(columns=[{"name": "id", "data_type": "text"}]).columns["id"]["data_type"]
    'text'
    """
    hint_names = {each.name for each in fields(TableHints)}
    if unknown := [name for name in hints if name not in hint_names]:
        raise UsageError(f"unknown hint {unknown[0]!r}", hint=f"use one of: {', '.join(sorted(hint_names))}")
    # An empty disposition is unset: there is no earlier one to restore.
    given = {name: value for name, value in hints.items() if value or name != "write_disposition"}
    read = {name: _READERS.get(name, freeze)(value) for name, value in given.items() if value is not None}
    model = hints.get("columns")
    if is_model(model) and hints.get("schema_contract") is None:
        read["schema_contract"] = _model_contract(model)
    return _validate(TableHints(**read))


def is_dynamic(hint: Any) -> bool:
    """Return whether a hint is a function of an item. A class is a value: pydantic models are classes."""
    return callable(hint) and not isinstance(hint, type)


def key_columns(keys: Any) -> tuple[str, ...]:
    """Return the columns of a key: one name or several."""
    return (keys,) if isinstance(keys, str) else tuple(keys)


def _validate(hints: TableHints) -> TableHints:
    if hints.nested is not None and hints.nested not in NESTED_VALUES:
        raise UsageError(
            f"invalid value {hints.nested!r} of nested", hint=f"use one of: {', '.join(NESTED_VALUES)}"
        )
    if hints.dynamic_names and not hints.has_dynamic_table_name:
        raise InconsistentTableTemplate(hint_name=hints.dynamic_names[0], table_name=str(hints.table_name))
    return hints


def _merged_hint(name: str, old: Any, new: Any) -> Any:
    if new is Incremental.EMPTY or (isinstance(new, (str, Mapping, Sequence)) and not new):
        return None
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return new
    match name:
        case "columns":
            return FrozenMap(
                {**old, **{key: _merged_column(old.get(key), value) for key, value in new.items()}}
            )
        case "additional_table_hints":
            return FrozenMap({**old, **new})
        case _:
            return new


def _merged_column(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return FrozenMap({**old, **new})
    return new


def _read_columns(columns: Any) -> Any:
    if is_dynamic(columns):
        return columns
    if is_model(columns):
        return freeze(columns_of_model(columns))
    if isinstance(columns, Mapping):
        return freeze(
            {name: {**column, "name": column.get("name", name)} for name, column in columns.items()}
        )
    if isinstance(columns, Sequence) and not isinstance(columns, str):
        if any(not isinstance(column, Mapping) or "name" not in column for column in columns):
            raise UsageError("a column in a list of columns has no name", hint="add a 'name' to every column")
        return freeze({column["name"]: column for column in columns})
    raise UsageError(
        f"invalid type {type(columns).__name__} of columns",
        hint="pass a dict of columns by name, a list of columns, or a pydantic model",
    )


def _read_write_disposition(write_disposition: Any) -> Any:
    if is_dynamic(write_disposition):
        return write_disposition
    word = (
        write_disposition.get("disposition") if isinstance(write_disposition, Mapping) else write_disposition
    )
    strategy = write_disposition.get("strategy") if isinstance(write_disposition, Mapping) else None
    if word not in WRITE_DISPOSITIONS:
        raise UsageError(
            f"{word!r} is not a write disposition", hint=f"use one of: {', '.join(WRITE_DISPOSITIONS)}"
        )
    if strategy is not None and strategy not in MERGE_STRATEGIES:
        raise UsageError(
            f"{strategy!r} is not a merge strategy", hint=f"use one of: {', '.join(MERGE_STRATEGIES)}"
        )
    return freeze(write_disposition)


def _read_nested_hints(nested_hints: Any) -> Any:
    if is_dynamic(nested_hints):
        return nested_hints
    return MappingProxyType(
        {
            _nested_path(key): hints if isinstance(hints, TableHints) else make_hints(**hints)
            for key, hints in nested_hints.items()
        }
    )


def _nested_path(key: str | Sequence[str]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _read_contract(contract: Any) -> Any:
    if not is_dynamic(contract) and contract:
        Contract.from_settings(contract)
    return freeze(contract)


def _model_contract(model: Any) -> Any:
    contract = contract_of_model(model)
    return FrozenMap(
        {"tables": contract.tables, "columns": contract.columns, "data_type": contract.data_type}
    )


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "columns": _read_columns,
    "write_disposition": _read_write_disposition,
    "nested_hints": _read_nested_hints,
    "schema_contract": _read_contract,
    "incremental": as_incremental,
}
