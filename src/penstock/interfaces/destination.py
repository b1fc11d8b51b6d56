"""A destination: how it is declared, configured and spoken to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces.capabilities import Capabilities
    from penstock.interfaces.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadMark:
    """What every table commit of a load is marked with, so that it lands once."""

    pipeline_name: str
    sequence: int
    load_id: str
    manifest_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableJob:
    """The rows of one table in one load."""

    table: str
    write_disposition: str
    frame: Callable[[SparkSession], DataFrame]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedJob:
    """What a table commit came to. `rows` is None when the destination did not say."""

    table: str
    rows: int | None
    version_before: int | None
    version_after: int
    skipped: bool = False
    """True when an earlier attempt of the same load had committed it."""


class DestinationClient(Protocol):
    """A destination opened for one dataset."""

    def ledger(self) -> Ledger:
        """The ledger of the dataset."""

    def package_root(self, pipeline_name: str) -> str:
        """Where packages of a pipeline live so that driver and executors both reach them."""

    def apply(self, job: TableJob, mark: LoadMark, *, spark: SparkSession) -> AppliedJob:
        """Commit one table, once, whatever happened before."""

    def read(self, table: str, *, spark: SparkSession) -> DataFrame:
        """A frame over a data table in the given session."""

    def table_names(self) -> tuple[str, ...]:
        """The data tables that exist here."""

    def location(self, table: str | None = None) -> str:
        """The address of the dataset, or of one table of it."""

    def describe(self) -> str:
        """The address of the dataset as people may see it: without credentials."""

    def remove(self) -> None:
        """Delete the dataset with all its tables and packages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DestinationSpec:
    """The declaration behind an entry point: what it is called, what it can, how it is opened."""

    name: str
    state_type: str
    """How a pipeline's state names this destination, so that dlt finds its own way to the same tables."""
    capabilities: Capabilities
    configure: Callable[..., Any]
    """Called as `configure(explicit, settings=, pipeline_name=, master=)`; gives what `open` takes."""
    open: Callable[..., DestinationClient]
    """Called as `open(settings, dataset_name=...)`."""
