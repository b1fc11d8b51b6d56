"""The table that ends a run of the gate: suites, tests, seconds and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dev.gate import Duration, Suite, problems, read_suites, suites_of, table

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

pytest_plugins = ["pytester"]


def test_a_stage_is_split_by_the_folders_of_its_tests() -> None:
    tests = [
        Duration("tests/flow/test_rest.py::a", 3.0),
        Duration("tests/spark/test_keys.py::b", 1.0),
        Duration("tests/flow/test_rest.py::c", 2.0),
        Duration("src/penstock/errors.py::doc", 0.5),
    ]

    suites = suites_of("local Spark", 8.0, tests)

    assert [(suite.name, suite.seconds, len(suite.tests)) for suite in suites] == [
        ("local Spark: flow", 5.0, 2),
        ("local Spark: spark", 1.0, 1),
        ("local Spark: src", 0.5, 1),
        ("local Spark", 1.5, 0),
    ]


def test_a_stage_with_one_folder_or_no_tests_is_not_split() -> None:
    tests = [Duration("tests/service/test_s3.py::a", 3.0)]

    assert suites_of("service", 9.0, tests) == [Suite("service", 9.0, tuple(tests))]
    assert suites_of("tools", 4.0, []) == [Suite("tools", 4.0)]


def test_a_suite_beyond_three_times_its_budget_is_named_with_its_ten_slowest_tests() -> None:
    tests = tuple(Duration(f"tests/flow/test_x.py::t{seconds}", float(seconds)) for seconds in range(12))
    suite = Suite("flow", 31.0, tests)

    lines = problems([suite, Suite("tools", 30.0)], {"flow": 10, "tools": 10})

    assert lines[0] == "flow took 31 s, more than 3 times its budget of 10 s"
    assert [line.split("::")[1] for line in lines[1:]] == [f"t{seconds}" for seconds in range(11, 1, -1)]


def test_a_suite_without_a_budget_is_a_problem() -> None:
    assert problems([Suite("new", 1.0)], {}) == [
        "new has no budget: add it to tool.penstock.gate in pyproject.toml"
    ]


def test_the_table_has_tests_seconds_budget_and_share_of_each_suite() -> None:
    suite = Suite("flow", 50.0, (Duration("tests/flow/test_x.py::a", 50.0),))

    lines = table([suite], {"flow": 40, "total": 90}, 100.0).splitlines()

    assert [line.split() for line in lines] == [
        ["suite", "tests", "seconds", "budget", "share"],
        ["flow", "1", "50", "40", "50%"],
        ["total", "100", "90"],
    ]


def test_reports_that_pytest_writes_are_read(pytester: pytest.Pytester, tmp_path: Path) -> None:
    pytester.makepyfile(test_a="import pytest\ndef test_runs(): ...\n@pytest.mark.skip\ndef test_not(): ...")
    report = tmp_path / "some-stage.xml"
    pytester.runpytest(f"--junitxml={report}", "-o", "junit_family=xunit1", "-p", "no:cacheprovider")
    (tmp_path / "stages.tsv").write_text("some stage\t7\n")

    (suite,) = read_suites(tmp_path)

    assert (suite.name, suite.seconds) == ("some stage", 7.0)
    assert [test.name for test in suite.tests] == ["test_a.py::test_runs"]
