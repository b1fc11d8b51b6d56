"""References to dlt are read from code, and resolved in a package that is written for dlt's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dev.dlt_imports import Corpus, code_blocks, recorded, references, resolves

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import dlt", ["dlt"]),
        ("import dlt.common.json as j, os", ["dlt.common.json"]),
        ("from dlt.common import json, logger as log", ["dlt.common:json", "dlt.common:logger"]),
        ("def f():\n    from dlt.extract import DltSource", ["dlt.extract:DltSource"]),
        ("from .dlt import x\nfrom dltx import y\nx.dlt.run()", []),
        ("dlt.secrets['a'].b\ndlt.run().c", ["dlt@run", "dlt@secrets"]),
    ],
)
def test_references_are_modules_names_and_attributes(source: str, expected: list[str]) -> None:
    assert list(references(source)) == expected


def test_files_without_an_import_and_code_that_is_no_python_are_left_out() -> None:
    files = {"a.py": "import dlt\ndlt.hub.run", "b.py": "dlt.run()", "c.py": "import dlt\nfor"}

    assert recorded(files) == {"a.py": ("dlt", "dlt@hub.run")}


def test_code_blocks_of_a_page_are_python_and_know_their_line() -> None:
    page = "# Page\n```py\nimport dlt\n```\n```sh\ndlt init\n```\n  ```python title=x\n  import os\n  ```\n"

    assert list(code_blocks(page)) == [(2, "import dlt\n"), (8, "import os\n")]


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("dlt", True),
        ("dlt.common", True),
        ("dlt.missing", False),
        ("dlt.common:json", True),
        ("dlt.common:submodule", True),
        ("dlt.common:missing", False),
        ("dlt.missing:json", False),
        ("dlt@run", True),
        ("dlt@missing", False),
        ("dlt@common.json", True),
        ("dlt@common.missing", False),
        ("dlt@Pipeline.attach", True),
        ("dlt@Pipeline.missing", False),
        ("dlt@run.any_attribute_of_a_value", True),
    ],
)
def test_a_reference_resolves_where_the_package_has_the_name(
    reference: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toyed" / "common").mkdir(parents=True)
    (tmp_path / "toyed" / "__init__.py").write_text(
        "from toyed import common\nrun = 1\nclass Pipeline:\n    attach = 2\n"
    )
    (tmp_path / "toyed" / "common" / "__init__.py").write_text("json = 3\n")
    (tmp_path / "toyed" / "common" / "submodule.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    assert resolves(reference, "toyed") is expected


def test_a_corpus_lists_what_a_package_lacks_by_file() -> None:
    corpus = Corpus("toy", "here", {"a.py": ("dlt@run", "dlt@nowhere"), "b.py": ("dlt",)})

    assert corpus.missing() == {"a.py": ("dlt@nowhere",), "b.py": ()}
