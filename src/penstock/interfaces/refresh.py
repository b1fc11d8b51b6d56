"""Refresh: tables and states that a load resets, and the hint for destinations."""

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
"""The scope of a reset: tables and state of a source, those of selected resources, or only their rows."""

Renewal = Literal["table", "rows"]
"""The replacement by the commit of a load: a table with its columns, or its rows."""

RENEW: Final = "x-renew"
"""The hint of a root table by which a destination replaces its chain; it is never stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    """The refresh of one source by a package."""

    mode: TRefreshMode
    resources: tuple[str, ...] = ()
    """The selected resources; for `drop_sources` all of the source."""

    @property
    def drops_tables(self) -> bool:
        """Whether tables are dropped, not only their rows."""
        return self.mode != "drop_data"

    def affected_tables(self, tables: Mapping[str, Table]) -> tuple[str, ...]:
        """Return the tables to reset, including nested ones. System tables are never reset."""
        return tuple(
            name for name in tables if not name.startswith(SYSTEM_PREFIX) and self._affects(name, tables)
        )

    def _affects(self, name: str, tables: Mapping[str, Table]) -> bool:
        return self.mode == "drop_sources" or root_table(name, tables).resource in self.resources

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for control files."""
        return {"mode": self.mode, "resources": list(self.resources)}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Refresh:
        """Parse the result of `to_dict`; raise TypeError for anything else."""
        mode, resources = document["mode"], document["resources"]
        if mode not in get_args(TRefreshMode) or not all(isinstance(resource, str) for resource in resources):
            raise TypeError(f"refresh {dict(document)!r:.80}")
        return Refresh(mode=mode, resources=tuple(resources))


def check_refresh(mode: str | None) -> TRefreshMode | None:
    """Raise an error for an unknown mode.

    >>> check_refresh("drop_data")
    'drop_data'
    """
    modes = get_args(TRefreshMode)
    if mode is not None and mode not in modes:
        raise UsageError(f"unknown refresh {mode!r}", hint=f"use one of: {', '.join(modes)}")
    return cast("TRefreshMode | None", mode)


def renewal_of(table: str, tables: Mapping[str, Table]) -> Renewal | None:
    """Return what this load replaces in the chain of a table; None if rows are added."""
    return cast("Renewal | None", root_table(table, tables).extras.get(RENEW))
