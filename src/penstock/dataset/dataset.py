"""A dataset: the tables of one pipeline or of several, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.dataset.relation import Relation, SystemRelation, TableRelation
from penstock.errors import TableNotFound, UsageError
from penstock.interfaces import WithTableVersions
from penstock.package.ledger import SYSTEM_TABLES

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Ledger
    from penstock.spark.own import SessionPool
    from penstock.spark.session import UserSession


class Dataset:
    """Tables by name: `dataset["items"].df()`. Nothing is read before a frame is asked for."""

    def __init__(
        self, client: JobClientBase, ledger: Ledger, *, name: str, user: UserSession, pool: SessionPool
    ) -> None:
        self._client, self._ledger, self._user, self._pool = client, ledger, user, pool
        self.name = name

    @property
    def tables(self) -> list[str]:
        """The names of all tables: data first, then those with which the loads are kept track of."""
        system = [table for table in SYSTEM_TABLES if self._ledger.is_initialized()]
        return [*self._readable().table_names(), *system]

    def __getitem__(self, name: str) -> Relation:
        if name not in self.tables:
            raise TableNotFound(table=name, schema=self.name)
        if name in SYSTEM_TABLES:
            return SystemRelation(name, self._user, self._pool, self._ledger)
        return TableRelation(name, self._user, self._pool, self._readable())

    def row_counts(self) -> dict[str, int]:
        """Rows of every data table."""
        return {name: self[name].count() for name in self._readable().table_names()}

    def _readable(self) -> WithTableVersions:
        if not isinstance(self._client, WithTableVersions):
            raise UsageError(
                f"{self._client.config.destination_name or 'this destination'} cannot be read by penstock",
                hint="read its tables with the tools of the destination",
            )
        return self._client

    def __repr__(self) -> str:
        where = self._client.displayable_location()
        return f"<penstock.Dataset {self.name!r} at {where}: {', '.join(self.tables)}>"
