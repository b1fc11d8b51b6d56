"""Every code block of the README and of the pages runs, is parsed, or has the reason why it is not run."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from tests.doc_blocks import COMMANDS, ROOT, SHELLS, DocBlock, doc_blocks, doc_pages
from tests.doc_runner import PageRun, is_same_output, page_folder, parse_document
from tests.rule_assertions import assert_no_offenders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BLOCKS = [block for page in doc_pages() for block in doc_blocks(page)]
DOTTED = re.compile(r"penstock(\.\w+)+")
RUN_HERE = sorted({block.page for block in BLOCKS if block.treatment == "run"})


@pytest.mark.usefixtures("no_spark")
@pytest.mark.parametrize("page", RUN_HERE)
def test_the_blocks_of_a_page_run_without_spark(page: str, tmp_path: Path) -> None:
    with page_folder(tmp_path) as folder:
        PageRun(page, folder).run(with_spark=False)


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.treatment == "parsed"], ids=str)
def test_a_document_is_well_formed(block: DocBlock) -> None:
    assert parse_document(block)


def test_every_block_has_a_language_and_shell_blocks_have_commands_that_run() -> None:
    languages = {"python", "text", "toml", "yaml", "json", *SHELLS}

    assert_no_offenders(
        [
            *(
                f"{block}: {block.language or 'no language'}"
                for block in BLOCKS
                if block.language not in languages
            ),
            *(
                f"{block}: {' '.join(command)}"
                for block in BLOCKS
                if block.language in SHELLS and block.treatment in {"run", "run with Spark"}
                for command in block.commands
                if command[0] not in COMMANDS and command[:2] != ("pip", "install")
            ),
        ],
        "use a known language and command, or mark the block",
    )


def test_a_block_that_is_not_run_has_a_reason_or_a_test() -> None:
    assert_no_offenders(
        (
            f"{block}: {block.reason}"
            for block in BLOCKS
            if (block.treatment == "not run" and len(block.reason.split()) < 2)
            or (block.treatment == "run by a test" and not _names_page(block))
        ),
        "give a reason of two words, or a test that names the page",
    )


def test_blocks_that_are_not_run_are_python_with_names_that_exist() -> None:
    assert_no_offenders(
        (
            f"{block}: {name}"
            for block in BLOCKS
            if block.language == "python" and block.treatment == "not run"
            for name in _unknown_names(ast.parse(block.text))
        ),
        "use names that penstock has",
    )


@pytest.mark.parametrize(
    ("shown", "output", "is_same"),
    [
        ("Package 1794714025.795081 is loaded", "Package 1894714999.1 is loaded", True),
        ("orders  2 rows", "orders  3 rows", False),
        (
            "in 2.0 s (extract 0.0, normalize 1.6, load 0.4)",
            "in 3.1 s (extract 0.1, normalize 1.0, load 2.0)",
            True,
        ),
        ("A7   KT2OYlOmB5pcMA", "A7  e/m6+clkBDJU7w", True),
        ("at 2026-05-04 09:00:00+00:00", "at 2026-05-04 09:00:01+00:00", False),
        ("a\n...\nd\n", "a\nb\nc\nd\n", True),
        ("a\n...\nd\n", "a\nb\nc\ne\n", False),
        ("│ a   │\n└─────┘", "│ a │\n└───┘", True),
    ],
)
def test_outputs_are_compared_without_measurements(shown: str, output: str, is_same: bool) -> None:
    assert is_same_output(shown=shown, output=output) is is_same


def test_a_name_that_penstock_does_not_have_is_recognized() -> None:
    tree = ast.parse(
        "import penstock\nfrom penstock.sources import files2\npenstock.sources.windows\npenstock.run2()"
    )

    assert sorted(_unknown_names(tree)) == ["penstock.run2", "penstock.sources.files2"]


def _names_page(block: DocBlock) -> bool:
    path = ROOT / block.reason
    return path.exists() and block.page.rpartition("/")[2] in path.read_text(encoding="utf-8")


def _unknown_names(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that begin with `penstock` and do not exist."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module), names=aliases) if module.partition(".")[0] == "penstock":
                names = [f"{module}.{alias.name}" for alias in aliases]
            case ast.Attribute():
                names = [ast.unparse(node)]
            case _:
                continue
        yield from (name for name in names if DOTTED.fullmatch(name) and not _exists(name))


def _exists(name: str) -> bool:
    value: Any = import_module("penstock")
    path = "penstock"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            value = getattr(value, part)
        except AttributeError:
            try:
                value = import_module(path)
            except ModuleNotFoundError:
                return False
    return True
