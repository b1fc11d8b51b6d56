"""A cursor of dlt is continued: the next run reads the row with the last value, and then new rows only."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.flow.factories import run_example
from tests.oracle.oracle_client import PYTHON, needs_dlt

PROGRAM = Path(__file__).parent / "dlt_side" / "orders_with_cursor.py"
RUN = f"""
import sys
from penstock.cli import main
sys.argv = ["penstock", "run", {str(PROGRAM)!r}, "--as-dlt"]
main()
"""
DESTINATIONS = {"delta": "delta", "parquet": "filesystem"}
"""The destinations of penstock for tables that dlt writes to its `filesystem`, by format."""


class Shop:
    """Rows in a file, and the runs of both tools over it; each run returns its requested and loaded rows."""

    def __init__(self, folder: Path, file_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._format, self._environment = folder, file_format, monkeypatch
        for destination in ("DELTA", "FILESYSTEM"):
            monkeypatch.setenv(f"DESTINATION__{destination}__BUCKET_URL", f"file://{folder}/lake")
        monkeypatch.setenv("SHOP_FORMAT", file_format)
        monkeypatch.setenv("RUNTIME__DLTHUB_TELEMETRY", "false")
        monkeypatch.setenv("RUNTIME__LOG_LEVEL", "CRITICAL")

    def write_rows(self, count: int) -> None:
        rows = [
            {"id": number, "updated_at": f"2026-05-04T{number:02}:00:00Z", "items": [{"sku": "tea"}]}
            for number in range(1, count + 1)
        ]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (self._folder / "orders.jsonl").write_text(text, encoding="utf-8")

    def run_dlt(self, pipelines: str) -> dict[str, Any]:
        self._set_target("filesystem", pipelines)
        command = [str(PYTHON), str(PROGRAM)]
        return _result(subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._folder))

    def run_penstock(self) -> dict[str, Any]:
        self._set_target(DESTINATIONS[self._format], "penstock")
        return _result(run_example(RUN, self._folder))

    def _set_target(self, destination: str, pipelines: str) -> None:
        self._environment.setenv("SHOP_DESTINATION", destination)
        self._environment.setenv("SHOP_PIPELINES", str(self._folder / pipelines))


def _result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@needs_dlt
@pytest.mark.at_length
@pytest.mark.parametrize("file_format", DESTINATIONS)
def test_a_cursor_of_dlt_is_continued_and_dlt_continues_it_again(
    file_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(tmp_path, file_format, monkeypatch)
    shop.write_rows(5)
    by_dlt = shop.run_dlt("dlt")

    with monkeypatch.context() as environment:
        if file_format == "delta":
            environment.setenv("JAVA_HOME", "/nonexistent")  # a run without new rows starts no Spark
        again = shop.run_penstock()
    shop.write_rows(8)
    new = shop.run_penstock()
    shop.write_rows(9)
    by_dlt_again = shop.run_dlt("dlt elsewhere")

    assert by_dlt == {"requested": [1, 2, 3, 4, 5], "loaded": 5}
    assert again == {"requested": [5], "loaded": 0}, "the row with the last value is known"
    assert new == {"requested": [5, 6, 7, 8], "loaded": 3}
    assert by_dlt_again == {"requested": [8, 9], "loaded": 1}
