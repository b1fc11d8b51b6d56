"""Extracts what a run was given: a package for each flow, all of them marked or none."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError, in_stage
from penstock.extract.plan import Workload
from penstock.extract.run import extract
from penstock.package import create_load_id, package_context
from penstock.package.typed import to_typed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from penstock.config import Settings
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
) -> list[Package]:
    """The packages of flows that brought rows or changed the state; none counts if one flow fails."""
    made: list[tuple[Package, Extracted]] = []
    # What one flow remembers is there for the next.
    state: dict[str, Any] = deepcopy(known(None).state)
    for flow in flows:
        package = packages.package(create_load_id())
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
            )
        if done.info.rows or done.extracted.state != to_typed(before.state.get("sources", {})):
            made.append((package, done.extracted))
        else:
            package.delete()
    for package, extracted in made:
        package.mark_extracted(extracted.to_dict())
    return [package for package, _ in made]


def workload_of(settings: Settings) -> Workload:
    """How much is extracted at the same time: the section `extract` of the settings."""
    said = {name: settings.get("extract", key=name) for name in ("workers", "max_parallel_items")}
    mode = settings.get("extract", key="next_item_mode")
    if mode not in {None, "round_robin", "fifo"}:
        raise UsageError(f"{mode!r} is not a next_item_mode", hint="use round_robin or fifo")
    numbers = {name: int(value) for name, value in said.items() if value is not None}
    return Workload(**numbers, next_item_mode=mode or "round_robin")
