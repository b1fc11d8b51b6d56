"""Sources by reference: registered, imported, and unknown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.errors import UnknownSourceReference
from penstock.sources import SourceReference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODULE = """
import penstock

@penstock.source(name="orders_of_shop")
def shop(limit=2):
    return penstock.resource(range(limit), name="orders")

@penstock.resource
def numbers(first=1):
    yield {"number": first}

def plain(): ...
"""


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Modules that were not imported, at the top and in the package `sources`."""
    (tmp_path / "refshop.py").write_text(MODULE)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "shop.py").write_text(MODULE)
    (tmp_path / "refbroken.py").write_text("import a_module_that_is_missing")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules), dict(SourceReference.SOURCES)
    yield "refshop"
    for name in set(sys.modules) - before[0]:
        del sys.modules[name]
    SourceReference.SOURCES.clear()
    SourceReference.SOURCES.update(before[1])


def test_a_source_of_a_module_that_was_not_imported_is_found(modules: str) -> None:
    source = SourceReference.from_reference(f"{modules}.shop", source_args=(3,), max_table_nesting=1)

    assert (source.name, list(source), source.max_table_nesting) == ("orders_of_shop", [0, 1, 2], 1)
    assert SourceReference.SOURCES[f"{modules}.shop"].name == "orders_of_shop"


def test_a_short_reference_means_the_package_of_the_project(modules: str) -> None:
    assert list(SourceReference.from_reference("shop", name="again")) == [0, 1]
    assert SourceReference.from_reference("shop.shop", name="again").name == "again"


def test_a_resource_becomes_a_source_of_its_name(modules: str) -> None:
    source = SourceReference.from_reference(f"{modules}.numbers", source_kwargs={"first": 5})

    assert (source.name, list(source.resources), list(source)) == ("numbers", ["numbers"], [{"number": 5}])
    assert list(SourceReference.find(f"{modules}.numbers")()) == [{"number": 1}]


def test_a_source_in_a_function_is_registered() -> None:
    @penstock.source
    def inner() -> list[penstock.sources.DltResource]:
        return [penstock.resource([1], name="one_row")]

    assert list(SourceReference.from_reference(f"{__name__}.inner")) == [1]
    del SourceReference.SOURCES[f"{__name__}.inner"]


def test_a_source_of_penstock_is_found_by_its_name() -> None:
    assert SourceReference.find("rest_api").name == "rest_api"


@pytest.mark.parametrize(
    "ref", ["nowhere", "refshop.plain", "refshop.missing", "refmissing.shop", "a.b.c", ""]
)
def test_an_unknown_reference_is_reported_with_what_was_tried(modules: str, ref: str) -> None:
    with pytest.raises(UnknownSourceReference) as failure:
        SourceReference.find(ref)

    assert f"unknown source {ref!r}; tried {ref}" in str(failure.value)


def test_a_module_that_fails_to_import_is_not_an_unknown_reference(modules: str) -> None:
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_missing"):
        SourceReference.find("refbroken.shop")
