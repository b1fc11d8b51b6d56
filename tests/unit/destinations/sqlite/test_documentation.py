"""The files of the example are those on docs/destinations.md, and its contract test passes a case."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.doc_blocks import ROOT, doc_blocks

from penstock.testing import destination_suite

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "sqlite_destination"
BLOCKS = {block.title: block.text for block in doc_blocks("docs/destinations.md") if block.title}


def test_the_page_shows_all_files_of_the_example() -> None:
    files = {path.relative_to(EXAMPLE).as_posix(): path for path in EXAMPLE.glob("sqlite_files/*.py")}
    shown = {title: text for title, text in BLOCKS.items() if title.startswith("sqlite_files/")}

    assert shown == {name: path.read_text(encoding="utf-8") for name, path in files.items()}


def test_the_page_names_the_entry_point_of_the_example() -> None:
    (entry_point,) = re.findall(r"^sqlite = .*$", (EXAMPLE / "pyproject.toml").read_text(), re.MULTILINE)

    assert f"`{entry_point}`" in (ROOT / "docs" / "destinations.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("no_spark")
def test_the_contract_test_of_the_page_passes_a_case(tmp_path: Path) -> None:
    (case,) = destination_suite(only=["append-adds-rows"])
    names: dict[str, object] = {}

    exec(compile(BLOCKS["test_contract.py"], "docs/destinations.md", "exec"), names)
    test = names["test_sqlite"]

    assert callable(test)
    test(case, None, tmp_path)
