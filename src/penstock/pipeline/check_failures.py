"""Failed checks that stop a load: the error, and what happens to the package."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.errors import ChecksFailed
from penstock.normalize.row_conditions import parse_condition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
