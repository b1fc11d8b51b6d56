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
    from pyspark.sql import DataFrame

    from penstock.interfaces import DestinationClient
    from penstock.spark.session import UserSession


@dataclass(frozen=True, slots=True)
class Relation(ABC):
    """A table that is read when one of its methods is called."""

    name: str
    client: DestinationClient
    user: UserSession

    @abstractmethod
    def spark(self) -> DataFrame:
        """A Spark frame in the user's session."""

    def df(self) -> pd.DataFrame:
        """A pandas frame; the whole table comes to this machine."""
        try:
            return self.spark().toPandas()
        except ImportError as error:
            raise MissingExtra(extra="spark", needed_for="a pandas frame") from error

    def arrow(self) -> pa.Table:
        """An Arrow table; the whole table comes to this machine."""
        return self.spark().toArrow()

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return [tuple(row) for row in self.spark().collect()]

    def count(self) -> int:
        """The number of rows."""
        return self.spark().count()


class TableRelation(Relation):
    """A data table."""

    __slots__ = ()

    def spark(self) -> DataFrame:
        """A Spark frame in the user's session."""
        return self.client.read(self.name, spark=self.user.spark)


class SystemRelation(Relation):
    """A system table: small files that the driver reads."""

    __slots__ = ()

    def spark(self) -> DataFrame:
        """A Spark frame in the user's session."""
        rows = [system_row(self.name, row) for row in self.client.ledger().rows(self.name)]
        return self.user.spark.createDataFrame(rows, SYSTEM_SCHEMAS[self.name])
