from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.rule_assertions import assert_no_offenders

from penstock.destinations.filesystem.table_log import LOG_FOLDER
from penstock.destinations.lake import dataset
from penstock.errors import InvalidIdentifier, UsageError
from penstock.interfaces.declared_tables import declared_tables
from penstock.interfaces.hints import make_hints
from penstock.interfaces.job_file_name import ParsedLoadJobFileName
from penstock.package import file_ledger
from penstock.package.file_ledger import SYSTEM_TABLE_NAMES
from penstock.package.load_index import INDEX_FOLDER
from penstock.package.storage import safe_name
from penstock.schema.naming import (
    RESERVED_TABLES,
    TAG_LENGTH,
    NamingConvention,
    SnakeCase,
    append_tag,
    hash_tag,
    naming_convention,
    safe_table_name,
    shorten,
)

CONVENTIONS = ("snake_case", "sql_ci_v1", "sql_cs_v1", "direct", "duck_case")
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "vectors/names.json").read_text())["cases"]

any_text = st.text(max_size=60)
limits = st.one_of(st.none(), st.integers(TAG_LENGTH, 80))


class Shouting(SnakeCase):
    def clean(self, identifier: str) -> str:
        return SnakeCase.clean(self, identifier).upper()


def test_identifiers_and_paths_are_those_of_dlt() -> None:
    offenders: list[str] = []
    for case in CASES:
        convention, raw = naming_convention(case["convention"], case["max_length"]), case["raw"]
        label = f"{case['convention']}, at most {case['max_length']}"
        names = {"identifier": convention.normalize_identifier(raw), "path": convention.normalize_path(raw)}
        offenders += [
            f"{label}: {key} of {raw!a} is {name!a}, not {case[key]!a}"
            for key, name in names.items()
            if name != case[key]
        ]

    assert_no_offenders(offenders, "make the naming convention equal to the recorded names of dlt")


def test_the_vectors_cover_every_convention() -> None:
    assert {case["convention"] for case in CASES} == set(CONVENTIONS)


@pytest.mark.parametrize("name", CONVENTIONS)
@given(raw=any_text, limit=limits)
def test_a_name_fits_and_has_no_separator_in_it(name: str, raw: str, limit: int | None) -> None:
    convention = naming_convention(name, limit)

    path = convention.normalize_path(raw)

    assert limit is None or len(path) <= limit
    if raw.strip():
        identifier = convention.normalize_identifier(raw)
        assert limit is None or len(identifier) <= limit


@pytest.mark.parametrize("name", ["snake_case", "sql_ci_v1", "sql_cs_v1"])
@given(raw=any_text)
def test_sql_names_need_no_quotes(name: str, raw: str) -> None:
    path = naming_convention(name).normalize_path(raw)

    assert path == "" or path.replace("_", "a").isalnum()
    assert not path[:1].isdigit()


@given(raw=any_text)
def test_normalization_of_an_identifier_is_idempotent(raw: str) -> None:
    convention = naming_convention("snake_case")
    if not raw.strip():
        return

    once = convention.normalize_identifier(raw)

    assert convention.normalize_identifier(once) == once


@pytest.mark.parametrize("name", CONVENTIONS)
@given(raw=any_text)
def test_normalization_of_a_path_is_idempotent(name: str, raw: str) -> None:
    convention = naming_convention(name)
    # Parts that begin or end with "_" may not be found again in the name that they make: dlt's neither.
    parts = [convention.normalize_identifier(part) for part in convention.break_path(raw)]
    assume(convention.break_path(convention.make_path(*parts)) == parts)
    once = convention.normalize_path(raw)

    assert convention.is_idempotent
    assert convention.normalize_path(once) == once


@pytest.mark.parametrize("name", ["sql_cs_v1", "sql_ci_v1"])
def test_a_part_of_signs_only_is_lost_when_its_path_is_normalized_again(name: str) -> None:
    convention = naming_convention(name)

    assert convention.normalize_path(":__a") == "___a"
    assert convention.normalize_path("___a") == "_a"


@pytest.mark.parametrize("name", CONVENTIONS)
@pytest.mark.parametrize("blank", ["", " ", "\n\t"])
def test_a_blank_identifier_is_refused_and_a_blank_path_is_empty(name: str, blank: str) -> None:
    convention = naming_convention(name)

    with pytest.raises(InvalidIdentifier):
        convention.normalize_identifier(blank)
    assert convention.normalize_path(blank) == ""


@pytest.mark.parametrize("name", ["direct", "duck_case"])
def test_a_lone_surrogate_is_replaced(name: str) -> None:
    assert naming_convention(name).normalize_path("a\ud800b") == "a_b"
    assert len(naming_convention(name, 8).normalize_path("a\ud800b" * 9)) == 8


def test_paths_are_joined_and_split_without_blank_fragments() -> None:
    snake, direct = naming_convention("snake_case"), naming_convention("direct")

    assert snake.make_path("a", " ", "b") == "a__b"
    assert snake.break_path("a____b__") == ["a", "b"]
    assert direct.make_path("a", "b__c") == "a▶b__c"
    assert direct.break_path("▶a▶▶b__c") == ["a", "b__c"]


def test_tables_follow_the_same_rules_as_columns() -> None:
    snake = naming_convention("snake_case")

    assert snake.normalize_table_identifier("MyTable__X") == "my_table_x"
    assert snake.normalize_tables_path("MyTable__X") == "my_table__x"


def test_tags_and_shortened_names_are_the_same_as_in_dlt() -> None:
    assert hash_tag("abc") == "wiejlq"
    assert naming_convention("snake_case", 20).normalize_identifier("a" * 21) == "aaaaaaaklmhvaaaaaaaa"
    shortened = naming_convention("snake_case", 20).shorten_fragments(
        "parent_table", "child_list", "grandchild"
    )
    assert shortened == "parent_vmhregndchild"


def test_a_limit_below_the_tag_length_is_refused_only_for_longer_names() -> None:
    assert shorten("abc", original="abc", max_length=5) == "abc"
    with pytest.raises(InvalidIdentifier):
        shorten("abcdef", original="abcdef", max_length=5)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(None, "a_b_wiejlq"), (10, "a_b_wiejlq"), (9, "a_wiejlq"), (7, "wiejlq"), (6, "wiejlq")],
)
def test_a_tagged_name_is_cut_at_its_end_and_has_a_single_underscore(
    limit: int | None, expected: str
) -> None:
    assert append_tag("a_b", original="abc", max_length=limit) == expected


def test_a_convention_is_found_by_name_and_by_import_path() -> None:
    assert naming_convention().name == "snake_case"
    assert naming_convention("dlt.common.normalizers.naming.sql_cs_v1").name == "sql_cs_v1"
    assert naming_convention("penstock.schema.naming.SnakeCase", 30) == SnakeCase(max_length=30)
    assert naming_convention("snake_case").with_max_length(30) == SnakeCase(max_length=30)


def test_a_module_may_have_a_class_named_naming_convention(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    module = ModuleType("loud_names")
    module.__dict__["NamingConvention"] = Shouting
    monkeypatch.setitem(sys.modules, "loud_names", module)

    assert naming_convention("loud_names").normalize_path("loudName__x") == "LOUD_NAME__X"


@pytest.mark.parametrize("unknown", ["nonsense", "no.such.module", "penstock.schema.naming", "json.dumps"])
def test_an_unknown_convention_is_refused_with_the_list_of_known_ones(unknown: str) -> None:
    with pytest.raises(UsageError, match="unknown naming convention") as caught:
        naming_convention(unknown)

    assert "snake_case" in caught.value.hint


def test_only_conventions_that_keep_case_are_case_sensitive() -> None:
    sensitive = {name for name in CONVENTIONS if naming_convention(name).is_case_sensitive}

    assert sensitive == {"sql_cs_v1", "direct", "duck_case"}
    assert issubclass(SnakeCase, NamingConvention)


RAW = (
    *("init", "INIT", "_dlt_loads", "_dlt_version", "_dlt_pipeline_state", "_dlt_pkg", "_dlt_late"),
    *("_dlt_files", "_delta_log", "..", ".", "../../x", "a/b", "a\\b", "a.b", "*", "a?[b]{c}", "${env:PATH}"),
    *("x" * 400, "é" * 200, "😀" * 100, "a:b", "%2e%2e", "a\x00b", "~", "-", "`x`", "'; DROP TABLE x; --"),
)


@pytest.mark.parametrize("convention", ["snake_case", "direct", "duck_case", "sql_cs_v1"])
@pytest.mark.parametrize("raw", RAW)
def test_a_declared_table_has_a_name_that_is_one_safe_folder(convention: str, raw: str) -> None:
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
def test_safe_names_are_unchanged_and_names_stay_distinct(raw: str) -> None:
    name = safe_table_name(raw)

    assert safe_table_name(name) == name
    assert name == raw or name != safe_table_name(f"{raw}x")


@pytest.mark.parametrize(
    "name", ["orders", "_dlt_quarantine", "init_table", "Order Items", "käse-2024", "a▶b"]
)
def test_safe_names_are_unchanged(name: str) -> None:
    assert safe_table_name(name) == name


def test_every_name_beside_the_tables_of_a_dataset_is_reserved() -> None:
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
