"""Run the blocks of a page in one folder and one namespace, and compare the outputs that the page shows."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import runpy
import subprocess
import sys
import tokenize
import tomllib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import yaml
from tests.doc_blocks import ROOT, SHELLS, DocBlock, doc_blocks
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROJECT: Final = "/data/shop"
"""The folder of outputs on pages, for the folder in which the blocks run."""
WIDTH: Final = 100

_MEASURED: Final = {
    "load id": r"\b\d{10}\.\d{1,6}\b",
    "time": r"\b20\d\d-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(?:\+00:00)?",
    "seconds": r"\b\d+\.\d+ s\b",
    "step": r"(?<=extract )\d+\.\d|(?<=normalize )\d+\.\d|(?<=load )\d+\.\d",
    "size": r"\b\d+(?:\.\d+)? [kKM]?B\b",
    "process": r"(?<=process )\d+",
    "row id": r"(?<![\w/+])(?=[A-Za-z/+]*[\d/+A-Z])[A-Za-z0-9/+]{14}(?![\w/+])",
    "attempt": r"\b[0-9a-f]{10,}\b",
    "address": r"0x[0-9a-f]+",
}
_ANY_MEASURED: Final = re.compile("|".join(f"({pattern})" for pattern in _MEASURED.values()))
_LITERAL: Final = re.compile(r"[\[{('\"\d-]|True$|False$|None$")


class PageRun:
    """A page whose blocks run in a folder, in their order."""

    def __init__(self, page: str, folder: Path) -> None:
        self._page, self._folder = page, folder
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._output = ""
        self._outputs: list[tuple[DocBlock, str]] = []
        words = {
            word for block in doc_blocks(page) if block.language in SHELLS for word in block.text.split()
        }
        self._commanded = {block.title for block in doc_blocks(page) if block.title} & words

    def run(self, *, with_spark: bool) -> None:
        """Run and compare all blocks of the page that can run, also those for Spark if there is one."""
        runs = {"run", "run with Spark"} if with_spark else {"run"}
        shows_output = False
        for block in doc_blocks(self._page):
            if block.treatment == "output":
                if shows_output:
                    self._compare(block)
            elif block.treatment in runs:
                self._run_block(block)
                shows_output = True
            else:
                shows_output = False
                if block.title and block.treatment == "parsed":
                    self._write_file(block)
        if os.environ.get("PENSTOCK_TEST_GOLDEN") == "write":
            self._write_outputs()
        else:
            for block, output in self._outputs:
                assert block.text == output, f"{block}: PENSTOCK_TEST_GOLDEN=write writes the output"

    def _run_block(self, block: DocBlock) -> None:
        stdout = io.StringIO()
        with contextlib.redirect_stdout(stdout):
            if block.setup:
                exec(compile(block.setup, f"{block}, setup", "exec", dont_inherit=True), self._names)
            if block.title:
                self._write_file(block)
            if block.language in SHELLS:
                for command in block.commands:
                    self._run_command(block, command, stdout)
            elif block.title in self._commanded:
                pass
            elif block.title:
                self._run_file(block.title)
            else:
                self._run_python(block)
        self._output = self._shown(stdout.getvalue())

    def _write_file(self, block: DocBlock) -> None:
        path = self._folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def _run_python(self, block: DocBlock) -> None:
        """Run statement by statement: the comment behind an expression is its value."""
        source = "\n" * (block.line - 1) + block.text
        comments = dict(_comments(source))
        for statement in ast.parse(source, filename=block.page).body:
            comment = comments.get(statement.end_lineno or 0, "")
            if isinstance(statement, ast.Expr) and _LITERAL.match(comment):
                code = compile(ast.Expression(statement.value), block.page, "eval", dont_inherit=True)
                value = eval(code, self._names)
                assert value == eval(comment, self._names), f"{block.page}:{statement.lineno}: {value!r}"
            else:
                code = compile(ast.Module([statement], []), block.page, "exec", dont_inherit=True)
                exec(code, self._names)

    def _run_command(self, block: DocBlock, command: tuple[str, ...], stdout: io.StringIO) -> None:
        program, *words = command
        is_last = command == block.commands[-1]
        exit_code = block.exit_code if is_last else 0
        if program == "pip":
            return
        if program == "penstock":
            result = CliRunner().invoke(app, words, env={"COLUMNS": str(WIDTH)})
            stdout.write(result.stdout)
            assert result.exit_code == exit_code, f"{block}: {result.output}{result.exception!r}"
        elif exit_code < 0:
            done = subprocess.run(
                [sys.executable, *words],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "JAVA_HOME": str(self._folder / "no Java")},
            )
            stdout.write(done.stdout)
            assert done.returncode == exit_code, str(block)
        else:
            assert (program, len(words), exit_code) == ("python", 1, 0), f"{block}: mark the block"
            self._run_file(words[0])

    def _run_file(self, name: str) -> None:
        """Run a program as a new process would: no pipeline is active, before or after."""
        runpy.run_path(str(self._folder / name), run_name="__main__")
        _forget_modules(self._folder)
        if (pipeline := active_pipeline()) is not None:
            pipeline.deactivate()

    def _shown(self, output: str) -> str:
        """Return an output as pages show it."""
        text = output.replace(os.environ["PENSTOCK_HOME"], "~/.penstock").replace(str(self._folder), PROJECT)
        text = re.sub(r"(process \d+) of \S+ on [\w.-]+", r"\1 of ada on laptop", text)
        return re.sub(r" +$", "", text, flags=re.MULTILINE)

    def _compare(self, block: DocBlock) -> None:
        if not is_same_output(shown=block.text, output=self._output):
            self._outputs.append((block, self._output))

    def _write_outputs(self) -> None:
        """Put the outputs that differ into the page, the last one first."""
        path = ROOT / self._page
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        for block, output in reversed(self._outputs):
            start = block.line - 1
            lines[start : start + block.text.count("\n")] = output.splitlines(keepends=True)
        path.write_text("".join(lines), encoding="utf-8")


def is_same_output(*, shown: str, output: str) -> bool:
    """Compare outputs, except for ids, sizes, times of this run, and the width of columns."""
    return re.fullmatch(_output_pattern(output), _without_widths(shown)) is not None


def _output_pattern(output: str) -> str:
    text, end, pattern = _without_widths(output), 0, ""
    for match in _ANY_MEASURED.finditer(text):
        kind = list(_MEASURED)[(match.lastindex or 1) - 1]
        value = re.escape(match[0]) if kind == "time" and not _is_now(match[0]) else f"(?:{_MEASURED[kind]})"
        pattern += re.escape(text[end : match.start()]) + value
        end = match.end()
    return pattern + re.escape(text[end:])


def _without_widths(text: str) -> str:
    return "\n".join(re.sub(r" +", " ", re.sub(r"[─━]+", "─", line)).strip() for line in text.splitlines())


def _is_now(text: str) -> bool:
    time = datetime.fromisoformat(text)
    return abs((time if time.tzinfo else time.replace(tzinfo=UTC)) - datetime.now(UTC)) < timedelta(hours=1)


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.removeprefix("#").strip()


def parse_document(block: DocBlock) -> object:
    """Parse a document of settings or data; raise where it is not well-formed."""
    match block.language:
        case "toml":
            return tomllib.loads(block.text)
        case "yaml":
            return yaml.safe_load(block.text)
        case _:
            return json.loads(block.text)


@contextlib.contextmanager
def page_folder(tmp_path: Path) -> Iterator[Path]:
    """Work in a folder as users do: an empty project and an empty home of penstock."""
    folder = tmp_path / "project"
    folder.mkdir()
    with (
        patch.dict(os.environ, {"PENSTOCK_HOME": str(tmp_path / "home")}),
        patch.object(sys, "path", [str(folder), *sys.path]),
        contextlib.chdir(folder),
    ):
        yield folder
    _forget_modules(folder)


def _forget_modules(folder: Path) -> None:
    """Import the programs of a page again where the next one needs them."""
    for name in {path.stem for path in folder.glob("*.py")} & set(sys.modules):
        del sys.modules[name]
