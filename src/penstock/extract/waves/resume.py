"""Packages that a run left while it extracted: those whose finished waves this run can go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extract.waves.ledger import has_waves
from penstock.extract.waves.split import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces.source import Flow
    from penstock.package import Package


def to_continue(flows: Sequence[Flow], left: Sequence[Package], *, ships: bool) -> list[Package | None]:
    """For each flow the newest package that has waves of one of its resources, or None."""
    free = sorted(left, key=lambda package: package.load_id)
    return [_taken(flow, free, ships=ships) for flow in flows]


def _taken(flow: Flow, free: list[Package], *, ships: bool) -> Package | None:
    identities = [work.identity for work in split(flow, ships=ships).there] if free else []
    for package in reversed(free):
        if any(has_waves(package.store, identity) for identity in identities):
            free.remove(package)
            return package
    return None
