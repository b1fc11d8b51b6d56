"""The example of the page about SQL databases runs, against the Postgres that `make up` starts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import class_path
from tests.service.postgres import URL, execute, new_schema

PAGE = Path(__file__).parents[2] / "docs" / "sql-databases.md"
LINES = 10
PLACEHOLDER_URL = "postgresql://reader@localhost:5432/shop"


def example() -> str:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    assert PLACEHOLDER_URL in code[1]
    return code[1]


def test_the_example_is_short_and_names_nothing_of_the_tests() -> None:
    assert len([line for line in example().splitlines() if line.strip()]) <= LINES
    assert "PENSTOCK_TEST" not in PAGE.read_text(encoding="utf-8")


@pytest.mark.at_length
def test_the_example_loads_tables(tmp_path: Path) -> None:
    with new_schema() as schema:
        execute(
            f"CREATE TABLE {schema}.orders (id int PRIMARY KEY); CREATE TABLE {schema}.customers (id int)"
        )
        execute(f"INSERT INTO {schema}.orders VALUES (1), (2), (3)")
        done = subprocess.run(
            [sys.executable, "-c", example().replace(PLACEHOLDER_URL, URL)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                **os.environ,
                "SPARK__JARS": class_path("delta", "postgres"),
                "PENSTOCK_HOME": str(tmp_path / "home"),
                "SOURCES__SQL_DATABASE__SCHEMA": schema,
            },
        )

    assert done.returncode == 0, done.stderr[-3000:]
    assert "[(3,)]" in done.stdout
