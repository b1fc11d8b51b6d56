"""No module imports itself by way of others; a type-only import is an import too."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import grimp
import pytest


def imports() -> dict[str, set[str]]:
    graph = grimp.build_graph("penstock", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = list(TopologicalSorter(imports()).static_order())

    assert order[-1] in {"penstock", "penstock.cli", "penstock.cli.sparkcheck", "penstock.testing"}, (
        "all the way to a door"
    )


def test_a_circle_would_be_found() -> None:
    graph = imports()
    graph["penstock.errors"] = {"penstock.config.settings"}

    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()
