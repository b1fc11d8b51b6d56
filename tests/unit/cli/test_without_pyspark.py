"""Commands work where only the extra `cli` is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys

class WithoutExtras:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "deltalake"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, WithoutExtras())
from penstock.cli import main
main()
"""


@pytest.mark.parametrize(
    ("words", "exit_code", "output"),
    [
        (["--version"], 0, "penstock "),
        (["packages", "."], 0, "There are no packages."),
        (["load", "data.csv", "lake"], 1, "penstock[spark]"),
        (["conns"], 1, "penstock[spark]"),
    ],
)
def test_commands_work_or_name_the_missing_extra(words: list[str], exit_code: int, output: str) -> None:
    command = [sys.executable, "-c", PROGRAM, *words]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == exit_code, done.stderr
    assert output in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
