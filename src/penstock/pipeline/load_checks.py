"""Checks of the loads of one call: their conditions and gates, earlier row counts, and failures that stop."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.errors import ChecksFailed
from penstock.normalize.row_conditions import parse_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from penstock.interfaces import Flow
    from penstock.package import Package, Packages
    from penstock.package.checks import CheckResult
    from penstock.package.lease import Lease


def require_conditions(flows: Iterable[Flow]) -> None:
    """Raise for a condition that cannot be read, before anything is extracted."""
    for flow in flows:
        for expectation in flow.expectations:
            parse_condition(expectation.expression)


def raise_if_stopped(results: Iterable[CheckResult]) -> None:
    """Raise `ChecksFailed` if a check of a package failed that stops its load."""
    failures = [str(result) for result in results if result.prevents_load]
    if failures:
        raise ChecksFailed(failures=failures, is_pending=True)


def earlier_row_counts(packages: Packages, table: str, loads: int) -> list[int]:
    """Return the rows of a table in the last complete loads, newest first, of retained packages."""
    counts: list[int] = []
    for package in reversed(packages.with_status("loaded")):
        if len(counts) == loads:
            break
        rows = _row_count(package.read_normalized(), table)
        if rows is not None:
            counts.append(rows)
    return counts


def _row_count(document: Mapping[str, Any], table: str) -> int | None:
    """Return the rows that a package had for a table; None if they were not counted."""
    checked = [check for check in document.get("checks", ()) if check["table"] == table]
    rows = [check["total_rows"] for check in checked if check["kind"] == "row_count"]
    rows += [job["rows"] for job in document.get("jobs", ()) if job["job_id"].partition(".")[0] == table]
    return next((count for count in rows if count is not None), None)


@contextmanager
def discard_failed(packages: Packages, package: Package, lease: Lease) -> Iterator[None]:
    """Delete a package that was extracted in this call if a failed check stops its load in a block.

    So are the packages that this call extracted after it, since their state includes its state. The next run
    reads the rows again, from the state of the last complete load.
    """
    try:
        yield
    except ChecksFailed as error:
        lease.confirm()
        # The newest first: none may remain whose state includes that of a deleted one.
        packages.drop_unsealed(package.load_id)
        discarded = ChecksFailed(failures=error.failures, is_pending=False)
        discarded.stage, discarded.load_id = error.stage, error.load_id
        raise discarded from None
