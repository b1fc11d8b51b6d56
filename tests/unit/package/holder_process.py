"""A process that holds leases until it is killed: `... <alive> <root> <root> ...`."""

from __future__ import annotations

import json
import os
import sys

from tests.unit.package.package_model import manifest_of

from penstock.errors import LeaseLost
from penstock.package import Packages
from penstock.package.lease import Lease, LeaseTimes, acquire_lease

S3_OPTIONS = "PENSTOCK_TEST_HOLDER_OPTIONS"


def main(alive: str, *roots: str) -> None:
    """Report when the leases are held; then report their state for every input line."""
    options = json.loads(os.environ.get(S3_OPTIONS, "{}"))
    times = LeaseTimes(beat=float(alive) / 5, alive=float(alive))
    held = []
    for root in roots:
        packages = Packages.at(root, **options)
        held.append((packages, acquire_lease(packages.store, pipeline="shop", times=times)))
    print(json.dumps([lease.epoch for _, lease in held]), flush=True)  # noqa: T201
    for _ in sys.stdin:
        reports = [{"is_held": is_held(lease), "sealed": seal(packages)} for packages, lease in held]
        print(json.dumps(reports), flush=True)  # noqa: T201


def is_held(lease: Lease) -> bool:
    try:
        lease.check()
    except LeaseLost:
        return False
    return True


def seal(packages: Packages) -> bool:
    return packages.seal(manifest_of("1.0", 1))


if __name__ == "__main__":
    main(*sys.argv[1:])
