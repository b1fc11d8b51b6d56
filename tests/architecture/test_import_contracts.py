"""The import contracts of this project fail when an import breaks them.

`make walls` checks the package itself. These tests apply the options of `pyproject.toml` to a toy package, so
that an option which makes a contract blind is noticed.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import grimp
import pytest
from importlinter.api import read_configuration
from importlinter.contracts.forbidden import ForbiddenContract
from importlinter.contracts.layers import LayersContract
from importlinter.contracts.protected import ProtectedContract
from tests.architecture.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from importlinter.domain.contract import Contract

LAYERS = "Floors: imports only go down"
NO_SPARK = "Dry rooms: no Spark at run time"
ONE_ENTRY = "Unexpected rows: one door"
PUBLIC_API = "Nobody inside imports the front door"

KINDS: dict[str, type[Contract]] = {
    "layers": LayersContract,
    "forbidden": ForbiddenContract,
    "protected": ProtectedContract,
}
TOY_MODULES: dict[str, dict[str, list[str]]] = {
    LAYERS: {"containers": ["toy"], "layers": ["top", "left | right", "bottom"], "ignore_imports": []},
    NO_SPARK: {
        "source_modules": ["toy.left", "toy.bottom"],
        "forbidden_modules": ["pyspark"],
        "ignore_imports": ["toy.left -> pyspark"],
    },
    ONE_ENTRY: {"protected_modules": ["toy.left"], "allowed_importers": ["toy.top"]},
    PUBLIC_API: {"source_modules": ["toy.**"], "forbidden_modules": ["toy"]},
}
"""The options of each contract for the toy package; all other options are those of `pyproject.toml`."""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that keeps all contracts, on the import path."""
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("import toy.top\n")
    (package / "top.py").write_text("import toy.left, toy.right\n")
    (package / "left.py").write_text("import pyspark, toy.bottom\n")
    (package / "right.py").write_text("import pyspark, toy.bottom\n")
    (package / "bottom.py").write_text("import re\n")
    monkeypatch.syspath_prepend(tmp_path)
    return package


def broken_contracts() -> set[str]:
    """Check the toy package with the options of this project; return the names of the broken contracts."""
    configuration: dict[str, Any] = read_configuration(str(ROOT / "pyproject.toml"))
    session = configuration["session_options"]
    graph_options = {
        option: session[option] == "True"
        for option in ("include_external_packages", "exclude_type_checking_imports")
    }
    graph = grimp.build_graph("toy", cache_dir=None, **graph_options)
    broken: set[str] = set()
    for options in configuration["contracts_options"]:
        name, kind = options["name"], KINDS[options["type"]]
        contract = kind(name, {**session, "root_packages": ["toy"]}, {**options, **TOY_MODULES[name]})
        # A check removes the imports that it ignores from its graph.
        if not contract.check(deepcopy(graph), verbose=False).kept:
            broken.add(name)
    return broken


@pytest.mark.usefixtures("toy")
def test_a_package_without_upward_imports_keeps_all_contracts() -> None:
    assert broken_contracts() == set()


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("bottom.py", "import toy.top", {LAYERS, NO_SPARK}),
        ("right.py", "import toy.top", {LAYERS}),
        ("right.py", "if TYPE_CHECKING:\n    import toy.top", {LAYERS}),
        ("right.py", "def late():\n    import toy.top", {LAYERS}),
        ("right.py", "import toy.left", {LAYERS, ONE_ENTRY}),
        ("cellar.py", '"""A package of no layer."""', {LAYERS}),
        ("bottom.py", "import pyspark.sql", {NO_SPARK}),
        ("bottom.py", "if TYPE_CHECKING:\n    import pyspark", {NO_SPARK}),
        ("left.py", "import toy.right", {LAYERS, NO_SPARK}),
        ("top.py", "import toy", {PUBLIC_API}),
    ],
)
def test_a_forbidden_import_breaks_its_contract(toy: Path, module: str, line: str, broken: set[str]) -> None:
    path = toy / module
    before = path.read_text() if path.exists() else ""
    path.write_text(f"from typing import TYPE_CHECKING\n{before}{line}\n")

    assert broken_contracts() == broken
