"""Names of the reference pages import from the paths in their titles; no code is defined at these paths."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest
from tests.architecture.source_tree import PACKAGE
from tests.rule_assertions import assert_no_offenders

PAGES = {
    "penstock.common.storages.load_package": (
        "TLoadPackageState",
        "TLoadPackage",
        "ParsedLoadJobFileName",
        "PackageStorage",
        "load_package",
        "commit_load_package_state",
        "destination_state",
        "clear_destination_state",
    ),
    "penstock.common.destination.reference": (
        "DestinationClientConfiguration",
        "DestinationClientDwhConfiguration",
        "DestinationClientStagingConfiguration",
        "DestinationClientDwhWithStagingConfiguration",
        "LoadJob",
        "NewLoadJob",
        "FollowupJob",
        "JobClientBase",
        "WithStateSync",
        "WithStagingDataset",
        "DestinationReference",
    ),
    "penstock.pipeline.pipeline": ("Pipeline",),
}


@pytest.mark.parametrize("page", PAGES)
def test_the_names_of_a_page_are_imported_from_its_path(page: str) -> None:
    module = import_module(page)

    assert [name for name in PAGES[page] if not hasattr(module, name)] == []


PATH_FOLDERS = ("common", "sources/helpers")
"""The folders of import paths that code written for dlt uses."""


def is_reexport(statement: ast.stmt) -> bool:
    """Return whether a statement is a docstring, an import of names, or the list of exported names."""
    match statement:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case _:
            return False


def test_modules_of_the_pages_paths_only_reexport() -> None:
    modules = sorted(path for folder in PATH_FOLDERS for path in (PACKAGE / folder).rglob("*.py"))

    assert modules
    assert_no_offenders(
        (
            f"{path.relative_to(PACKAGE)}:{statement.lineno}"
            for path in modules
            for statement in ast.parse(path.read_text(encoding="utf-8")).body
            if not is_reexport(statement)
        ),
        "define it in another package and import it here",
    )
