"""Extracts what a run was given: a package for each flow, all of them marked or none."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from penstock.errors import in_stage
from penstock.extract.run import extract
from penstock.extract.waves.resume import to_continue
from penstock.package import create_load_id, package_context

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.extract.plan import Workload
    from penstock.extract.report import ExtractInfo
    from penstock.extract.waves.elsewhere import Elsewhere
    from penstock.interfaces import Flow
    from penstock.package import Package, Packages
    from penstock.package.extracted import Extracted
    from penstock.pipeline.restore import Known
    from penstock.schema import NamingConvention, Schema


def extract_flows(
    flows: Sequence[Flow],
    packages: Packages,
    *,
    known: Callable[[str | None], Known],
    naming: Callable[[Schema], NamingConvention],
    dispositions: frozenset[str] | None,
    workload: Workload,
    elsewhere: Elsewhere | None = None,
) -> tuple[list[Package], list[ExtractInfo]]:
    """The packages of flows that brought rows or changed the state; none counts if one flow fails.

    What every flow came to is told beside them. A package that a run left while it extracted goes on where it
    has finished waves of the same resources; others of that kind are deleted.
    """
    left = packages.with_status("new")
    begun = to_continue(flows, left)
    for package in left:
        if package not in begun:
            package.delete()
    made: list[tuple[Package, Extracted]] = []
    infos: list[ExtractInfo] = []
    # What one flow remembers is there for the next.
    state: dict[str, Any] = deepcopy(known(None).state)
    for flow, old in zip(flows, begun, strict=True):
        package = old or packages.package(create_load_id())
        package.create()
        before = known(flow.name)
        with in_stage("extract", load_id=package.load_id), package_context(package):
            done = extract(
                flow,
                package,
                schema_name=before.schema.name,
                naming=naming(before.schema),
                state=state,
                dispositions=dispositions,
                workload=workload,
                elsewhere=elsewhere,
            )
        infos.append(done.info)
        if done.brings_something:
            made.append((package, done.extracted))
        else:
            package.delete()
    for package, extracted in made:
        package.mark_extracted(extracted.to_dict())
    return [package for package, _ in made], infos
