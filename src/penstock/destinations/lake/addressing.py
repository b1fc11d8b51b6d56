"""The tables of a dataset where they stand: by path or in a catalog."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession


class TableAddressing(Protocol):
    """Where tables stand."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Make room for tables, where there is none."""

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""

    def sql_name(self, table: str) -> str:
        """A table in SQL."""


Addressing = TypeVar("Addressing", bound=TableAddressing)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetTables(Generic[Addressing]):
    """What the tables of one dataset have in common, in whatever format."""

    addressing: Addressing
    properties: Mapping[str, Any] = field(default_factory=dict)
    """What all tables have, beside what each says itself."""

    def initialize(self, *, spark: SparkSession) -> None:
        """Make room for tables, where there is none."""
        self.addressing.initialize(spark=spark)

    def exists(self, table: str, *, spark: SparkSession) -> bool:
        """Whether there is such a table."""
        return self.addressing.exists(table, spark=spark)

    def sql_name(self, table: str) -> str:
        """A table in SQL."""
        return self.addressing.sql_name(table)
