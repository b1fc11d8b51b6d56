"""The pure parts of the benchmarks: medians, ratios, budgets, tables and charts."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from benchmarks.suite.budgets import BUDGETS, Budget, Budgets, missed_budgets, read_budgets, unknown_cases
from benchmarks.suite.charts import Bar, bar_chart, ratio_chart
from benchmarks.suite.plan import CASES, Size
from benchmarks.suite.report import BEGIN, END, PAGE, PUBLISHED, figures, to_markdown, with_figures
from benchmarks.suite.results import CaseResult, Results, collect
from hypothesis import given
from hypothesis import strategies as st

CASE = CaseResult(
    title="A thousand rows",
    measures={
        "seconds": {"penstock": (3.0, 1.0, 2.0), "bare Spark": (2.0, 4.0, 4.0), "dlt": (1.0, 1.0)},
        "requests": {"penstock": (201.0,)},
    },
    measured_at="2024-01-01 00:00",
    commit="abc",
)
RESULTS = Results(size="small", machine={"Python": "3.11"}, cases={"append": CASE})
TO_BARE = Budget(case="append", measure="seconds", beside="bare Spark", most=1.0)
TO_DLT = Budget(case="append", measure="seconds", beside="dlt", most=1.5)
COUNT = Budget(case="append", measure="requests", most=200)


def budgets(*items: Budget, tolerance: float = 0.1) -> Budgets:
    return Budgets(tolerance=tolerance, budgets=items)


def test_rounds_become_values_by_measure_and_side() -> None:
    rounds = [
        {"penstock": {"seconds": 1.0, "jobs": 3}, "dlt": {"seconds": 2.0}},
        {"penstock": {"seconds": 3.0}},
    ]

    assert collect(rounds) == {"seconds": {"penstock": (1.0, 3.0), "dlt": (2.0,)}, "jobs": {"penstock": (3,)}}


def test_a_ratio_is_that_of_medians() -> None:
    assert CASE.median("seconds", "penstock") == 2.0
    assert CASE.ratio("seconds", "bare Spark") == 0.5
    assert CASE.ratio("seconds", "dlt") == 2.0


def test_a_ratio_to_a_missing_side_or_to_zero_is_none() -> None:
    idle = replace(CASE, measures={"jobs": {"penstock": (1.0,), "dlt": (0.0,)}})

    assert CASE.ratio("requests", "dlt") is None
    assert CASE.ratio("no measure", "dlt") is None
    assert idle.ratio("jobs", "dlt") is None


def test_results_are_equal_after_writing_and_reading() -> None:
    failed = RESULTS.with_cases({"s3": CaseResult(title="s3", error="ended with 1")})

    assert Results.from_json(failed.to_json()) == failed


def test_a_case_that_is_measured_again_replaces_the_older_one() -> None:
    newer = replace(CASE, commit="def")

    assert RESULTS.with_cases({"append": newer}).cases == {"append": newer}


def test_a_budget_may_differ_by_size_and_exist_in_one_size_only() -> None:
    text = """
    tolerance = 0.2
    [[nested]]
    measure = "seconds"
    beside = "dlt"
    most = 1.5
    most_full = 1.2
    [[tables]]
    measure = "requests"
    most = 200
    sizes = ["full"]
    """

    small, full = read_budgets(text, "small"), read_budgets(text, "full")

    assert [(item.case, item.most) for item in small.budgets] == [("nested", 1.5)]
    assert [(item.case, item.most) for item in full.budgets] == [("nested", 1.2), ("tables", 200)]
    assert small.tolerance == 0.2


@given(ratio=st.floats(0.01, 100), most=st.floats(0.01, 100), tolerance=st.floats(0, 1))
def test_a_ratio_is_missed_only_beyond_the_tolerance(ratio: float, most: float, tolerance: float) -> None:
    case = CaseResult(title="", measures={"seconds": {"penstock": (ratio,), "dlt": (1.0,)}})
    results = Results(size="small", machine={}, cases={"append": case})

    missed = missed_budgets(results, budgets(replace(TO_DLT, most=most), tolerance=tolerance))

    assert bool(missed) == (ratio > most * (1 + tolerance))


def test_a_count_has_no_tolerance() -> None:
    assert [item.budget for item in missed_budgets(RESULTS, budgets(COUNT))] == [COUNT]
    assert not missed_budgets(RESULTS, budgets(replace(COUNT, most=201)))


def test_a_failed_case_misses_its_budgets_and_a_case_that_did_not_run_misses_none() -> None:
    failed = Results(size="small", machine={}, cases={"append": CaseResult(title="", error="ended with 1")})
    nothing = Results(size="small", machine={}, cases={})

    assert [item.actual for item in missed_budgets(failed, budgets(TO_BARE, COUNT))] == [None, None]
    assert missed_budgets(nothing, budgets(TO_BARE)) == []


@pytest.mark.parametrize("size", ["small", "full"])
def test_each_budget_of_the_file_belongs_to_a_result_of_the_suite(size: Size) -> None:
    names = {name: case for case in CASES.values() for name in case.results(size)}

    assert not unknown_cases(read_budgets(BUDGETS.read_text(), size), names)


def test_the_table_has_a_row_for_each_measure_and_marks_what_exceeds_its_budget() -> None:
    lines = to_markdown(RESULTS, budgets(TO_BARE, TO_DLT, COUNT)).splitlines()

    assert lines[0] == "| case | measure | penstock | bare Spark | dlt | beside bare Spark | beside dlt |"
    title = "append: A thousand rows (rounds: 3)"
    assert lines[2] == f"| {title} | seconds | 2.00 | 4.00 | 1.00 | 0.50 (≤ 1) | **2.00** (≤ 1.5) |"
    assert lines[3] == "|  | requests | **201** (≤ 200) | - | - | - | - |"


def test_the_table_shows_earlier_results_beside_and_cases_that_failed() -> None:
    earlier = RESULTS.with_cases({"append": replace(CASE, measures={"seconds": {"penstock": (8.0,)}})})
    failed = RESULTS.with_cases({"s3": CaseResult(title="", error="ended with 1")})

    lines = to_markdown(failed, budgets(), before=earlier).splitlines()

    assert "| penstock | before | bare Spark |" in lines[0]
    assert "| 2.00 | 8.00 | 4.00 |" in lines[2]
    assert lines[4].startswith("| s3 | failed: ended with 1 |")
    assert {line.count("|") for line in lines} == {lines[0].count("|")}


def test_charts_are_complete_documents_without_references_to_others() -> None:
    bar = Bar(label="penstock", value=2.0, low=1.0, high=3.0)
    charts = [
        ratio_chart("<ratios>", [("append & more", 2.0, 1.0), ("fast", 0.001, 1.0)]),
        bar_chart("medians", {"seconds": [bar], "zero": [replace(bar, value=0.0, low=0.0, high=0.0)]}),
        ratio_chart("empty", []),
    ]

    for chart in charts:
        root = ET.fromstring(chart)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "href" not in chart


def test_a_ratio_over_its_budget_has_another_color() -> None:
    within, over = (ratio_chart("", [("append", ratio, 1.5)]) for ratio in (1.4, 1.6))

    assert "#c0392b" not in within
    assert "#c0392b" in over


def test_published_figures_replace_older_ones_and_nothing_else() -> None:
    page = f"# Performance\n\n{BEGIN}\nold\n\n{END}\n## More\n"

    published = with_figures(page, RESULTS)

    assert published == f"# Performance\n\n{BEGIN}\n{figures(RESULTS)}\n{END}\n## More\n"
    assert with_figures(published, RESULTS) == published


def test_a_page_without_the_marks_of_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="no place for figures"):
        with_figures("# Performance\n", RESULTS)


def test_the_page_has_a_place_for_figures_and_shows_the_published_ones() -> None:
    page, published = PAGE.read_text(encoding="utf-8"), PUBLISHED / "results.json"
    results = Results.from_json(published.read_text()) if published.exists() else RESULTS

    shown = with_figures(page, results)

    assert not published.exists() or shown == page, "run `python -m benchmarks --publish FILE` with that file"
