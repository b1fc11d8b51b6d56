"""Packages that a run left while it extracted: those whose finished waves this run can go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extract.waves.checkpoints import has_waves
from penstock.extract.waves.split import split_flow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.interfaces.source import Flow
    from penstock.package import Package


def resumable_packages(
    flows: Sequence[Flow], packages: Sequence[Package], *, on_executors: bool
) -> list[Package | None]:
    """For each flow the newest package that has waves of one of its resources, or None."""
    free = sorted(packages, key=lambda package: package.load_id)
    return [_take_package(flow, free, on_executors=on_executors) for flow in flows]


def _take_package(flow: Flow, available: list[Package], *, on_executors: bool) -> Package | None:
    identities = (
        [work.identity for work in split_flow(flow, on_executors=on_executors).wave_resources]
        if available
        else []
    )
    for package in reversed(available):
        if any(has_waves(package.store, identity) for identity in identities):
            available.remove(package)
            return package
    return None
