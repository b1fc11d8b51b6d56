"""Two machines that run the same pipeline into one dataset at the same time load each row once."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psycopg
from tests.service.postgres import URL
from tests.service.test_postgres_loads import dataset, rows_of, schemas

__all__ = ["dataset"]

_PROGRAM = Path(__file__).parent / "postgres_side" / "run_loads.py"
_WAITERS = """
    SELECT count(*) FROM pg_locks waiting JOIN pg_locks held USING (locktype, database, classid, objid)
    WHERE locktype = 'advisory' AND NOT waiting.granted AND held.pid = pg_backend_pid()
"""


def start(dataset: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(_PROGRAM), URL, dataset, str(folder), "1", *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, error = process.communicate(timeout=600)
    return process.returncode, error


def waiting_loads(connection: psycopg.Connection) -> int:
    return int(connection.execute(_WAITERS).fetchall()[0][0])


def test_of_two_machines_that_load_at_the_same_time_one_is_refused(dataset: str, tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "other"]
    with psycopg.connect(URL, autocommit=True) as connection:
        key = f"penstock/{dataset}/{dataset}"
        connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [key])
        processes = [start(dataset, folder) for folder in folders]
        while waiting_loads(connection) < len(processes):
            assert all(process.poll() is None for process in processes)
            time.sleep(0.05)
    results = [finish(process) for process in processes]

    (refused,) = [number for number, (code, _) in enumerate(results) if code]
    assert "was committed first, and both continue the same state" in results[refused][1]
    again = finish(start(dataset, folders[refused], "drop"))

    assert again == (0, "")
    assert rows_of("SELECT count(*) FROM orders", dataset=dataset) == [(100,)]
    assert rows_of("SELECT sequence FROM _dlt_loads", dataset=dataset) == [(1,)]
    assert schemas(dataset) == [dataset]
