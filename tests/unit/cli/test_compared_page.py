"""The page compared.md: its table counts the lines of its programs, and they print what it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.unit.cli.factories import invoke

PAGE = (Path(__file__).parents[3] / "docs" / "compared.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r'^```python title="(\w+\.py)"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL))


def table_cell(row: str) -> str:
    """Return the cell of penstock, which is the first, in a row of the table."""
    (line,) = (line for line in PAGE.splitlines() if line.startswith(f"| {row}"))
    return line.split(" | ")[1]


def write_orders(day: int, *quantities: object) -> None:
    rows = [
        {"id": number, "status": "new", "quantity": quantity, "updated_at": f"2026-05-{day:02}T08:00:00Z"}
        for number, quantity in enumerate(quantities)
    ]
    Path("orders.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def settled(output: str) -> str:
    """Return a text without parts that differ from run to run: times, load ids and hashes."""
    output = re.sub(r"load \S+,", "load ID,", output)
    output = re.sub(r"complete at .*", "complete at TIME", output)
    return re.sub(r"\(\S+=\)", "(HASH)", output).strip()


@pytest.mark.parametrize(
    ("program", "row"), [("rows.py", "first rows: com"), ("merge.py", "incremental merge: com")]
)
def test_the_table_counts_the_lines_of_the_programs(program: str, row: str) -> None:
    lines = [line for line in PROGRAMS[program].splitlines() if line.strip()]

    assert table_cell(row).endswith(f", {len(lines)}")


@pytest.mark.usefixtures("disk", "no_spark")
def test_the_rows_are_loaded_and_the_text_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(
        r"^```console\n\$ penstock pipeline shop why (\S+)\n(.*?)^```", PAGE, re.M | re.DOTALL
    )
    for day, quantities in ((4, [1, 2]), (5, [*range(11), "a dozen"])):
        write_orders(day, *quantities)
        exec(compile(PROGRAMS["rows.py"], "rows.py", "exec"), {"__name__": "page"})

    answer = invoke("shop", "why", shown[0])

    assert "orders  12 rows" in capsys.readouterr().out
    assert settled(answer.stdout) == settled(shown[1])
