"""Refresh: tables and states that begin anew with a load, and how destinations are told of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from penstock.errors import UsageError
from penstock.schema import root_table
from penstock.schema.defaults import SYSTEM_PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.schema import Table

TRefreshMode = Literal["drop_sources", "drop_resources", "drop_data"]
"""What begins anew: all tables and the state of a source, or those of its resources, or their rows only."""

Renewal = Literal["table", "rows"]
"""What the commit of a load puts in the place of what is there: a table of another shape, or other rows."""

RENEW: Final = "x-renew"
"""The hint by which a root table says to a destination that its chain begins anew; it is never stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """What of one source begins anew with a package."""

    mode: TRefreshMode
    resources: tuple[str, ...] = ()
    """The resources that are extracted; of `drop_sources` it is every one of the source."""

    @property
    def drops_tables(self) -> bool:
        """Whether tables go, and not their rows only."""
        return self.mode != "drop_data"

    def affected_tables(self, tables: Mapping[str, Table]) -> tuple[str, ...]:
        """Which of the tables begin anew, those that are nested in them too. System tables never do."""
        return tuple(
            name for name in tables if not name.startswith(SYSTEM_PREFIX) and self._affects(name, tables)
        )

    def _affects(self, name: str, tables: Mapping[str, Table]) -> bool:
        return self.mode == "drop_sources" or root_table(name, tables).resource in self.resources

    def to_dict(self) -> dict[str, Any]:
        """Plain data for control files."""
        return {"mode": self.mode, "resources": list(self.resources)}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Refresh:
        """Read what `to_dict` gave; TypeError for what it never gives."""
        mode, resources = document["mode"], document["resources"]
        if mode not in get_args(TRefreshMode) or not all(isinstance(one, str) for one in resources):
            raise TypeError(f"refresh {dict(document)!r:.80}")
        return Refresh(mode=mode, resources=tuple(resources))


def check_refresh(mode: str | None) -> TRefreshMode | None:
    """Refuse a mode that there is not.

    >>> check_refresh("drop_data")
    'drop_data'
    """
    known = get_args(TRefreshMode)
    if mode is not None and mode not in known:
        raise UsageError(f"there is no refresh {mode!r}", hint=f"use one of: {', '.join(known)}")
    return cast("TRefreshMode | None", mode)


def renewal_of(table: str, tables: Mapping[str, Table]) -> Renewal | None:
    """What becomes of the chain of a table in this load; None where rows come to those that are there."""
    return cast("Renewal | None", root_table(table, tables).extras.get(RENEW))
