"""References to dlt are read from code, and resolved in a package that is written for dlt's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from dev.dlt_imports import Corpus, Coverage, code_blocks, corpora, recorded, references, resolves

if TYPE_CHECKING:
    from pathlib import Path

LEAST_COVERAGE = {
    "docs_blocks": Coverage(files=350, resolved=298, imported=312),
    "docs_examples": Coverage(files=64, resolved=51, imported=53),
    "verified_sources": Coverage(files=119, resolved=116, imported=116),
    "verified_sources_tests": Coverage(files=42, resolved=38, imported=38),
}
"""What `python -m dev.dlt_imports` has reached. Raise a number when it grows; it must not fall."""


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


@pytest.mark.parametrize("corpus", corpora(), ids=lambda corpus: corpus.name)
def test_no_file_of_a_corpus_resolves_less_than_before(corpus: Corpus) -> None:
    least = LEAST_COVERAGE[corpus.name]
    missing = corpus.missing()

    coverage = Coverage.of(missing)

    assert coverage.files == least.files
    assert coverage.resolved >= least.resolved, {name: lines for name, lines in missing.items() if lines}
    assert coverage.imported >= least.imported


def test_nearly_all_sources_and_most_code_of_pages_resolve() -> None:
    coverage = {corpus.name: Coverage.of(corpus.missing()) for corpus in corpora()}
    sources, pages = coverage["verified_sources"], coverage["docs_blocks"]

    assert sources.resolved >= 0.96 * sources.files
    assert pages.resolved >= 0.85 * pages.files
