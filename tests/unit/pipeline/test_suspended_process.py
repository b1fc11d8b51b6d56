"""A process that is suspended past its lease and continues after another one has extracted the rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.pipeline.suspended_process import extract, pipeline_at

from penstock.errors import PipelineLocked

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[3]


def extract_once_the_lease_is_free(folder: Path) -> None:
    while True:
        try:
            return extract(folder)
        except PipelineLocked:
            time.sleep(0.1)


def test_rows_of_a_suspended_process_are_ignored_when_another_one_has_extracted_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__LEASE_BEAT", "0.2")
    # Long enough that the lease of a process on a busy machine expires only while it is suspended.
    monkeypatch.setenv("RUN__LEASE_ALIVE", "5")
    command = [sys.executable, "-m", "tests.unit.pipeline.suspended_process", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, status = os.waitpid(process.pid, os.WUNTRACED)
            assert os.WIFSTOPPED(status)
            extract_once_the_lease_is_free(tmp_path)
            (extracted,) = pipeline_at(tmp_path).list_extracted_load_packages()
        finally:
            process.send_signal(signal.SIGCONT)
        _, output = process.communicate()

    assert process.returncode != 0
    assert "lost its lease" in output
    assert pipeline_at(tmp_path).list_extracted_load_packages() == [extracted]
