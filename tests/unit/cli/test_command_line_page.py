"""The commands of docs/command-line.md that need a program or a failed load, in their own projects."""

from __future__ import annotations

import json
import re
from functools import reduce
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.doc_blocks import DocBlock, doc_blocks
from tests.doc_runner import PageRun
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.errors import PipelineStepFailed

PAGE = "docs/command-line.md"
PROGRAM = """
import penstock

rows = [{"id": number, "items": [{"sku": "A7"}] * count} for number, count in enumerate((2, 2, 1))]
penstock.pipeline("shop", destination="duckdb").run(rows, table_name="orders")
"""

pytestmark = pytest.mark.usefixtures("no_spark")


def block_with(text: str) -> DocBlock:
    (block,) = (block for block in doc_blocks(PAGE) if text in block.text)
    return block


def value_at(command: str, path: str) -> Any:
    """Return a value of the object that a command prints."""
    document = json.loads(CliRunner().invoke(app, command.split()[1:]).stdout)
    return reduce(dict.__getitem__, path.strip(".").split("."), document)


def fail_load() -> None:
    """Fail a load of the pipeline `shop`: another program has changed the type of a column."""
    pipeline = penstock.pipeline("shop", destination="duckdb")
    pipeline.run([{"id": 1, "price": 9.5}], table_name="orders")
    with duckdb.connect("shop.duckdb") as database:
        database.execute("ALTER TABLE shop.shop.orders ALTER COLUMN price TYPE DATE USING NULL")
    with pytest.raises(PipelineStepFailed):
        pipeline.run([{"id": 2, "price": 7.5}], table_name="orders")


def test_programs_read_the_output_of_commands(disk: Path) -> None:
    Path("shop.py").write_text(PROGRAM, encoding="utf-8")
    run, info = re.findall(
        r"^\$ (penstock .*) \| jq (?:-r )?(\S+)\n(.*)$", block_with("| jq").text, re.MULTILINE
    )

    rows = value_at(*run[:2])
    fail_load()
    error_code = value_at(*info[:2])

    assert (rows, error_code) == (json.loads(run[2]), info[2])
    assert disk.exists()


def test_a_started_load_is_shown_before_it_is_dropped(disk: Path) -> None:
    fail_load()

    PageRun(PAGE, disk).run_block(block_with("drop-pending"))
