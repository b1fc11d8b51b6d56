"""A backfill in windows is killed several times and loads every row once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.flow.backfill_program import ROWS, WINDOWS
from tests.unit.extract.extraction import rows_in

from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest

PROGRAM = Path(__file__).parent / "backfill_program.py"
KILLS = 3


def start(folder: Path, how: str, stdin: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, str(PROGRAM), str(folder), how]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("how", ["limit", pytest.param("range", marks=pytest.mark.at_length)])
def test_a_backfill_killed_three_times_loads_every_row_once(tmp_path: Path, how: str) -> None:
    chance = random.Random(how)

    for _ in range(KILLS):
        with start(tmp_path, how) as run:
            assert run.stdin is not None
            assert run.stdout is not None
            for _ in range(chance.randint(1, WINDOWS // 4)):
                run.stdout.readline()
                run.stdin.write("go on\n")
                run.stdin.flush()
            time.sleep(chance.uniform(0, 0.05))
            run.send_signal(signal.SIGKILL)
        assert run.returncode == -signal.SIGKILL
    with start(tmp_path, how, stdin=subprocess.DEVNULL) as last:
        assert last.wait() == 0

    packages = Packages.at(str(tmp_path / "windows" / "extracted")).with_status("extracted")
    rows = [
        row
        for package in packages
        for table in ExtractManifest.from_dict(package.read_extracted()).tables
        for row in rows_in(package, table)
    ]
    assert sorted(row["id"] for row in rows) == [row["id"] for row in ROWS]
    assert len(packages) >= WINDOWS
