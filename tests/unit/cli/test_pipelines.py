"""`penstock pipeline`: the list of pipelines, how one is found, and the results of runs."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.factories import (
    STUCK,
    extract_package,
    invoke,
    json_output,
    location_options,
    make_stuck_package,
    orders,
)
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.cli.json_documents import PipelineSummary
from penstock.cli.overview import pipelines_table, run_summary
from penstock.errors import (
    CannotRestorePipelineException,
    InvalidPipelineName,
    PipelineNeverRan,
    PipelineStepFailed,
    UsageError,
)
from penstock.pipeline.trace import PipelineTrace, StepTrace, StoredStepInfo

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result


def test_pipelines_are_listed_by_name_with_how_their_last_runs_ended(disk: Path) -> None:
    extract_package("shop")
    bad = penstock.resource([{"id": 1}], name="bad").add_map(lambda row: row["missing"])
    with pytest.raises(PipelineStepFailed):
        penstock.pipeline("crm").extract(bad)
    (disk / "no_pipeline").mkdir()

    crm, shop = json_output("list")

    assert (crm["pipeline_name"], shop["pipeline_name"]) == ("crm", "shop")
    assert (
        shop.keys()
        == crm.keys()
        == {"pipeline_name", "working_dir", "destination", "dataset_name", "last_run", "problem"}
    )
    assert (shop["working_dir"], shop["destination"]) == (str(disk / "shop"), None)
    assert shop["last_run"].keys() == {
        *("started_at", "state", "seconds", "failed_step", "error", "error_code", "failed_jobs")
    }
    assert shop["last_run"]["failed_step"] is None
    assert (crm["last_run"]["failed_step"], crm["last_run"]["error_code"]) == ("extract", "resource-failed")
    lines = [line for line in invoke("list").stdout.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    assert [cell[0] for cell in cells] == ["crm", "shop"]
    assert [cell[4] for cell in cells] == ["failed in extract", "ok"]


def test_a_run_that_left_out_failed_jobs_is_not_shown_as_ok() -> None:
    info = StoredStepInfo(
        document={"loads_ids": [], "failed_jobs": [{"job_id": "orders.x.0.reference"}]}, text=""
    )
    now = datetime(2024, 5, 6, tzinfo=UTC)
    step = StepTrace(step="load", seconds=1.0, info=info)
    run = PipelineTrace(
        transaction_id="5f", pipeline_name="shop", started_at=now, finished_at=now, steps=(step,)
    )
    summary = PipelineSummary(
        pipeline_name="shop",
        working_dir="shop",
        destination=None,
        dataset_name=None,
        last_run=run_summary(run),
        problem=None,
    )

    table = pipelines_table([summary])

    assert [str(cell) for cell in table.columns[-1].cells] == ["loaded without 1 failed job"]


def test_an_empty_list_of_pipelines_is_reported(disk: Path) -> None:
    done = invoke("list")

    assert (done.exit_code, done.stdout) == (0, f"There are no pipelines in {disk}.\n")
    assert json_output("list") == []


def test_the_folder_of_pipelines_is_an_option(tmp_path: Path, disk: Path) -> None:
    there = tmp_path / "elsewhere"
    penstock.pipeline("shop", pipelines_dir=there).extract(orders())

    assert json_output("list") == []
    assert [item["pipeline_name"] for item in json_output("list", "--pipelines-dir", str(there))] == ["shop"]
    (info,) = json_output("shop", "info", "--pipelines-dir", str(there))
    assert info["working_dir"] == str(there / "shop")


@pytest.mark.parametrize(
    "command",
    [
        "info",
        "trace",
        "packages",
        "failed-jobs",
        "schema",
        "state",
        "sync",
        "drop-pending",
        "drop orders",
        "abort-packages",
        "undo",
        "replay",
        "load-package",
        f"package {STUCK}",
    ],
)
def test_an_unknown_pipeline_is_an_error_that_lists_the_known_ones(disk: Path, command: str) -> None:
    nobody = invoke("shop", *command.split()).exception
    extract_package("crm")
    extract_package("erp")

    error = invoke("shop", *command.split()).exception

    assert isinstance(nobody, UsageError)
    assert nobody.message == f"pipeline 'shop' does not exist in {disk}"
    assert nobody.hint.startswith("the folder has no pipelines; ")
    assert isinstance(error, UsageError)
    assert error.hint.startswith("known: crm, erp; ")
    assert not (disk / "shop").exists()


def test_an_unknown_pipeline_is_an_error_with_the_most_similar_name(disk: Path) -> None:
    extract_package("shop")

    error = invoke("shpo", "info").exception

    assert isinstance(error, UsageError)
    assert error.hint.startswith("did you mean 'shop'? Known: shop; ")


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("info shop", "shop info"),
        ("failed-jobs shop 17.5 --json", "shop failed-jobs 17.5 --json"),
        ("trace --last 5", "NAME trace --last 5"),
        ("state", "NAME state"),
    ],
)
def test_a_command_before_the_name_is_an_error_with_the_right_order(
    disk: Path, words: str, command: str
) -> None:
    extract_package("shop")

    done = invoke(*words.split())

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"The name of a pipeline precedes the command: root pipeline {command}" in error_text(done)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("pipeline --pipelines-dir X shop why id", "pipeline shop why id --pipelines-dir X"),
        ("pipeline shop --json info", "pipeline shop info --json"),
        ("pipeline --last=5 --json shop trace", "pipeline shop trace --last=5 --json"),
        ("pipeline --json list", "pipeline list --json"),
        ("--json pipeline shop info", "pipeline shop info --json"),
        ("config --pipeline shop explain normalize", "config explain normalize --pipeline shop"),
    ],
)
def test_an_option_before_its_command_is_an_error_with_the_right_order(words: str, command: str) -> None:
    done = CliRunner().invoke(app, words.split())

    assert (done.exit_code, done.stdout) == (2, "")
    assert f"Options follow the command: root {command}" in error_text(done)


@pytest.mark.parametrize("words", ["--no-such-option pipeline list", "pipeline --json", "--last 5"])
def test_an_unknown_option_or_one_without_a_command_is_reported_as_such(words: str) -> None:
    done = CliRunner().invoke(app, words.split())

    assert done.exit_code == 2
    assert "Options follow the command" not in error_text(done)


def test_a_pipeline_may_have_the_name_of_one_of_its_commands(disk: Path) -> None:
    extract_package("info")

    (info,) = json_output("info", "info")

    assert info["pipeline_name"] == "info"
    assert invoke("info", "--help").exit_code == 0


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("pipeline shop inf", "No such command 'inf': did you mean 'info'? Known: info, trace, "),
        ("pipelines list", "No such command 'pipelines': did you mean 'pipeline'? Known: demo, "),
        ("inspect", "No such command 'inspect': known: demo, load, init, conns, doctor, "),
    ],
)
def test_an_unknown_command_is_an_error_with_the_most_similar_one(words: str, text: str) -> None:
    done = CliRunner().invoke(app, words.split())

    assert done.exit_code == 2
    assert text in error_text(done)


def test_the_version_is_printed() -> None:
    done = CliRunner().invoke(app, ["--version"])

    assert (done.exit_code, done.stdout) == (0, f"penstock {penstock.__version__}\n")


def error_text(done: Result) -> str:
    """Return what a command has printed to the standard error, without the frame and its line breaks."""
    return " ".join(done.stderr.replace("│", " ").split())


def test_a_name_that_leads_out_of_the_folder_is_refused(disk: Path) -> None:
    assert isinstance(invoke("../shop", "info").exception, InvalidPipelineName)


def test_a_pipeline_may_be_called_like_a_command(disk: Path) -> None:
    extract_package("list")

    (info,) = json_output("list", "info")

    assert info["pipeline_name"] == "list"
    assert [item["pipeline_name"] for item in json_output("list")] == ["list"]


def test_the_overview_shows_pending_packages(disk: Path) -> None:
    load_id = extract_package()

    (info,) = json_output("shop", "info")
    text = invoke("shop", "info").stdout.splitlines()

    assert info.keys() == {
        *("pipeline_name", "working_dir", "destination", "dataset_name", "location", "first_run"),
        *("extracted_packages", "normalized_packages", "completed_packages", "state_version", "schemas"),
        *("last_run", "lease"),
    }
    assert info["lease"] is None
    assert (info["destination"], info["location"], info["first_run"]) == (None, None, True)
    assert (info["extracted_packages"], info["normalized_packages"]) == ([load_id], [])
    assert text[0] == "Pipeline 'shop' to no destination, dataset 'shop'"
    assert "  packages:  0 complete, 1 extracted, 0 normalized" in text
    assert text[-1] == f"    pending: {load_id} (extracted)"


def test_the_holder_of_the_lease_is_shown_while_a_run_is_active(disk: Path) -> None:
    outputs: list[tuple[dict[str, Any], list[str]]] = []

    def rows() -> Iterator[dict[str, int]]:
        (info,) = json_output("shop", "info")
        outputs.append((info["lease"], invoke("shop", "info").stdout.splitlines()))
        yield {"id": 1}

    extract_package("shop")
    penstock.pipeline("shop").extract(rows, table_name="orders")

    [(lease, lines)] = outputs
    assert (lease["process"], lease["host"]) == (os.getpid(), socket.gethostname())
    assert lease.keys() == {"host", "process", "user", "started_at", "last_heartbeat_at", "is_expired"}
    assert lease["is_expired"] is False
    assert lease["started_at"] <= lease["last_heartbeat_at"]
    (line,) = (line for line in lines if line.startswith("  lease: "))
    assert f"process {os.getpid()} of {lease['user']} on {lease['host']}, last heartbeat 2" in line
    assert not any(line.startswith("  lease:") for line in invoke("shop", "info").stdout.splitlines())


def test_packages_of_a_loaded_pipeline_are_read_at_its_destination(tmp_path: Path, disk: Path) -> None:
    make_stuck_package(tmp_path, disk)

    (info,) = json_output("shop", "info", *location_options(tmp_path))

    assert (info["destination"], info["dataset_name"]) == ("delta", "raw")
    assert info["location"] == str(tmp_path / "lake" / "raw")
    assert info["normalized_packages"] == [STUCK]


def test_the_location_of_the_tables_is_read_from_the_settings(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_stuck_package(tmp_path, disk)
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", str(tmp_path / "lake"))

    assert [item["load_id"] for item in json_output("shop", "packages")] == [STUCK]


def test_a_pipeline_that_ran_elsewhere_needs_its_destination(tmp_path: Path, disk: Path) -> None:
    where = ("--destination", "delta", "--dataset-name", "raw", *location_options(tmp_path))

    error = invoke("shop", "info", *where).exception

    assert isinstance(error, CannotRestorePipelineException)
    assert "delta has no load of it in dataset 'raw'" in error.message


def test_a_location_without_a_destination_is_an_error(tmp_path: Path, disk: Path) -> None:
    extract_package()

    error = invoke("shop", "info", *location_options(tmp_path)).exception

    assert isinstance(error, UsageError)
    assert "pass --destination too" in error.hint


def test_the_last_runs_are_shown_the_newest_first(disk: Path) -> None:
    ids = [extract_package(), extract_package()]

    (newest,) = json_output("shop", "trace")
    both = json_output("shop", "trace", "--last", "5")

    assert newest.keys() == {
        *(
            "transaction_id",
            "pipeline_name",
            "started_at",
            "finished_at",
            "engine_version",
            "execution_context",
            "resolved_config_values",
            "steps",
        )
    }
    assert newest == both[0]
    assert [item["steps"][0]["info"]["loads_ids"] for item in both] == [[ids[1]], [ids[0]]]
    text = invoke("shop", "trace").stdout
    assert text.startswith("Run of 'shop' at ")
    assert "Pipeline 'shop' extracted 2 rows" in text
    assert invoke("shop", "trace", "--last", "2").stdout.count("Run of 'shop'") == 2


def test_a_pipeline_that_has_not_run_here_has_no_trace(disk: Path) -> None:
    penstock.pipeline("shop").set_local_state_val("seen", 1)

    error = invoke("shop", "trace").exception

    assert isinstance(error, PipelineNeverRan)
    assert error.message == f"pipeline 'shop' has no recorded run in {disk}"


def test_a_command_in_another_folder_reads_the_location_of_the_last_run(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "relative_lake")
    by_setting = penstock.pipeline("shop", destination="delta").extract(orders()).loads_ids
    monkeypatch.delenv("DESTINATION__DELTA__BUCKET_URL")
    by_default = penstock.pipeline("crm", destination="delta").extract(orders()).loads_ids
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    (crm,) = json_output("crm", "info")
    (shop,) = json_output("shop", "info")
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "relative_lake")
    (relative,) = json_output("shop", "info")

    assert (crm["location"], crm["extracted_packages"]) == (str(tmp_path / "crm_lake" / "crm"), by_default)
    assert shop["location"] == str(tmp_path / "relative_lake" / "shop")
    assert shop["extracted_packages"] == by_setting
    assert relative == shop
    assert invoke("crm", "info").stderr == ""


def test_a_setting_with_another_location_takes_precedence_with_a_note(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_lake(tmp_path).extract(orders())
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", str(tmp_path / "other"))

    by_setting, by_option = (
        invoke("shop", "packages"),
        invoke("shop", "packages", *location_options(tmp_path)),
    )

    there, here = tmp_path / "lake" / "shop", tmp_path / "other" / "shop"
    note = f"note: the last run loaded to {there}, this command reads {here}; pass --location\n"
    assert by_setting.stderr == note
    assert by_option.stderr == ""


def test_options_replace_a_damaged_origin_file(tmp_path: Path, disk: Path) -> None:
    made = at_lake(tmp_path).extract(orders())
    (disk / "shop" / "origin.json").write_text('{"destination_name": "del', encoding="utf-8")

    where = ("--destination", "delta", "--dataset-name", "shop", *location_options(tmp_path))
    done, error = invoke("shop", "info", *where), invoke("shop", "info").exception

    assert done.exit_code == 0, done.exception
    assert f"pending: {made.loads_ids[0]} (extracted)" in done.stdout
    assert f"note: {disk / 'shop' / 'origin.json'} cannot be read: " in done.stderr
    assert isinstance(error, UsageError)
    for option in ("--destination", "--dataset-name", "--location", "--staging"):
        assert option in error.hint


def at_lake(tmp_path: Path, **said: Any) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    return penstock.pipeline("shop", destination=lake, **said)


def test_a_first_run_that_did_not_reach_its_load_is_found(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")
    made = at_lake(tmp_path, dataset_name="raw").extract(orders())

    (info,) = json_output("shop", "info", *location_options(tmp_path))
    done = invoke("shop", "drop-pending", "--yes", *location_options(tmp_path))

    assert (info["destination"], info["dataset_name"]) == ("delta", "raw_dataset")
    assert info["extracted_packages"] == made.loads_ids
    assert done.stdout == "Dropped 1, kept 0.\n"


def test_packages_of_staging_are_found_by_the_last_run_or_by_an_option(tmp_path: Path, disk: Path) -> None:
    bucket = tmp_path / "stage"
    made = at_lake(tmp_path, staging=penstock.destinations.filesystem(str(bucket))).extract(orders())

    noted = json_output("shop", "packages", *location_options(tmp_path))
    elsewhere = json_output(
        "shop", "packages", *location_options(tmp_path), "--staging", str(tmp_path / "other")
    )
    (disk / "shop" / "origin.json").unlink()
    forgotten = json_output("shop", "packages", "--destination", "delta", *location_options(tmp_path))
    said = json_output(
        "shop", "packages", "--destination", "delta", *location_options(tmp_path), "--staging", str(bucket)
    )

    assert [[item["load_id"] for item in found] for found in (noted, elsewhere, forgotten, said)] == [
        made.loads_ids,
        [],
        [],
        made.loads_ids,
    ]


def test_an_unknown_destination_is_noted(disk: Path) -> None:
    extract_package()

    done = invoke("shop", "drop-pending", "--yes")

    assert done.exit_code == 0
    assert done.stderr.startswith("note: the destination of 'shop' is unknown, ")


def test_an_unreadable_state_hides_no_other_pipeline(disk: Path) -> None:
    extract_package("crm")
    extract_package("shop")
    (disk / "crm" / "state.json").write_text('{"dataset_name": "ra', encoding="utf-8")

    crm, shop = json_output("list")

    assert crm["problem"].startswith(f"{disk / 'crm' / 'state.json'} cannot be read: ")
    assert (crm["last_run"]["failed_step"], shop["problem"]) == (None, None)
    assert "shop" in invoke("list").stdout
    assert isinstance(invoke("crm", "info").exception, UsageError)


def test_the_list_names_the_destination_and_not_the_class_name_of_dlt(tmp_path: Path, disk: Path) -> None:
    make_stuck_package(tmp_path, disk)

    (shop,) = json_output("list")

    assert (shop["destination"], shop["dataset_name"]) == ("delta", "raw")


def test_the_number_of_tables_is_not_masked_whatever_the_schema_name(disk: Path) -> None:
    extract_package("token_shop")

    (info,) = json_output("token_shop", "info")

    assert info["schemas"] == {"token_shop": 0}
