"""The scripts in `examples/` run: each fails if its promise does not hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.conftest import process_env
from tests.doc_blocks import doc_blocks

SCRIPTS: Final = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SIZES: Final = {
    "many_nested_rows": ("20000",),
    "one_partition_of_many": ("--days", "5", "--rows", "1000"),
}
"""Arguments that make the scripts short."""


def test_the_page_names_a_script_that_runs_here() -> None:
    ((_, name),) = (
        command
        for block in doc_blocks("docs/examples.md")
        for command in block.commands
        if command[0] == "python"
    )

    assert Path(__file__).parents[2] / name in SCRIPTS


@pytest.mark.at_length
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_each_example_keeps_its_promise(script: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(script), *SIZES.get(script.stem, ())]

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=process_env(), cwd=tmp_path
    )

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), "it says what it did"
    assert list(tmp_path.iterdir()) == [], "it works in a folder of its own"
