"""Frozen values that read like their documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, ClassVar

from penstock.schema.frozen_map import ReadOnlyMapping, freeze


class DocumentRecord(ReadOnlyMapping[Any]):
    """A frozen value that is also a read-only mapping: its document, as schemas store it.

    It equals a mapping with the same items.
    """

    __slots__ = ()
    field_values: ClassVar[Callable[[Any], tuple[Any, ...]]]
    """The values of the fields, in C: schemas of thousands of columns are compared and hashed."""

    def __init_subclass__(cls) -> None:
        cls.field_values = attrgetter(*cls.__annotations__)

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """Return the items of the document; the inner values are frozen."""

    def __getitem__(self, key: str) -> Any:
        return self.document()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.document())

    def __len__(self) -> int:
        return len(self.document())

    def __eq__(self, other: object) -> bool:
        if type(other) is type(self):
            return type(self).field_values(self) == type(self).field_values(other)
        return self.document() == freeze(other) if isinstance(other, Mapping) else NotImplemented

    def __hash__(self) -> int:
        return hash(type(self).field_values(self))
