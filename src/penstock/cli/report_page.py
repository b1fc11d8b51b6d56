"""The report on a pipeline as one HTML page."""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from penstock.interfaces.humanize import human_count, human_seconds, human_size
from penstock.package.checks import CheckResult, checks_element
from penstock.pages.charts import SERIES_COLORS, bar_chart, line_chart
from penstock.pages.elements import Html, element, facts, fragment, table_element
from penstock.pages.page import page
from penstock.pipeline.timeline import timeline
from penstock.schema import Schema
from penstock.schema.html_diagram import table_sections, to_html_diagram

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from penstock.cli.report import PipelineReport, ReportedLoad, ReportedTable
    from penstock.pages.elements import Content

_DATE_LENGTH: Final = len("2026-05-06 02:00:07")


def report_page(report: PipelineReport) -> Html:
    """Return the page of a report; all texts are escaped."""
    sections: list[tuple[str, str, Content]] = [
        ("tables", "Tables", _tables(report)),
        ("schema", "Schema", _schemas(report.schemas)),
        ("last-run", "Last run", _last_run(report)),
        ("checks", "Checks", _checks(report.checks)),
        ("quarantine", "Quarantine", _quarantine(report)),
        ("changes", "Schema changes", _changes(report)),
        ("packages", "Packages", _packages(report.packages)),
        ("state", "State", _state(report.state)),
    ]
    return page(
        f"Pipeline {report.pipeline_name}",
        header=_header(report),
        sections=sections,
        footer=element(
            "p",
            f"Written by penstock {report.penstock_version} at {short_time(report.created_at)} UTC. "
            "The page is complete in itself and loads nothing. Secrets are masked.",
        ),
    )


def _header(report: PipelineReport) -> Html:
    last = report.runs[0] if report.runs else None
    omissions = [element("li", text) for text in report.omissions]
    return fragment(
        facts(
            [
                ("destination", report.destination or "none yet"),
                ("dataset", report.dataset_name),
                ("location", report.location),
                ("tables", f"{len(report.tables):,}"),
                ("last run", None if last is None else f"{short_time(last['started_at'])} UTC"),
                ("result", None if last is None else run_result(last)),
            ]
        ),
        element("div", element("strong", "Left out"), element("ul", omissions), class_="note", role="note")
        if omissions
        else None,
    )


def run_result(run: Mapping[str, Any]) -> Html:
    """Return the result of a run in a few words."""
    if run["state"] != "finished":
        return element("span", run["state"], class_="bad" if run["state"] == "ended" else None)
    if run["failed_step"] is not None:
        return element("span", f"failed in {run['failed_step']}", class_="bad")
    if run["failed_jobs"]:
        return element("span", f"without {human_count(run['failed_jobs'], 'failed job')}", class_="bad")
    return element("span", "ok", class_="good")


# --- tables and their growth


def _tables(report: PipelineReport) -> Html:
    if not report.tables:
        return element("p", "No load has written a table yet.")
    has_schemas = len(report.schemas) > 1
    headers = ("table", "rows", "last load", "rows by load", "columns", *(["schema"] if has_schemas else []))
    rows = [_table_row(table, report.loads)[: len(headers)] for table in report.tables]
    return fragment(
        _growth(report),
        table_element(
            "Tables, nested ones below their parents",
            headers,
            rows,
            numbers=("rows", "last load", "columns"),
        ),
    )


def _table_row(table: ReportedTable, loads: Sequence[ReportedLoad]) -> Sequence[Content]:
    own_loads = [load for load in loads if load.schema_name == table.schema_name]
    written = [(load, load.rows[table.table]) for load in own_loads if table.table in load.rows]
    bars = [
        (_load_text(load, load.rows.get(table.table, 0)), load.rows.get(table.table, 0)) for load in own_loads
    ]
    last = _number(written[-1][1]) if written else None
    label = f"Rows of {table.table} in {human_count(len(bars), 'load')}"
    return (
        element("span", table.table, class_="nested" if table.parent else None),
        _number(table.rows),
        last,
        bar_chart(label, bars) if bars else None,
        f"{table.columns:,}",
        table.schema_name,
    )


def _growth(report: PipelineReport) -> Html | None:
    """Return the sums of loaded rows over the loads, of the tables with most of them."""
    if len(report.loads) < 2:  # noqa: PLR2004 - one load is no growth
        return None
    sums = {
        table.table: list(accumulate(load.rows.get(table.table) or 0 for load in report.loads))
        for table in report.tables
    }
    largest = sorted(sums, key=lambda table: sums[table][-1], reverse=True)[:SERIES_COLORS]
    lines = {table: sums[table] for table in sums if table in largest and sums[table][-1]}
    most = max((numbers[-1] for numbers in lines.values()), default=0)
    label = "Rows loaded, summed over " + human_count(len(report.loads), "load")
    first, last = report.loads[0], report.loads[-1]
    legend = [
        element("li", _swatch(position), f"{table}: {numbers[-1]:,}")
        for position, (table, numbers) in enumerate(lines.items())
    ]
    note = "" if len(lines) == len(report.tables) else f" The {len(lines)} largest tables are shown."
    return element(
        "figure",
        element("figcaption", f"{label}.{note} Merged and replaced rows count in each load."),
        element("div", element("span", f"{most:,} rows"), class_="scale"),
        element("div", line_chart(label, lines), class_="plot"),
        element(
            "div",
            element("span", short_time(first.loaded_at)),
            element("span", short_time(last.loaded_at)),
            class_="scale",
        ),
        element("ul", legend, class_="legend"),
    )


def _swatch(position: int) -> Html:
    path = element("path", d="M0 5H20", class_=f"line series-{position % SERIES_COLORS}")
    return element("svg", path, viewBox="0 0 20 10", aria_hidden="true")


def _load_text(load: ReportedLoad, rows: int | None) -> str:
    count = "rows not counted" if rows is None else human_count(rows, "row")
    return f"{short_time(load.loaded_at)}: {count}"


# --- schemas


def _schemas(schemas: Sequence[Mapping[str, Any]]) -> Html:
    if not schemas:
        return element("p", "There is no schema yet.")
    return fragment(_schema(document, f"table-{position}") for position, document in enumerate(schemas))


def _schema(document: Mapping[str, Any], anchors: str) -> Html:
    schema = Schema.from_dict(document)
    search = element(
        "div",
        element("label", f"Search tables and columns of {schema.name}", for_=f"{anchors}-search"),
        element("input", type="search", id=f"{anchors}-search", autocomplete="off", spellcheck="false"),
        element("span", role="status", class_="muted"),
        class_="search",
        hidden=True,
    )
    return element(
        "div",
        element("p", f"Schema {schema.name}, version {schema.version}. Select a table to see its columns."),
        search,
        to_html_diagram(schema.stored, anchors=anchors),
        table_sections(schema.stored, anchors=anchors),
        data_explorer=True,
    )


# --- runs


def _last_run(report: PipelineReport) -> Html:
    latest = report.runs[0] if report.runs else None
    if latest is None:
        return element("p", "This machine has no record of a run.")
    unfinished = latest["state"] != "finished"
    return fragment(
        element(
            "p",
            f"The newest run has no end: {latest['error'] or 'it is still running'}.",
            class_="note failure",
        )
        if unfinished
        else None,
        timeline(report.trace) if report.trace else None,
        element(
            "details",
            element("summary", f"The last {human_count(len(report.runs), 'run')} on this machine"),
            table_element(
                "Runs, newest first",
                ("started (UTC)", "result", "took", "error"),
                map(_run_row, report.runs),
                numbers=("took",),
            ),
        ),
    )


def _run_row(run: Mapping[str, Any]) -> Sequence[Content]:
    seconds = run["seconds"]
    return (
        short_time(run["started_at"]),
        run_result(run),
        None if seconds is None else human_seconds(seconds),
        run["error"] or "",
    )


# --- quarantine and changes


def _quarantine(report: PipelineReport) -> Html:
    if not report.quarantine and not report.rejects:
        return element("p", "No row is in quarantine, and no contract has refused a value in the last runs.")
    reasons = [
        (reason.table_name, reason.reason, reason.rule, f"{reason.count:,}", _example(reason.example))
        for reason in report.quarantine
    ]
    rejects = [
        (reject["table"], reject["reason"], reject["mode"], _number(reject["count"]), reject["load_id"])
        for reject in report.rejects
    ]
    return fragment(
        table_element(
            "Rows in the quarantine table, by reason",
            ("table", "reason", "rule", "rows", "example"),
            reasons,
            numbers=("rows",),
        )
        if reasons
        else None,
        table_element(
            "Refused by contracts in the last runs",
            ("table", "reason", "mode", "values", "load"),
            rejects,
            numbers=("values",),
        )
        if rejects
        else None,
    )


def _checks(checks: Sequence[Mapping[str, Any]]) -> Html:
    if not checks:
        return element("p", "No checks were evaluated in the last runs.")
    results = [
        CheckResult(**{key: value for key, value in check.items() if key != "load_id"}) for check in checks
    ]
    failed = sum(not result.passed for result in results)
    summary = f"{failed:,} of {human_count(len(results), 'check')} failed in the last runs."
    return fragment(
        element("p", element("span", summary, class_="bad" if failed else "good")),
        checks_element("Checks of the last runs, newest first", results),
    )


def _example(text: str | None) -> Html | None:
    return None if text is None else element("code", text)


def _changes(report: PipelineReport) -> Html:
    if not report.changes:
        return element("p", "No load has changed a table.")
    rows = [
        (
            change.table,
            change.change,
            None if change.loaded_at is None else short_time(change.loaded_at),
            change.load_id,
        )
        for change in reversed(report.changes)
    ]
    return table_element("Changes of tables, newest first", ("table", "change", "loaded (UTC)", "load"), rows)


# --- packages and state


def _packages(packages: Sequence[Mapping[str, Any]]) -> Html:
    if not packages:
        return element("p", "There are no packages.")
    failures = [
        element("li", f"{package['load_id']}, {job['table']}: {job['message']}")
        for package in packages
        for job in package["failed_jobs"]
    ]
    return fragment(
        element("div", element("strong", "Jobs with errors"), element("ul", failures), class_="note failure")
        if failures
        else None,
        table_element(
            "Packages, newest first",
            ("load", "status", "sequence", "jobs", "size", "completed (UTC)"),
            map(_package_row, reversed(packages)),
            numbers=("sequence", "size"),
        ),
    )


def _package_row(package: Mapping[str, Any]) -> Sequence[Content]:
    jobs = [f"{count:,} {state.removesuffix('_jobs')}" for state, count in package["jobs"].items()]
    completed = package["completed_at"]
    good, bad = package["state"] == "loaded", package["state"] == "aborted" or package["failed_jobs"]
    return (
        package["load_id"],
        element("span", package["state"], class_="bad" if bad else "good" if good else None),
        _number(package["sequence"]),
        ", ".join(jobs) or None,
        human_size(package["bytes"]),
        None if completed is None else short_time(completed),
    )


def _state(state: Mapping[str, Any]) -> Html:
    if not state:
        return element("p", "There is no state yet.")
    text = json.dumps(state, indent=2, default=str, ensure_ascii=False)
    return fragment(
        element("p", "Values that may be secrets are masked."),
        element("pre", text, role="group", aria_label="Values of the state", tabindex=0, class_="scroll"),
    )


def _number(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def short_time(timestamp: str) -> str:
    """Return a time in UTC up to its seconds."""
    return timestamp[:_DATE_LENGTH].replace("T", " ")
