"""The number of requests of a small load to S3: of the first run, and of a second one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchmarks.round_trips import load
from tests.service.bucket import keys
from tests.service.fault_proxy import faulty

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

MOST_REQUESTS = 200


def test_a_load_of_six_small_tables_sends_few_requests(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Heartbeats depend on the time that a run takes.
    monkeypatch.setenv("RUN__LEASE_BEAT", "600")
    monkeypatch.setenv("RUN__LEASE_ALIVE", "1200")
    with faulty(os.environ["PENSTOCK_TEST_S3_ENDPOINT"]) as proxy:
        for run in ("first", "second"):
            proxy.done.clear()
            load(location, tmp_path, 0, keys(endpoint_url=proxy.url))

            assert proxy.done.total() <= MOST_REQUESTS, f"{run} run: {proxy.report()}"
