from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def run_program(folder: Path, program: str) -> str:
    """Return the output of a program in a new process: import hooks are global."""
    path = folder / "program.py"
    path.write_text(program)
    result = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=False, cwd=folder, timeout=120
    )
    return result.stdout + result.stderr


def test_names_and_submodules_of_dlt_are_those_of_penstock(tmp_path: Path) -> None:
    output = run_program(
        tmp_path,
        """
import penstock
penstock.as_dlt()
penstock.as_dlt()
import dlt
import dlt.pipeline
from dlt import destinations, sources
from dlt.common.storages.load_package import PackageStorage
from dlt.pipeline.pipeline import Pipeline
from dlt.sources import *
import penstock.common.storages.load_package
import penstock.pipeline.pipeline
assert dlt.pipeline is penstock.pipeline, dlt.pipeline
assert callable(penstock.pipeline)
assert Pipeline is penstock.Pipeline
assert PackageStorage is penstock.common.storages.load_package.PackageStorage
assert destinations.delta is penstock.destinations.delta
assert set(dir(dlt)) == set(dir(penstock))
assert dlt.__name__ == "dlt"
assert penstock.__spec__.name == "penstock"
print("done")
""",
    )

    assert output == "done\n"


def test_a_change_of_an_attribute_reaches_penstock(tmp_path: Path) -> None:
    output = run_program(
        tmp_path,
        """
import penstock
penstock.as_dlt()
import dlt
dlt.marker = 7
assert penstock.marker == 7
del dlt.marker
print(hasattr(penstock, "marker"))
""",
    )

    assert output == "False\n"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("import dlt.no_such_module", "No module named 'dlt.no_such_module'"),
        ("from dlt import no_such_name", "cannot import name 'no_such_name' from 'dlt'"),
        ("import dlt; dlt.no_such_name", "module 'penstock' has no attribute 'no_such_name'"),
    ],
)
def test_a_name_that_penstock_lacks_is_an_import_error(statement: str, message: str, tmp_path: Path) -> None:
    assert message in run_program(tmp_path, f"import penstock\npenstock.as_dlt()\n{statement}\n")


def test_an_installed_dlt_is_not_imported(tmp_path: Path) -> None:
    (tmp_path / "dlt").mkdir()
    (tmp_path / "dlt" / "__init__.py").write_text("raise SystemExit('the installed package')")
    (tmp_path / "dlt" / "only_installed.py").write_text("")

    output = run_program(
        tmp_path, "import penstock\npenstock.as_dlt()\nimport dlt\nimport dlt.only_installed\n"
    )

    assert "No module named 'dlt.only_installed'" in output
    assert "installed package" not in output


def test_an_imported_dlt_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "dlt").mkdir()
    (tmp_path / "dlt" / "__init__.py").write_text("")

    output = run_program(tmp_path, "import dlt\nimport penstock\npenstock.as_dlt()\n")

    assert "dlt is already imported" in output
    assert "[dlt-already-imported]" in output or "dlt-already-imported" in output
    assert "__init__.py" in output
