"""Outputs of commands that are compared with files."""

from __future__ import annotations

import os
import re
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "golden"


def assert_output(name: str, output: str) -> None:
    """Compare an output with a golden file; PENSTOCK_TEST_GOLDEN=write writes the file."""
    path = _FOLDER / f"{name}.txt"
    text = re.sub(r" +$", "", output, flags=re.MULTILINE)
    if os.environ.get("PENSTOCK_TEST_GOLDEN") == "write":
        path.write_text(text, encoding="utf-8")

    assert text == path.read_text(encoding="utf-8")
