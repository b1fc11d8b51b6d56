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
    "hash": r"[\w/+]{43}=",
}
_ANY_MEASURED: Final = re.compile("|".join(f"({pattern})" for pattern in _MEASURED.values()))
_LOAD_ID: Final = re.compile(_MEASURED["load id"])
_IS_TERMINAL: Final = "typer.testing._NamedTextIOWrapper.isatty"
_PROMPT: Final = "[y/N]:"
_LEFT_OUT: Final = re.compile(r"^ *\.\.\.\n", re.MULTILINE)
"""The line of a page for lines of the output that it leaves out."""
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
                self.run_block(block)
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

    def run_block(self, block: DocBlock) -> None:
        """Run a block, and compare the outputs in it."""
        stdout = io.StringIO()
        with contextlib.redirect_stdout(stdout):
            if block.setup:
                exec(compile(block.setup, f"{block}, setup", "exec", dont_inherit=True), self._names)
            if block.title:
                self._write_file(block)
            if block.language == "console":
                self._run_console(block)
            elif block.language in SHELLS:
                for command in block.commands:
                    stdout.write(self._run_command(block, command))
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

    def _run_console(self, block: DocBlock) -> None:
        """Run the commands of a terminal, and compare the outputs that it shows.

        The id of a load in a command stands for the last one in the outputs before it.
        """
        outputs = re.split(r"^\$ .*\n", block.text, flags=re.MULTILINE)[1:]
        load_id = ""
        for command, shown in zip(block.commands, outputs, strict=True):
            words = tuple(_LOAD_ID.sub(load_id, word) for word in command)
            output = self._shown(self._run_command(block, words, in_terminal=True))
            load_id = next(reversed(_LOAD_ID.findall(output)), load_id)
            if shown:
                is_prompt = shown.rstrip().endswith(_PROMPT)
                compared = output.partition(_PROMPT)[0] + f"{_PROMPT}\n" if is_prompt else output
                assert is_same_output(shown=shown, output=compared), f"{block}: {output}"

    def _run_command(self, block: DocBlock, command: tuple[str, ...], *, in_terminal: bool = False) -> str:
        """Run a command, and return its output; in a terminal also that of errors and questions."""
        program, *words = command
        is_last = words == [*block.commands[-1][1:]]
        exit_code = block.exit_code if is_last else 0
        if program == "pip":
            return ""
        if program == "penstock":
            terminal = patch(_IS_TERMINAL, new=lambda stream: stream.name == "<stdin>", create=True)
            with terminal if in_terminal else contextlib.nullcontext():
                result = CliRunner().invoke(app, words, env={"COLUMNS": str(WIDTH)}, input=block.answers)
            assert result.exit_code == exit_code, f"{block}: {result.output}{result.exception!r}"
            return result.output if in_terminal else result.stdout
        if exit_code < 0:
            done = subprocess.run(
                [sys.executable, *words],
                stdout=subprocess.PIPE,
                text=True,
                check=False,
                env={**os.environ, "JAVA_HOME": str(self._folder / "no Java")},
            )
            assert done.returncode == exit_code, str(block)
            return done.stdout
        assert (program, len(words), exit_code) == ("python", 1, 0), f"{block}: mark the block"
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            self._run_file(words[0])
        return stdout.getvalue()

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
    """Compare outputs, except for ids, sizes, times of this run, the width of columns, and lines left out."""
    before, *after = _LEFT_OUT.split(shown)
    if after:
        lines = output.splitlines(keepends=True)
        ends = "".join(lines[: before.count("\n")]), "".join(lines[-after[0].count("\n") :])
        return all(map(_is_same_text, (before, after[0]), ends))
    return _is_same_text(shown, output)


def _is_same_text(shown: str, output: str) -> bool:
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
