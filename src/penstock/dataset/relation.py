"""One table of a dataset, in whichever form it is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.dataset.system import SYSTEM_SCHEMAS, system_row
from penstock.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from penstock.interfaces import Ledger, WithTableVersions
    from penstock.spark.own import SessionPool
    from penstock.spark.session import UserSession


@dataclass(frozen=True, slots=True)
class Relation(ABC):
    """A table that is read when one of its methods is called."""

    name: str
    user: UserSession
    pool: SessionPool

    def spark(self) -> DataFrame:
        """A Spark frame in the user's session, to go on with."""
        return self._frame(self.user.spark)

    @abstractmethod
    def _frame(self, spark: SparkSession) -> DataFrame: ...

    def df(self) -> pd.DataFrame:
        """A pandas frame; the whole table comes to this machine."""
        try:
            frame: pd.DataFrame = self.arrow().to_pandas()
        except ImportError as error:
            raise MissingExtra(extra="spark", needed_for="a pandas frame") from error
        return frame

    def arrow(self) -> pa.Table:
        """An Arrow table; the whole table comes to this machine."""
        with self.pool.session() as spark:
            return self._frame(spark).toArrow()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        with self.pool.session() as spark:
            return [tuple(row) for row in self._frame(spark).collect()]

    def count(self) -> int:
        """The number of rows."""
        with self.pool.session() as spark:
            return self._frame(spark).count()


@dataclass(frozen=True, slots=True)
class TableRelation(Relation):
    """A data table."""

    tables: WithTableVersions

    def _frame(self, spark: SparkSession) -> DataFrame:
        return self.tables.read(self.name, spark=spark)


@dataclass(frozen=True, slots=True)
class SystemRelation(Relation):
    """A system table: small files that the driver reads."""

    ledger: Ledger

    def _frame(self, spark: SparkSession) -> DataFrame:
        rows = [system_row(self.name, row) for row in self.ledger.rows(self.name)]
        return spark.createDataFrame(rows, SYSTEM_SCHEMAS[self.name])
