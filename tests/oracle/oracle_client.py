"""Requests to dlt, in a separate process and virtual environment, and its recorded answers."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

BRIDGE = Path(__file__).parent / "bridge.py"
VECTORS = Path(__file__).parent / "vectors"
PYTHON = os.environ.get("PENSTOCK_TEST_DLT_PYTHON")

needs_dlt = pytest.mark.skipif(
    not PYTHON, reason="PENSTOCK_TEST_DLT_PYTHON does not name a Python that has dlt 1.31"
)


def ask(what: str, *, bridge: Path = BRIDGE, **question: Any) -> Any:
    """Send a request to a bridge and return the answer; its standard error is shown on failure."""
    assert PYTHON is not None
    done = subprocess.run(
        [PYTHON, "-P", str(bridge)],
        input=json.dumps({"ask": what, **question}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout)


def vector(name: str) -> Any:
    """Read a recorded answer of dlt 1.31."""
    return json.loads((VECTORS / name).read_text())
