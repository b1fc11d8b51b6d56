"""Names of what methods of a pipeline take, as the reference page has them: for annotations of your own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from penstock.interfaces import Destination, TRefreshMode

if TYPE_CHECKING:
    from pathlib import Path

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
TDestinationReferenceArg: TypeAlias = str | Destination | None
"""A destination as users name it: by its registered name, or with arguments; None for the one before."""
TWriteDispositionConfig: TypeAlias = str | Mapping[str, Any] | Callable[[Any], Any]
"""A disposition in one word, with its details in a dict, or as a function of an item."""
TAnySchemaColumns: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]] | type | Callable[[Any], Any]
"""Columns by name, as a list, or as a model of pydantic."""
TColumnNames: TypeAlias = str | Sequence[str] | Callable[[Any], Any]
"""One column or several."""
TSchemaContract: TypeAlias = str | Mapping[str, str] | Callable[[Any], Any]
"""A contract in one word, or for tables, columns and types apart."""


@runtime_checkable
class SupportsPipeline(Protocol):
    """What functions may ask of a pipeline that they are given, without knowing its class."""

    pipeline_name: str
    destination: Destination | None
    dataset_name: str

    @property
    def working_dir(self) -> Path:
        """The local folder of the pipeline."""

    @property
    def first_run(self) -> bool:
        """Whether no load of it has been completed yet."""

    @property
    def default_schema_name(self) -> str:
        """The name of the default schema."""

    @property
    def state(self) -> Mapping[str, Any]:
        """The state, to look at."""

    def set_local_state_val(self, key: str, value: Any) -> None:
        """Remember a value on this machine."""

    def get_local_state_val(self, key: str) -> Any:
        """A value that this machine remembers."""
