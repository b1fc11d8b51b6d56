"""What a resource says about its tables: values, or functions of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, Literal, get_args

from penstock.errors import InconsistentTableTemplate, UsageError
from penstock.interfaces.incremental import Incremental, as_incremental
from penstock.schema import Contract, TWriteDisposition, columns_of_model, contract_of_model
from penstock.schema.frozen import FrozenMap, freeze
from penstock.schema.models import is_model

MergeStrategy = Literal["delete-insert", "scd2", "upsert", "insert-only", "cdc"]

WRITE_DISPOSITIONS: Final[tuple[TWriteDisposition, ...]] = get_args(TWriteDisposition)
NestedValues = Literal["tables", "keep"]
"""What becomes of structs, lists and maps in frames: columns and tables, or values as they are."""
NESTED_VALUES: Final[tuple[NestedValues, ...]] = get_args(NestedValues)
MERGE_STRATEGIES: Final[tuple[MergeStrategy, ...]] = get_args(MergeStrategy)
_NOT_DYNAMIC: Final = frozenset(("incremental", "additional_table_hints", "max_table_nesting", "nested"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHints:
    """The hints of one table. None means that nothing was said.

    Every hint but `incremental`, `nested` and `max_table_nesting` may be a function that is called with each
    item; `table_name` must be one then.
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
        """Whether each item names its table."""
        return is_dynamic(self.table_name)

    @property
    def disposition(self) -> str | None:
        """The write disposition in one word; None where nothing is said, or where each item says it."""
        said = self.write_disposition
        if said is None or is_dynamic(said):
            return None
        return str(said["disposition"] if isinstance(said, Mapping) else said)

    @property
    def merge_strategy(self) -> str | None:
        """How rows are merged; None where nothing is said, or where each item says it."""
        said = self.write_disposition
        return said.get("strategy") if isinstance(said, Mapping) else None

    @property
    def dynamic(self) -> tuple[str, ...]:
        """The hints that are functions of an item."""
        return tuple(
            each.name
            for each in fields(self)
            if each.name not in _NOT_DYNAMIC and is_dynamic(getattr(self, each.name))
        )

    def merged(self, said: TableHints) -> TableHints:
        """Take over what `said` has: None keeps a hint, an empty value takes it back.

        Columns are added to those that are there; everything else is replaced.
        """
        changes = {
            each.name: _over(each.name, getattr(self, each.name), new)
            for each in fields(self)
            if (new := getattr(said, each.name)) is not None
        }
        return _checked(replace(self, **changes))

    def at(self, item: Any) -> TableHints:
        """The same hints with every function called with this item."""
        names = self.dynamic
        if not names:
            return self
        return make_hints(**{**self.said(), **{name: getattr(self, name)(item) for name in names}})

    def said(self) -> dict[str, Any]:
        """The hints that are there, by name."""
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name)) is not None}


NO_HINTS: Final = TableHints()


def make_hints(**said: Any) -> TableHints:
    """Read hints as users write them.

    `columns` may be a dict, a list of columns with names, or a pydantic model, which then says the schema
    contract too. `nested_hints` is keyed by a name or by a path of names.

    >>> make_hints(columns=[{"name": "id", "data_type": "text"}]).columns["id"]["data_type"]
    'text'
    """
    known = {each.name for each in fields(TableHints)}
    if unknown := [name for name in said if name not in known]:
        raise UsageError(f"there is no hint {unknown[0]!r}", hint=f"use one of: {', '.join(sorted(known))}")
    # An empty disposition says nothing: there is none to fall back to.
    given = {name: value for name, value in said.items() if value or name != "write_disposition"}
    read = {name: _READERS.get(name, freeze)(value) for name, value in given.items() if value is not None}
    model = said.get("columns")
    if is_model(model) and said.get("schema_contract") is None:
        read["schema_contract"] = _contract_of(model)
    return _checked(TableHints(**read))


def is_dynamic(hint: Any) -> bool:
    """Whether a hint is a function of an item. A class is a value: pydantic models are classes."""
    return callable(hint) and not isinstance(hint, type)


def key_columns(keys: Any) -> tuple[str, ...]:
    """The columns of a key: one name, or several."""
    return (keys,) if isinstance(keys, str) else tuple(keys)


def _checked(hints: TableHints) -> TableHints:
    if hints.nested is not None and hints.nested not in NESTED_VALUES:
        raise UsageError(f"nested cannot be {hints.nested!r}", hint=f"use one of: {', '.join(NESTED_VALUES)}")
    if hints.dynamic and not hints.has_dynamic_table_name:
        raise InconsistentTableTemplate(hint_name=hints.dynamic[0], table_name=str(hints.table_name))
    return hints


def _over(name: str, before: Any, new: Any) -> Any:
    if new is Incremental.EMPTY or (isinstance(new, (str, Mapping, Sequence)) and not new):
        return None
    if (
        name in {"columns", "additional_table_hints"}
        and isinstance(before, Mapping)
        and isinstance(new, Mapping)
    ):
        return FrozenMap({**before, **{key: _joined(before.get(key), value) for key, value in new.items()}})
    return new


def _joined(before: Any, new: Any) -> Any:
    if isinstance(before, Mapping) and isinstance(new, Mapping):
        return FrozenMap({**before, **new})
    return new


def _columns(said: Any) -> Any:
    if is_dynamic(said):
        return said
    if is_model(said):
        return freeze(columns_of_model(said))
    if isinstance(said, Mapping):
        return freeze({name: {**column, "name": column.get("name", name)} for name, column in said.items()})
    if isinstance(said, Sequence) and not isinstance(said, str):
        if any(not isinstance(column, Mapping) or "name" not in column for column in said):
            raise UsageError("a column in a list of columns has no name", hint="give each one a 'name'")
        return freeze({column["name"]: column for column in said})
    raise UsageError(
        f"columns cannot be a {type(said).__name__}",
        hint="pass a dict of columns by name, a list of columns, or a pydantic model",
    )


def _write_disposition(said: Any) -> Any:
    if is_dynamic(said):
        return said
    word = said.get("disposition") if isinstance(said, Mapping) else said
    strategy = said.get("strategy") if isinstance(said, Mapping) else None
    if word not in WRITE_DISPOSITIONS:
        raise UsageError(
            f"{word!r} is not a write disposition", hint=f"use one of: {', '.join(WRITE_DISPOSITIONS)}"
        )
    if strategy is not None and strategy not in MERGE_STRATEGIES:
        raise UsageError(
            f"{strategy!r} is not a merge strategy", hint=f"use one of: {', '.join(MERGE_STRATEGIES)}"
        )
    return freeze(said)


def _nested(said: Any) -> Any:
    if is_dynamic(said):
        return said
    return MappingProxyType(
        {
            _path(key): hints if isinstance(hints, TableHints) else make_hints(**hints)
            for key, hints in said.items()
        }
    )


def _path(key: str | Sequence[str]) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _contract(said: Any) -> Any:
    if not is_dynamic(said) and said:
        Contract.from_settings(said)
    return freeze(said)


def _contract_of(model: Any) -> Any:
    found = contract_of_model(model)
    return FrozenMap({"tables": found.tables, "columns": found.columns, "data_type": found.data_type})


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "columns": _columns,
    "write_disposition": _write_disposition,
    "nested_hints": _nested,
    "schema_contract": _contract,
    "incremental": as_incremental,
}
