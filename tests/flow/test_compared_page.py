"""The merge on the page compared.md updates rows by their key."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.flow.factories import run_example

PAGE = Path(__file__).parents[2] / "docs" / "compared.md"


@pytest.mark.at_length
def test_the_merge_of_the_page_updates_and_adds_rows(tmp_path: Path) -> None:
    (program,) = re.findall(
        r'^```python title="merge.py"\n(.*?)^```',
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for day, statuses in ((4, {1: "new", 2: "new"}), (5, {2: "sent", 3: "new"})):
        rows = [
            {"id": number, "status": status, "updated_at": f"2026-05-{day:02}T08:00:00Z"}
            for number, status in statuses.items()
        ]
        (tmp_path / "orders.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))

        done = run_example(program, tmp_path)

        assert done.returncode == 0, done.stderr
    table = DeltaTable(tmp_path / "merged_lake" / "merged" / "orders").to_pyarrow_table()
    assert sorted((row["id"], row["status"]) for row in table.to_pylist()) == [
        (1, "new"),
        (2, "sent"),
        (3, "new"),
    ]
