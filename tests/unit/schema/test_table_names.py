"""Table names that come from data collide with nothing in the folder of a dataset."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.destinations.filesystem.table_log import LOG_FOLDER
from penstock.destinations.lake import dataset
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import make_hints
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package import file_ledger
from penstock.package.file_ledger import SYSTEM_TABLE_NAMES
from penstock.package.load_index import INDEX_FOLDER
from penstock.package.storage import safe_name
from penstock.schema import naming_convention
from penstock.schema.table_names import RESERVED_TABLES, safe_table_name

RAW = (
    *("init", "INIT", "_dlt_loads", "_dlt_version", "_dlt_pipeline_state", "_dlt_pkg", "_dlt_late"),
    *("_dlt_files", "_delta_log", "..", ".", "../../x", "a/b", "a\\b", "a.b", "*", "a?[b]{c}", "${env:PATH}"),
    *("x" * 400, "é" * 200, "😀" * 100, "a:b", "%2e%2e", "a\x00b", "~", "-", "`x`", "'; DROP TABLE x; --"),
)


@pytest.mark.parametrize("convention", ["snake_case", "direct", "duck_case", "sql_cs_v1"])
@pytest.mark.parametrize("raw", RAW)
def test_a_declared_table_is_one_folder_of_its_own(convention: str, raw: str) -> None:
    rules = naming_convention(convention, max_length=255)
    hints = make_hints(table_name=raw)

    (table,) = declared_tables(hints, resource="items", naming=rules)

    name = table.name
    assert name.lower() not in RESERVED_TABLES
    assert safe_name(name) == name
    assert "/" not in name
    job = ParsedLoadJobFileName(name, "0123456789", 0, "reference")
    assert ParsedLoadJobFileName.parse(job.file_name()) == job
    (again,) = declared_tables(make_hints(table_name=name), resource="items", naming=rules)
    assert again.name == name


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_safe_name_stays_and_two_names_never_become_one(raw: str) -> None:
    name = safe_table_name(raw)

    assert safe_table_name(name) == name
    assert name == raw or name != safe_table_name(f"{raw}x")


@pytest.mark.parametrize(
    "name", ["orders", "_dlt_quarantine", "init_table", "Order Items", "käse-2024", "a▶b"]
)
def test_other_names_stay_as_they_are(name: str) -> None:
    assert safe_table_name(name) == name


def test_every_name_that_a_dataset_has_beside_its_tables_is_reserved() -> None:
    beside = {
        *SYSTEM_TABLE_NAMES,
        file_ledger._INIT_FILE,
        file_ledger._LATE_FOLDER,
        INDEX_FOLDER,
        dataset._PACKAGE_FOLDER,
        dataset._PACKAGE_ROOT_FOLDER,
        LOG_FOLDER,
    }

    assert beside <= RESERVED_TABLES
