"""Names of the reference pages are at the paths in their titles; paths that dlt names have no code."""

from __future__ import annotations

import ast
from importlib import import_module

from dev.pages import absent_names, auxiliary_names, items
from tests.architecture.source_tree import PACKAGE
from tests.rule_assertions import assert_no_offenders

PATH_FOLDERS = ("common", "destinations/impl", "extract/incremental", "sources/helpers")
"""The folders of import paths that code written for dlt uses."""
PATH_MODULES = ("sources/filesystem/helpers.py", "sources/sql_database/helpers.py")
"""Such paths in folders that have code."""


def test_every_item_of_the_pages_is_at_its_path_with_its_arguments_and_a_test() -> None:
    assert len(items()) == 101
    assert_no_offenders(
        (fault for item in items() for fault in item.faults()), "mend penstock, or correct dev/pages.toml"
    )


def test_names_of_signatures_are_imported_from_the_page_that_uses_them() -> None:
    assert_no_offenders(
        (
            f"penstock.{page}:{name}"
            for page, names in auxiliary_names().items()
            for name in names
            if not hasattr(import_module(f"penstock.{page}"), name)
        ),
        "export the name",
    )


def test_names_that_are_absent_have_a_reason() -> None:
    assert_no_offenders(
        (
            name
            for name, reason in absent_names().items()
            for page in auxiliary_names()
            if not reason or hasattr(import_module(f"penstock.{page}"), name)
        ),
        "give the reason, or remove the name from dev/pages.toml",
    )


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
    in_folders = (path for folder in PATH_FOLDERS for path in (PACKAGE / folder).rglob("*.py"))
    modules = sorted([*in_folders, *(PACKAGE / path for path in PATH_MODULES)])

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
