"""The contract of import-linter holds, and it is seen to fail when a wall is broken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the source and of the contract, to be broken."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(house: Path) -> subprocess.CompletedProcess[str]:
    command = [
        str(Path(sys.executable).with_name("lint-imports")),
        "--no-cache",
        "--config",
        "pyproject.toml",
    ]
    environment = {**os.environ, "PYTHONPATH": str(house / "src")}
    return subprocess.run(command, cwd=house, env=environment, capture_output=True, text=True, check=False)


def add(house: Path, module: str, line: str) -> None:
    path = house / "src" / "penstock" / module
    path.parent.mkdir(exist_ok=True)
    path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + f"\n{line}\n", "utf-8")


def test_the_house_as_it_stands_keeps_its_contract(house: Path) -> None:
    done = lint(house)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("schema/names.py", "import penstock.pipeline.state", "Floors: imports only go down"),
        ("extract/plan.py", "import penstock.sources.wrap", "Floors: imports only go down"),
        (
            "cellar/__init__.py",
            '"""A room that nobody has put on a floor."""',
            "Floors: imports only go down",
        ),
        ("load/plan.py", "import pyspark.sql", "Dry rooms: no Spark at run time"),
        ("config/places.py", "import penstock.errors, penstock", "Nobody inside imports the front door"),
    ],
)
def test_a_broken_wall_is_seen(house: Path, module: str, line: str, broken: str) -> None:
    add(house, module, line)

    done = lint(house)

    assert done.returncode != 0
    assert f"{broken} BROKEN" in done.stdout, done.stdout + done.stderr
