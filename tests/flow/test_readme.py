"""The README's example prints what the README shows, character by character where possible."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import process_env
from tests.doc_blocks import doc_blocks
from tests.flow.factories import run_example

README = Path(__file__).parents[2] / "README.md"
LINES = 10
THIS_TEST = "tests/flow/test_readme.py"


def blocks() -> tuple[str, str]:
    """Return the code of the example and the output printed below it."""
    text = README.read_text(encoding="utf-8").partition("<!-- example:")[2]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    output = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert output is not None
    return code[1], output[1]


def settled(output: str) -> list[str]:
    """Return a text without parts that differ from run to run: seconds, load ids, row ids, the folder."""
    text = re.sub(r"\d+\.\d+", "N", output)
    text = re.sub(r"[A-Za-z0-9+/]{14}\b", "ID", text)
    text = re.sub(r"at /\S*/quick_lake", "at FOLDER/quick_lake", text)
    return [re.sub(r" +", " ", line).strip() for line in text.strip().splitlines()]


def test_the_example_is_ten_lines_or_fewer() -> None:
    code, _ = blocks()

    assert len([line for line in code.splitlines() if line.strip()]) <= LINES


def test_the_example_prints_what_the_readme_shows(tmp_path: Path) -> None:
    code, output = blocks()

    done = run_example(code, tmp_path)

    assert done.returncode == 0, done.stderr
    assert settled(done.stdout) == settled(output)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "quick_lake"}, "nothing else is left behind"
    assert len(done.stderr.splitlines()) <= 1, f"Spark's chatter reached the terminal:\n{done.stderr}"


@pytest.mark.at_length
def test_the_first_commands_run(tmp_path: Path) -> None:
    pages = ("README.md", "docs/index.md")
    blocks = [block for page in pages for block in doc_blocks(page) if block.reason == THIS_TEST]
    shown = (command for block in blocks for command in block.commands)
    commands = dict.fromkeys(command[1:] for command in shown if command[0] == "penstock")

    for words in commands:
        done = subprocess.run(
            [sys.executable, "-c", "from penstock.cli import main; main()", *words],
            cwd=tmp_path,
            env={**process_env(), "PENSTOCK_HOME": str(tmp_path / "home")},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    assert len(commands) == 3
