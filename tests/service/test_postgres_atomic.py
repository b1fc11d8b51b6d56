"""Another connection never sees a part of a load, while processes are killed at random moments."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from tests.conftest import AT_LENGTH, SEED
from tests.service.postgres import URL
from tests.service.postgres_side import killed_executors
from tests.service.postgres_side.run_loads import main as load_batches
from tests.service.test_postgres_loads import drop_schemas, rows_of, schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.context import ForkServerProcess
    from pathlib import Path

_PRELOADED = [
    "penstock.pipeline.execution",
    "penstock.destinations.postgres.adapter",
    "sqlglot.dialects.postgres",
]
_BATCHES = 50 if AT_LENGTH else 6
_ROWS_OF_A_BATCH = {"orders": 100, "orders__items": 200, "customers": 50}


class Reader(threading.Thread):
    """Reads all tables in one snapshot, again and again, and collects the loads that it sees in part."""

    def __init__(self, dataset: str, rows_of_a_load: Mapping[str, int]) -> None:
        super().__init__(daemon=True)
        self._dataset, self._is_over = dataset, threading.Event()
        self._rows_of_a_load = rows_of_a_load
        self.partial: list[dict[str, Any]] = []
        self.snapshots = self.loads = 0

    def run(self) -> None:
        """Poll until the end."""
        with psycopg.connect(URL) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            while not self._is_over.is_set():
                with connection.transaction():
                    seen = self._counts(connection)
                self.snapshots += 1
                self.loads = loads = seen.pop("_dlt_loads")
                if seen != {table: rows * loads for table, rows in self._rows_of_a_load.items()}:
                    self.partial.append({**seen, "loads": loads})

    def _counts(self, connection: psycopg.Connection) -> dict[str, int]:
        counts = {}
        for table in (*self._rows_of_a_load, "_dlt_loads"):
            address = sql.Identifier(self._dataset, table)
            exists = connection.execute("SELECT to_regclass(%s)", [address.as_string(connection)]).fetchone()
            query = sql.SQL("SELECT count(*) FROM {}").format(address)
            is_there = exists is not None and exists[0] is not None
            counts[table] = connection.execute(query).fetchall()[0][0] if is_there else 0
        return counts

    def stop(self) -> None:
        """Stop polling."""
        self._is_over.set()
        self.join()


@pytest.fixture
def dataset() -> Iterator[str]:
    """The name of a new dataset, dropped afterwards."""
    name = f"atomic_{os.getpid()}"
    yield name
    drop_schemas(name)


def start(dataset: str, folder: Path, batches: int = _BATCHES) -> ForkServerProcess:
    """Start a process that loads batches; what it imports is imported once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=load_batches, args=(URL, dataset, str(folder), batches))
    process.start()
    return process


def test_no_part_of_a_load_is_visible_while_processes_are_killed(
    dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = random.Random(SEED)
    start(dataset, tmp_path, batches=1).join()
    began = time.monotonic()
    start(dataset, tmp_path, batches=2).join()
    # A load and two runs without one take this long on this machine, after all imports.
    seconds = time.monotonic() - began
    reader = Reader(dataset, _ROWS_OF_A_BATCH)
    reader.start()
    kills = 0

    while reader.is_alive() and reader.loads < _BATCHES:
        process = start(dataset, tmp_path)
        process.join(moments.uniform(0, seconds))
        kills += process.is_alive()
        process.kill()
        process.join()
    last = start(dataset, tmp_path)
    last.join()
    time.sleep(0.1)
    reader.stop()

    with capsys.disabled():
        figures = (
            f"{_BATCHES} loads, {kills} kills, {reader.snapshots} snapshots, {len(reader.partial)} partial"
        )
        print(f"\n{figures}")  # noqa: T201 - the figures
    batches = [(batch,) for batch in range(1, _BATCHES + 1)]
    query = "SELECT DISTINCT batch FROM {} ORDER BY 1"
    assert last.exitcode == 0
    assert reader.partial == []
    assert reader.snapshots > _BATCHES
    for table, rows in _ROWS_OF_A_BATCH.items():
        assert rows_of(query.format(table), dataset=dataset) == batches
        assert rows_of(f"SELECT count(*) FROM {table}", dataset=dataset) == [(_BATCHES * rows,)]
    assert schemas(dataset) == [dataset]


@pytest.mark.at_length
def test_no_part_of_a_load_is_visible_while_executors_are_killed(
    dataset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {"events": killed_executors.ROWS, "events__items": 2 * killed_executors.ROWS}
    command = [
        sys.executable,
        killed_executors.__file__,
        URL,
        dataset,
        str(tmp_path),
        str(_BATCHES),
        str(SEED),
    ]
    reader = Reader(dataset, rows)
    reader.start()

    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    reader.stop()

    assert completed.returncode == 0, completed.stderr[-3000:]
    result = json.loads(completed.stdout.splitlines()[-1])
    with capsys.disabled():
        figures = f"{_BATCHES} loads, {result['kills']} executors killed, {reader.snapshots} snapshots"
        print(f"\n{figures}, {len(reader.partial)} partial; begun again after {result['errors']}")  # noqa: T201 - the figures
    assert result["kills"] > 0
    assert reader.partial == []
    batches = [(batch, rows["events"]) for batch in range(1, _BATCHES + 1)]
    query = "SELECT batch, count(DISTINCT number) FROM events GROUP BY 1 ORDER BY 1"
    assert rows_of(query, dataset=dataset) == batches
    for table, count in rows.items():
        assert rows_of(f"SELECT count(*) FROM {table}", dataset=dataset) == [(_BATCHES * count,)]
    assert schemas(dataset) == [dataset]
