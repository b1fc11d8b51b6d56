"""The example of the page about REST APIs runs, against a server on this machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.flow.factories import run_example
from tests.restapi import Api

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"
LINES = 10


def example() -> str:
    text = PAGE.read_text(encoding="utf-8").partition("<!-- example:")[2]
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert code is not None
    return code[1]


def test_the_example_is_short() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= LINES


@pytest.mark.at_length
def test_the_example_loads_parents_and_children(tmp_path: Path) -> None:
    with Api(users=4, posts=12) as api:
        code = example().replace("https://api.example.com", api.url)
        done = run_example(code, tmp_path)

    assert done.returncode == 0, done.stderr[-3000:]
    assert "'posts': 40" in done.stdout
    assert "'users': 4" in done.stdout
