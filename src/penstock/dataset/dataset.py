"""A dataset: the tables of one pipeline or of several, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.dataset.relation import Relation, SystemRelation, TableRelation
from penstock.errors import TableNotFound
from penstock.package.ledger import SYSTEM_TABLES

if TYPE_CHECKING:
    from penstock.interfaces import DestinationClient
    from penstock.spark.own import SessionPool
    from penstock.spark.session import UserSession


class Dataset:
    """Tables by name: `dataset["items"].df()`. Nothing is read before a frame is asked for."""

    def __init__(self, client: DestinationClient, *, name: str, user: UserSession, pool: SessionPool) -> None:
        self._client, self._user, self._pool = client, user, pool
        self.name = name

    @property
    def tables(self) -> list[str]:
        """The names of all tables: data first, then those with which the loads are kept track of."""
        system = [table for table in SYSTEM_TABLES if self._client.ledger().is_initialized()]
        return [*self._client.table_names(), *system]

    def __getitem__(self, name: str) -> Relation:
        if name not in self.tables:
            raise TableNotFound(table=name, schema=self.name)
        if name in SYSTEM_TABLES:
            return SystemRelation(name, self._client, self._user, self._pool)
        return TableRelation(name, self._client, self._user, self._pool)

    def row_counts(self) -> dict[str, int]:
        """Rows of every data table."""
        return {name: self[name].count() for name in self._client.table_names()}

    def __repr__(self) -> str:
        return f"<penstock.Dataset {self.name!r} at {self._client.describe()}: {', '.join(self.tables)}>"
