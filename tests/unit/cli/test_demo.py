"""`penstock demo`: what it prints, and that its program does the same, without Spark."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.command_documents import read_documents
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.demo import Demo, read_tables
from penstock.errors import MissingExtra, UsageError
from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from typer.testing import Result


pytestmark = pytest.mark.usefixtures("no_spark", "disk")


def run_demo(*words: str, width: int = 80) -> Result:
    return CliRunner().invoke(app, ["demo", *words], env={"COLUMNS": str(width)})


def without_measurements(output: str, folder: Path) -> str:
    """Return an output without what differs from run to run; the lengths of columns stay."""
    text = output.replace(str(folder), "FOLDER")
    text = re.sub(r"\d{10}\.\d{4,6}", lambda match: "1".ljust(len(match[0]), "7"), text)
    text = re.sub(r"in \d+\.\d s \([^)]*\)", "in 0.1 s", text)
    return re.sub(r"\(\d+\.\d KB\)", "(N KB)", text)


@pytest.mark.parametrize("width", [80, 120])
def test_each_step_is_shown(tmp_path: Path, width: int) -> None:
    done = run_demo(width=width)

    assert done.exit_code == 0, done.exception
    text = without_measurements(done.stdout, tmp_path)
    assert_output(f"demo_{width}", text)
    assert "\x1b" not in done.stdout


def test_results_are_printed_as_json() -> None:
    (document,) = read_documents("demo", run_demo("--folder", "example", "--json").stdout)

    assert document["folder"] == "example"
    assert [load["rows"]["orders__items"] for load in document["loads"]] == [3, 1]
    assert document["loads"][1]["new_columns"] == [
        {"table": "orders", "column": "coupon"},
        {"table": "orders__items", "column": "quantity__v_text"},
    ]
    assert document["tables"]["orders__items"][-1] == {
        "sku": "mug",
        "price": 9.0,
        "quantity": None,
        "quantity__v_text": "a dozen",
    }


def test_the_printed_program_does_the_same() -> None:
    demo = Demo(folder=Path("by command"))
    demo.write_files()
    tables = [load.tables for load in demo.run_loads(demo.pipeline())][-1]
    other = Demo(folder=Path("by program"))
    other.write_files()

    runpy.run_path(str(other.program_file))

    pipeline = active_pipeline()
    assert pipeline is not None
    assert read_tables(pipeline) == tables


def test_a_folder_with_files_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "penstock_demo").mkdir()
    (tmp_path / "penstock_demo" / "mine.txt").write_text("x")

    done = run_demo()

    assert isinstance(done.exception, UsageError)
    assert "--folder" in (done.exception.hint or "")
    assert [file.name for file in (tmp_path / "penstock_demo").iterdir()] == ["mine.txt"]


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.demo.find_spec", lambda _: None)

    assert isinstance(run_demo().exception, MissingExtra)
