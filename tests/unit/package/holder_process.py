"""A process that holds the lease until it is told to go on, or killed: `... <root> <alive>`."""

from __future__ import annotations

import json
import os
import sys

from tests.unit.package.world import manifest_of

from penstock.errors import LeaseLost
from penstock.package import Packages
from penstock.package.holder import LeaseTimes
from penstock.package.lease import acquire

S3_OPTIONS = "PENSTOCK_TEST_HOLDER_OPTIONS"


def main(root: str, alive: str) -> None:
    """Tell when the lease is held; then, for every line that comes, how things stand."""
    packages = Packages.at(root, **json.loads(os.environ.get(S3_OPTIONS, "{}")))
    times = LeaseTimes(beat=float(alive) / 5, alive=float(alive))
    lease = acquire(packages.store, pipeline="shop", times=times)
    print(json.dumps({"epoch": lease.epoch}), flush=True)  # noqa: T201
    for _ in sys.stdin:
        try:
            lease.check()
            is_held = True
        except LeaseLost:
            is_held = False
        sealed = packages.seal(manifest_of("1.0", 1))
        print(json.dumps({"is_held": is_held, "sealed": sealed}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
