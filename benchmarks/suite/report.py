"""Results as a Markdown table and charts, also in the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.suite.budgets import BUDGETS, read_budgets
from benchmarks.suite.charts import Bar, bar_chart, ratio_chart
from benchmarks.suite.results import BARE, DLT, PENSTOCK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.suite.budgets import Budgets
    from benchmarks.suite.results import CaseResult, Results

DOCS: Final = Path(__file__).parents[2] / "docs"
PAGE: Final = DOCS / "performance.md"
PUBLISHED: Final = DOCS / "performance"
BEGIN, END = "<!-- figures: written by `python -m benchmarks --publish` -->\n", "<!-- end of figures -->\n"
_CHARTED: Final = ("seconds", "requests", "peak")


def number(value: float | None) -> str:
    """Return a number with three digits, or a dash."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2  # noqa: PLR2004
    return f"{value:,.{digits}f}"


def to_markdown(results: Results, budgets: Budgets, *, before: Results | None = None) -> str:
    """Return a table with a row for each measure; a ratio over its budget is bold."""
    columns = ["case", "measure", "penstock", *(["before"] if before else []), "bare Spark", "dlt"]
    columns += ["beside bare Spark", "beside dlt"]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for name, case in results.cases.items():
        if case.error:
            lines.append(f"| {name} | failed: {case.error} |{' |' * (len(columns) - 2)}")
        earlier = before.cases.get(name) if before else None
        lines += [
            f"| {' | '.join(row)} |"
            for measure in case.measures
            for row in [_row(name, case, measure, budgets, earlier, has_before=before is not None)]
        ]
    return "\n".join(lines) + "\n"


def _row(
    name: str,
    case: CaseResult,
    measure: str,
    budgets: Budgets,
    earlier: CaseResult | None,
    *,
    has_before: bool,
) -> list[str]:
    actual = number(case.median(measure, PENSTOCK))
    for budget in budgets.of(name, measure):
        if not budget.beside:
            actual = _with_budget(case.median(measure, PENSTOCK), budget.most)
    others = [side for side in case.measures[measure] if side not in {PENSTOCK, BARE, DLT}]
    bare = BARE if not others else others[0]
    note = f" ({others[0]})" if others else ""
    is_first = measure == next(iter(case.measures))
    title = f"{name}: {case.title} (rounds: {case.rounds})" if is_first else ""
    row = [title, measure, actual]
    if has_before:
        row.append(number(earlier.median(measure, PENSTOCK) if earlier else None))
    row += [f"{number(case.median(measure, bare))}{note}", number(case.median(measure, DLT))]
    for side in (bare, DLT):
        limits = [budget.most for budget in budgets.of(name, measure) if budget.beside == side]
        row.append(_with_budget(case.ratio(measure, side), *limits))
    return row


def _with_budget(value: float | None, most: float | None = None) -> str:
    if value is None or most is None:
        return number(value)
    text = number(value) if value <= most else f"**{number(value)}**"
    return f"{text} (≤ {most:g})"


def write_charts(results: Results, budgets: Budgets, folder: Path) -> list[Path]:
    """Write the charts: all ratios with a budget, and the seconds and requests of each side."""
    folder.mkdir(parents=True, exist_ok=True)
    charts = {
        "ratios": ratio_chart(
            "penstock beside others: the ratio of medians, and the budget", _ratios(results, budgets)
        ),
        "medians": bar_chart("Medians, and the range of all rounds", _medians(results)),
    }
    paths = []
    for name, text in charts.items():
        path = folder / f"{results.size}-{name}.svg"
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def _ratios(results: Results, budgets: Budgets) -> list[tuple[str, float, float]]:
    rows = []
    for budget in budgets.budgets:
        case = results.cases.get(budget.case)
        ratio = case.ratio(budget.measure, budget.beside) if case and budget.beside else None
        if ratio is not None:
            rows.append((str(budget), ratio, budget.most))
    return rows


def _medians(results: Results) -> dict[str, list[Bar]]:
    return dict(_groups(results))


def _groups(results: Results) -> Iterator[tuple[str, list[Bar]]]:
    for case in results.cases.values():
        for measure in (item for item in case.measures if item.startswith(_CHARTED)):
            bars = []
            for side, values in case.measures[measure].items():
                median = case.median(measure, side)
                if median is not None:
                    bars.append(Bar(label=side, value=median, low=min(values), high=max(values)))
            yield f"{case.title}: {measure}", bars


def figures(results: Results) -> str:
    """Return the part of the page that shows results."""
    machine = ", ".join(f"{name} {text}" for name, text in results.machine.items())
    moments = sorted(case.measured_at for case in results.cases.values())
    commits = ", ".join(sorted({case.commit for case in results.cases.values()}))
    charts = "\n\n".join(
        f"![{text}](performance/{results.size}-{name}.svg)"
        for name, text in (("ratios", "Ratios and budgets"), ("medians", "Medians of all sides"))
    )
    return (
        f"Size `{results.size}`, measured from {moments[0]} to {moments[-1]} UTC at {commits}.\n"
        f"Machine and versions: {machine}.\n"
        "Ratios over their budget are bold: there penstock is slower than it should be.\n\n"
        f"{to_markdown(results, read_budgets(BUDGETS.read_text(), results.size))}\n{charts}\n"
    )


def with_figures(page: str, results: Results) -> str:
    """Return the page with other figures."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not (begin and end):
        raise ValueError(
            f"the page has no place for figures: add the lines {BEGIN.strip()} and {END.strip()}"
        )
    return f"{head}{BEGIN}\n{figures(results)}\n{END}{tail}"


def publish(results: Results) -> None:
    """Write results, table and charts into the documentation."""
    budgets = read_budgets(BUDGETS.read_text(), results.size)
    write_charts(results, budgets, PUBLISHED)
    (PUBLISHED / "results.json").write_text(results.to_json())
    PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")
