"""The examples on the page about sources are correct."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "sources.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
NEEDS_MORE = ("# with a destination", "# with the module shop")
ALONE = [block for block in BLOCKS if not block.startswith(NEEDS_MORE)]
SHOWN = re.compile(r"^(?P<expression>\S.*?)  # (?P<value>.+)$", re.MULTILINE)


def test_the_page_has_examples() -> None:
    assert len(ALONE) >= 6
    assert sum(len(SHOWN.findall(block)) for block in ALONE) >= 4


@pytest.mark.parametrize("number", range(len(ALONE)))
def test_the_examples_run_with_the_results_on_the_page(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    space: dict[str, Any] = {"__name__": "page"}
    for block in ALONE[: number + 1]:
        exec(compile(block, str(PAGE), "exec"), space)

    for shown in SHOWN.finditer(ALONE[number]):
        assert repr(eval(shown["expression"], space)) == shown["value"]
