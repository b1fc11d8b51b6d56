"""Where a dataset is read: its tables and ledger, and the sessions to read them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import SqlClientNotAvailable
from penstock.interfaces import WithTableVersions

if TYPE_CHECKING:
    from penstock.interfaces import JobClientBase, Ledger
    from penstock.spark.session import UserSession
    from penstock.spark.session_pool import SessionPool


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetSource:
    """An opened destination, as its readers know it.

    Rows are read in the user's session. What must be found out about tables is found out in sessions of our
    own, for the user's may lack what that needs.
    """

    client: JobClientBase
    ledger: Ledger
    user: UserSession
    pool: SessionPool

    @property
    def tables(self) -> WithTableVersions:
        """The tables, of a destination that gives them back."""
        if not isinstance(self.client, WithTableVersions):
            raise SqlClientNotAvailable(destination=self.client.config.destination_name or "this destination")
        return self.client

    @property
    def location(self) -> str:
        """Where the tables are, without credentials."""
        return self.client.displayable_location()
