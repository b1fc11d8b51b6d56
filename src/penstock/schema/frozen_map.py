"""Immutable JSON-like documents: hashable, picklable, and safe to share between threads."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, NoReturn, TypeVar

from penstock.errors import UsageError

V = TypeVar("V")


class ReadOnlyMapping(Mapping[str, V], Generic[V]):
    """A mapping that refuses every change with an error that names the way to make it.

    >>> from penstock.schema import Schema
    >>> try:
    ...     Schema("shop").tables["_dlt_loads"]["columns"]["status"]["nullable"] = True
    ... except UsageError as error:
    ...     error.message
    "'nullable' cannot be set: schemas, tables, columns and hints are read-only"
    """

    __slots__ = ()

    def __setitem__(self, key: str, value: Any) -> NoReturn:
        raise _read_only(f"{key!r} cannot be set")

    def __delitem__(self, key: str) -> NoReturn:
        raise _read_only(f"{key!r} cannot be deleted")

    def update(self, *items: Any, **named: Any) -> NoReturn:
        """Raise `UsageError`."""
        raise _read_only("items cannot be updated")

    def setdefault(self, key: str, default: Any = None) -> NoReturn:
        """Raise `UsageError`."""
        raise _read_only(f"{key!r} cannot be set")

    def pop(self, key: str, *default: Any) -> NoReturn:
        """Raise `UsageError`."""
        raise _read_only(f"{key!r} cannot be removed")


def _read_only(reason: str) -> UsageError:
    return UsageError(
        f"{reason}: schemas, tables, columns and hints are read-only",
        hint="change a table with schema.update_table({...}) or resource.apply_hints(...), settings with the "
        "schema's methods; a table's or column's to_dict() is a copy that you may change",
    )


class FrozenMap(ReadOnlyMapping[V], Generic[V]):
    """An immutable mapping that keeps its order.

    It equals any mapping with the same items, in any order. Unlike `types.MappingProxyType` it can be hashed,
    pickled and deep-copied.
    """

    __slots__ = ("_hash", "_items")

    def __init__(self, items: Mapping[str, V] | None = None) -> None:
        self._items: dict[str, V] = dict(items or {})
        self._hash: int | None = None

    def __getitem__(self, key: str) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    # Those of `Mapping` are ten times slower, which matters in large schemas.
    def keys(self) -> KeysView[str]:
        """Return a view, as `dict.keys`."""
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        """Return a view, as `dict.values`."""
        return self._items.values()

    def items(self) -> ItemsView[str, V]:
        """Return a view, as `dict.items`."""
        return self._items.items()

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value or the default, as `dict.get`."""
        return self._items.get(key, default)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, FrozenMap):
            return self._items == other._items
        if isinstance(other, Mapping):
            return self._items == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({self._items!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # Without the cached hash: hashes of texts differ between processes.
        return (FrozenMap, (self._items,))

    def with_items(self, items: Mapping[str, V]) -> FrozenMap[V]:
        """Return a copy with `items` set; existing keys keep their position."""
        return FrozenMap({**self._items, **items})

    def without_keys(self, *keys: str) -> FrozenMap[V]:
        """Return a copy without `keys`; unknown keys are ignored."""
        return FrozenMap({key: value for key, value in self._items.items() if key not in keys})


def freeze(value: Any) -> Any:
    """Convert mappings to `FrozenMap` and lists to tuples, recursively."""
    match value:
        case FrozenMap():
            return value
        case Mapping():
            return FrozenMap({str(key): freeze(inner) for key, inner in value.items()})
        case list() | tuple():
            return tuple(freeze(inner) for inner in value)
        case _:
            return value


def thaw(value: Any) -> Any:
    """Convert a frozen value to new dicts and lists that the caller may change."""
    match value:
        case Mapping():
            return {key: thaw(inner) for key, inner in value.items()}
        case list() | tuple():
            return [thaw(inner) for inner in value]
        case _:
            return value
