from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.command_documents import read_documents

import penstock

COMMAND = [sys.executable, "-c", "from penstock.cli import main; main()"]


def run_command(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `penstock run` in a new process: the import hook is global."""
    (folder / "program.py").write_text(program)
    command = [*COMMAND, "run", "program.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


def test_a_program_runs_as_main_with_its_arguments_and_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("VALUE = 7\n")

    result = run_command(
        tmp_path, "import sys, beside\nprint(__name__, sys.argv[1:], beside.VALUE)\n", "--size", "3"
    )

    assert (result.stdout, result.returncode) == ("__main__ ['--size', '3'] 7\n", 0), result.stderr


def test_a_program_that_imports_dlt_runs_on_penstock(tmp_path: Path) -> None:
    program = "import dlt\nprint(dlt.pipeline.__module__)\n"

    result = run_command(tmp_path, program, "--as-dlt")

    assert result.stdout == "penstock.pipeline.factory\n", result.stderr


def test_an_error_is_printed_with_the_frames_of_the_program_only(tmp_path: Path) -> None:
    result = run_command(tmp_path, "def load():\n    return 1 / 0\n\nload()\n")

    assert result.returncode == 1
    assert "ZeroDivisionError" in result.stderr
    assert "program.py" in result.stderr
    assert "runpy" not in result.stderr
    assert "cli" not in result.stderr


def test_the_exit_code_of_a_program_is_that_of_the_command(tmp_path: Path) -> None:
    assert run_command(tmp_path, "raise SystemExit(3)\n").returncode == 3


MODULE = """
import penstock

@penstock.source
def shop():
    yield penstock.resource([{"id": 1}, {"id": 2}], name="orders")

@penstock.resource
def people():
    yield {"name": "Ada"}

def broken():
    raise ValueError("no such key")
"""


@pytest.mark.parametrize(("name", "rows"), [("shop", {"orders": 2}), ("people", {"people": 1})])
def test_a_source_of_a_module_is_loaded(disk: Path, name: str, rows: dict[str, int]) -> None:
    Path("beside.py").write_text(MODULE, encoding="utf-8")
    words = ["run", f"beside:{name}", "--destination", "./lake", "--dataset", "raw"]

    result = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=300)

    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"Pipeline '{name}' loaded 1 package")
    assert penstock.attach(name, pipelines_dir=disk).dataset().row_counts() == rows


def test_the_result_of_a_source_is_printed_as_json(tmp_path: Path, disk: Path) -> None:
    del disk
    (tmp_path / "beside.py").write_text(MODULE + "print('imported')\n", encoding="utf-8")
    words = ["run", "beside:shop", "--destination", "./lake", "--json"]

    result = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, timeout=300)

    (document,) = read_documents("run", result.stdout)
    assert (document["pipeline_name"], document["rows"]) == ("shop", {"orders": 2})
    assert not document["has_failed_jobs"]
    assert result.stderr.startswith("imported\n")


@pytest.mark.parametrize("end", ["", "raise SystemExit(0)"])
def test_the_last_load_of_a_program_is_printed_as_json(tmp_path: Path, disk: Path, end: str) -> None:
    del disk
    program = f"""
import penstock
for name in ("crm", "shop"):
    lake = penstock.destinations.delta(bucket_url="lake")
    print(penstock.pipeline(name, destination=lake).run([{{"id": 1}}], table_name="tokens"))
{end}
"""

    result = run_command(tmp_path, program, "--json")

    (document,) = read_documents("run", result.stdout)
    assert (document["pipeline_name"], document["rows"]) == ("shop", {"tokens": 1})
    assert "Pipeline 'crm' loaded 1 package" in result.stderr


@pytest.mark.parametrize(("program", "code"), [("print(1)", 0), ("1 / 0", 1), ("raise SystemExit(3)", 3)])
def test_a_program_without_a_load_prints_no_json(tmp_path: Path, program: str, code: int) -> None:
    result = run_command(tmp_path, program, "--json")

    assert (result.stdout, result.returncode) == ("", code)


def test_an_error_of_a_source_is_printed_with_its_frames_only(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text(MODULE, encoding="utf-8")
    words = ["run", "beside:broken", "--destination", "./lake"]

    result = subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )

    assert result.returncode == 1
    assert "ValueError: no such key" in result.stderr
    assert "cli" not in result.stderr


@pytest.mark.usefixtures("disk")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nothing.py",), "name a Python file, or a source as MODULE:SOURCE"),
        (("besid:shop",), "did you mean 'beside'?"),
        (("beside:shp",), "did you mean 'shop'? Known: shop, people, broken"),
        (("beside:shop", "--destination", "icberg:lake"), "did you mean 'iceberg'?"),
        (("beside.py", "--dataset", "raw"), "put -- before the options of a program"),
    ],
)
def test_an_error_of_the_command_names_the_remedy(words: tuple[str, ...], message: str) -> None:
    Path("beside.py").write_text(MODULE, encoding="utf-8")

    result = subprocess.run(
        [*COMMAND, "run", *words], capture_output=True, text=True, check=False, timeout=120
    )

    assert result.returncode == 1
    assert message in result.stderr
