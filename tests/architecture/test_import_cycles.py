"""No module imports itself by way of others; a type-only import is an import too."""

from __future__ import annotations

from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


@cache
def imports() -> dict[str, set[str]]:
    """Return for each module of the package the modules that it imports."""
    graph = grimp.build_graph("penstock", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = list(TopologicalSorter(imports()).static_order())

    assert order[-1] in {"penstock", "penstock.cli", "penstock.cli.sparkcheck", "penstock.testing"}, (
        "the last module must be an entry point"
    )


def test_a_circle_of_imports_is_reported() -> None:
    graph = {**imports(), "penstock.errors": {"penstock.config.settings"}}

    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
