"""Configurations of REST sources run by dlt against a local server."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import bridge  # type: ignore[import-not-found]  # noqa: E402 - found by the line above
from dlt.sources.rest_api import rest_api_source  # noqa: E402
from tests.oracle.rest_cases import cases  # noqa: E402
from tests.oracle.rest_runner import play  # noqa: E402


def rest(question: dict[str, Any]) -> dict[str, Any]:
    result = {}
    for name in question["names"]:
        with tempfile.TemporaryDirectory() as folder:
            result[name] = play(name, rest_api_source, bridge.ExtractionRecorder(folder), cases)
    return result


if __name__ == "__main__":
    sys.stdout.write(json.dumps(rest(json.load(sys.stdin))))
