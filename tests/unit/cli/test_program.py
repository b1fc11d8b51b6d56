from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def run_command(folder: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `penstock run` in a new process: the import hook is global."""
    (folder / "program.py").write_text(program)
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "run", "program.py", *arguments]
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
