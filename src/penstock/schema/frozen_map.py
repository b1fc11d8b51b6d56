"""JSON-like documents as values: hashable, picklable, and safe to share between threads."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, TypeVar

V = TypeVar("V")


class FrozenMap(Mapping[str, V], Generic[V]):
    """A mapping that keeps its order and never changes.

    It equals any mapping with the same items, in whatever order, as a `dict` does. Unlike
    `types.MappingProxyType` it can be hashed, pickled and deep-copied.
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

    # The four that `Mapping` has are an order slower, and large schemas are read through them.
    def keys(self) -> KeysView[str]:
        """As `dict.keys`."""
        return self._items.keys()

    def values(self) -> ValuesView[V]:
        """As `dict.values`."""
        return self._items.values()

    def items(self) -> ItemsView[str, V]:
        """As `dict.items`."""
        return self._items.items()

    def get(self, key: str, default: Any = None) -> Any:
        """As `dict.get`."""
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
        # A cached hash must not travel: the hash of a text differs between processes.
        return (FrozenMap, (self._items,))

    def with_items(self, items: Mapping[str, V]) -> FrozenMap[V]:
        """Copy with `items` set; keys that exist keep their place, new ones come last."""
        return FrozenMap({**self._items, **items})

    def without(self, *keys: str) -> FrozenMap[V]:
        """Copy without `keys`; a key that is not there is no error."""
        return FrozenMap({key: value for key, value in self._items.items() if key not in keys})


def freeze(value: Any) -> Any:
    """Turn mappings into `FrozenMap` and lists into tuples, all the way down."""
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
    """Give what `freeze` took, as fresh dicts and lists that the caller may change."""
    match value:
        case Mapping():
            return {key: thaw(inner) for key, inner in value.items()}
        case list() | tuple():
            return [thaw(inner) for inner in value]
        case _:
            return value
