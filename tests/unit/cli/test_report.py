"""`penstock pipeline NAME report` and `pipeline show`: their data, pages and answers, without Spark."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from typing import TYPE_CHECKING, Any

import pytest
from tests.doc_blocks import doc_blocks
from tests.unit.cli.factories import (
    SECRET,
    extract_package,
    invoke,
    json_output,
    location_options,
    make_stuck_package,
)
from tests.unit.cli.golden import assert_output
from tests.unit.pages.test_elements import HOSTILE, Reader

import penstock
from penstock.cli.report import pipeline_report
from penstock.cli.report_page import report_page
from penstock.cli.report_server import ReportServer
from penstock.destinations import delta, duckdb
from penstock.errors import PipelineStepFailed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from penstock.pipeline.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("no_spark", "disk")
ORDER = {"id": 1, "items": [{"sku": "tea"}, {"sku": "mug"}]}


@penstock.resource(name="orders")
def orders_with_state(rows: list[Any]) -> Iterator[Any]:
    penstock.current.resource_state().update(page=7, api_key=SECRET)
    yield from rows


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    """Return a pipeline that has loaded twice; the second load has a new column."""
    pipeline = penstock.pipeline(
        "shop", destination=delta(bucket_url=str(tmp_path / "lake")), progress="none"
    )
    pipeline.run(orders_with_state([ORDER]))
    pipeline.run(orders_with_state([ORDER | {"id": 2}, {"id": 3, "note": HOSTILE}]))
    return pipeline


def stable(output: str, folder: Path) -> str:
    """Return an output without what differs from run to run."""
    text = output.replace(str(folder), "FOLDER")
    text = re.sub(r"\d{10}\.\d{4,6}", "LOAD", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.+:\d]*", "TIME", text)


def test_the_report_has_tables_with_their_rows_and_those_of_each_load(pipeline: Pipeline) -> None:
    (report,) = json_output("shop", "report")

    assert [(table["table"], table["parent"], table["rows"]) for table in report["tables"]] == [
        ("orders", None, 3),
        ("orders__items", "orders", 4),
    ]
    assert [load["rows"] for load in report["loads"]] == [
        {"orders": 1, "orders__items": 2},
        {"orders": 2, "orders__items": 2},
    ]
    assert report["omissions"] == []
    assert report["packages"][-1]["jobs"] == {"completed_jobs": 2}
    assert [step["step"] for step in report["trace"]["steps"]] == ["extract", "normalize", "load"]


def test_the_report_shows_which_load_changed_a_table(pipeline: Pipeline) -> None:
    (report,) = json_output("shop", "report")

    first, second = (load["load_id"] for load in report["loads"])
    assert [(change["load_id"], change["change"]) for change in report["changes"]] == [
        (first, "new table orders: id bigint"),
        (first, "new table orders__items: sku text"),
        (second, "new column orders.note: text"),
    ]


def test_secrets_of_the_state_are_in_neither_rendering(pipeline: Pipeline) -> None:
    (report,) = json_output("shop", "report")
    html = report_page(pipeline_report(pipeline))

    state = report["state"]["sources"]["shop"]["resources"]["orders"]
    assert state == {"page": 7, "api_key": "***"}
    assert SECRET not in json.dumps(report) + html


def test_the_page_is_written_beside_its_name(pipeline: Pipeline, tmp_path: Path) -> None:
    done = invoke("shop", "report")
    elsewhere = invoke("shop", "report", "--output", "pages/page.html")

    assert done.stdout == f"Wrote {tmp_path / 'shop-report.html'}.\n"
    assert elsewhere.exit_code == 0, elsewhere.exception
    html = (tmp_path / "pages" / "page.html").read_text(encoding="utf-8")
    text = Reader(html).text
    assert {"orders__items", "new column orders.note: text", "Skip to the content"} <= set(
        re.findall(r"orders__items|new column orders\.note: text|Skip to the content", text)
    )


def test_names_and_values_of_others_are_text_on_the_page(tmp_path: Path) -> None:
    pipeline = penstock.pipeline(
        "shop", destination=delta(bucket_url=str(tmp_path / "lake")), progress="none"
    )
    pipeline.run([{"id": 1, HOSTILE: HOSTILE}, {"id": object()}], table_name=HOSTILE)

    def broken() -> Iterator[Any]:
        yield {"id": 1}
        raise ValueError(HOSTILE)

    with pytest.raises(penstock.PenstockError):
        pipeline.run(penstock.resource(broken, name="broken"))
    report = pipeline_report(pipeline)

    (reason,) = report.quarantine
    assert (reason.rule, reason.count) == ("json", 1)
    reader = Reader(report_page(report))
    assert reader.tags.count("script") == 1, "that of the page"
    assert HOSTILE in reader.text
    assert "extract failed" in reader.text


def test_a_destination_that_cannot_be_read_is_left_out_with_the_reason(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    (tmp_path / "lake").rename(tmp_path / "moved")
    (tmp_path / "lake").write_text("no folder", encoding="utf-8")

    done = invoke("shop", "report")
    (report,) = json_output("shop", "report")

    assert done.exit_code == 0, done.exception
    assert "note: left out " in done.stderr
    assert report["omissions"]
    assert [step["step"] for step in report["trace"]["steps"]] == ["extract", "normalize", "load"]
    assert [change["change"] for change in report["changes"]][-1] == "new column orders.note: text"
    assert [table["table"] for table in report["tables"]] == ["orders", "orders__items"]


def test_the_report_on_a_deleted_dataset_has_what_this_machine_has(
    pipeline: Pipeline, tmp_path: Path
) -> None:
    (tmp_path / "lake").rename(tmp_path / "moved")

    (report,) = json_output("shop", "report")

    assert [(table["table"], table["rows"]) for table in report["tables"]] == [
        ("orders", None),
        ("orders__items", None),
    ]
    assert report["state"]["sources"]["shop"]["resources"]["orders"]["page"] == 7
    assert report["omissions"] == [
        f"the destination: {tmp_path / 'lake' / 'shop'} has no dataset of this pipeline"
    ]


def test_a_database_counts_its_rows(tmp_path: Path) -> None:
    pipeline = penstock.pipeline(
        "shop", destination=duckdb(str(tmp_path / "shop.duckdb")), dataset_name="raw", progress="none"
    )
    pipeline.run(orders_with_state([ORDER, ORDER | {"id": 2}]))

    report = pipeline_report(pipeline)

    assert [(table.table, table.rows) for table in report.tables] == [
        ("orders", 2),
        ("orders__items", 4),
    ]
    assert report.omissions == ()


def test_a_table_that_spark_has_to_read_is_left_out(pipeline: Pipeline, tmp_path: Path) -> None:
    for file in (tmp_path / "lake" / "shop" / "orders").rglob("*.parquet"):
        file.unlink()

    report = pipeline_report(pipeline)

    assert [table.rows for table in report.tables] == [None, 4]
    assert report.omissions == ("the rows of 1 table, which Spark has to read: pass --spark",)
    assert "Spark has to read" in Reader(report_page(report)).text


def test_a_pipeline_that_has_only_extracted_has_a_report() -> None:
    load_id = extract_package()

    (report,) = json_output("shop", "report")

    assert [package["load_id"] for package in report["packages"]] == [load_id]
    assert (report["loads"], report["destination"]) == ([], None)
    assert (
        "No load has written a table yet."
        in Reader(report_page(pipeline_report(penstock.pipeline("shop")))).text
    )


def test_a_failed_job_is_shown_with_its_message(tmp_path: Path, disk: Path) -> None:
    make_stuck_package(tmp_path, disk)

    (report,) = json_output("shop", "report", *location_options(tmp_path))

    (package,) = report["packages"]
    (job,) = package["failed_jobs"]
    assert job["message"].startswith("retry: terminal")


def test_only_the_last_loads_are_shown(pipeline: Pipeline) -> None:
    report = pipeline_report(pipeline, max_loads=1)

    assert [load.rows for load in report.loads] == [{"orders": 2, "orders__items": 2}]
    assert report.changes == (), "the load before is unknown"
    assert report.omissions == ("loads before the last 1",)


def test_the_text_of_the_page_is_stable(pipeline: Pipeline, tmp_path: Path) -> None:
    text = Reader(
        re.sub(r"<(style|script)>.*?</\1>", "", report_page(pipeline_report(pipeline)), flags=re.DOTALL)
    ).text

    changes = text[text.index("Changes of tables") : text.index("Packages, newest first")]
    assert_output("report_changes", stable(changes, tmp_path) + "\n")


# --- the server


@pytest.fixture
def server(disk: Path) -> Iterator[ReportServer]:
    with ReportServer(disk) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def answer(
    server: ReportServer, path: str = "/", *, host: str | None = None, method: str = "GET"
) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.request(method, path, headers={} if host is None else {"Host": host})
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response.status, body


def test_the_server_lists_pipelines_and_serves_their_reports(
    pipeline: Pipeline, server: ReportServer
) -> None:
    status, index = answer(server)
    report_status, report = answer(server, "/shop")

    assert (status, report_status) == (200, 200)
    assert 'href="shop"' in index
    assert "orders__items" in report


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_request_under_another_name_is_refused(server: ReportServer, host: str) -> None:
    extract_package()

    status, body = answer(server, "/shop", host=host)

    assert status == 421
    assert "orders" not in body


@pytest.mark.parametrize(
    "path", ["/other", "/..", "/%2e%2e/home", "/shop/state.json", "/%00", "/%3Cscript%3E"]
)
def test_a_path_that_is_no_pipeline_has_no_page(server: ReportServer, path: str) -> None:
    extract_package()

    status, body = answer(server, path)

    assert status == 404
    assert body.count("<script") == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_the_server_only_reads(server: ReportServer, method: str) -> None:
    assert answer(server, method=method)[0] == 501


def test_a_request_for_the_head_has_no_body(server: ReportServer) -> None:
    assert answer(server, method="HEAD") == (200, "")


def test_the_server_listens_to_this_machine_alone(server: ReportServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert answer(server, host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.at_length
def test_the_command_of_the_page_serves_until_it_is_interrupted(disk: Path) -> None:
    extract_package()
    (block,) = (block for block in doc_blocks("docs/report.md") if "Serving" in block.text)
    (_, *words), shown = block.commands[0], block.text.splitlines()[1]
    command = [sys.executable, "-c", "from penstock.cli import main; main()", *words]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        with urllib.request.urlopen(re.findall(r"http://\S+/", line)[0]) as response:
            index = response.read().decode()
        process.send_signal(signal.SIGINT)

    assert disk.exists()
    assert re.sub(r":\d+/", ":PORT/", line.strip()) == re.sub(r":\d+/", ":PORT/", shown)
    assert 'href="shop"' in index
    assert process.returncode == 0


def test_the_page_shows_the_checks_of_the_last_runs_also_of_a_load_that_was_stopped(
    pipeline: Pipeline,
) -> None:
    rows = orders_with_state([ORDER]).expect(HOSTILE, "id > 1", on_fail="stop")
    with pytest.raises(PipelineStepFailed):
        pipeline.run(rows.expect("has id", "id IS NOT NULL"))

    report = pipeline_report(pipeline)
    html = report_page(report)

    assert [(check["name"], check["passed"]) for check in report.checks] == [
        (HOSTILE, False),
        ("has id", True),
    ]
    assert "1 of 2 checks failed in the last runs." in html
    assert HOSTILE not in html
    assert HOSTILE in Reader(html).text
