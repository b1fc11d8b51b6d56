"""Types of the arguments of pipelines, for annotations of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from penstock.interfaces import Destination, TDestinationReference, TRefreshMode

__all__ = [
    "SupportsPipeline",
    "TAnySchemaColumns",
    "TColumnNames",
    "TDestination",
    "TDestinationReferenceArg",
    "TRefreshMode",
    "TSchemaContract",
    "TWriteDispositionConfig",
]

TDestination: TypeAlias = Destination
"""A destination with its arguments."""
TDestinationReferenceArg: TypeAlias = TDestinationReference | None
"""A name, a dotted path, a destination, a reference, a module or a factory; None keeps the current one."""
TWriteDispositionConfig: TypeAlias = str | Mapping[str, Any] | Callable[[Any], Any]
"""A disposition in one word, with its details in a dict, or as a function of an item."""
TAnySchemaColumns: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | type | Callable[[Any], Any]
"""Columns by name, as a list, or as a model of pydantic."""
TColumnNames: TypeAlias = str | Sequence[str] | Callable[[Any], Any]
"""One column or several."""
TSchemaContract: TypeAlias = str | Mapping[str, str] | Callable[[Any], Any]
"""A contract in one word, or one each for tables, columns and types."""


@runtime_checkable
class SupportsPipeline(Protocol):
    """The part of a pipeline that user functions may rely on."""

    pipeline_name: str
    destination: Destination | None
    dataset_name: str

    @property
    def working_dir(self) -> str:
        """The local folder of the pipeline."""

    @property
    def first_run(self) -> bool:
        """Whether no load is complete yet."""

    @property
    def default_schema_name(self) -> str:
        """The name of the default schema."""

    @property
    def state(self) -> Mapping[str, Any]:
        """The state; read only."""

    def set_local_state_val(self, key: str, value: Any) -> None:
        """Save a value on this machine."""

    def get_local_state_val(self, key: str) -> Any:
        """Return a value of this machine."""
