"""`penstock pipeline`: which pipelines there are, how they are found, and how their runs ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.cli.shops import STUCK, asked, extracted, lake, orders, stuck, told

import penstock
from penstock.errors import (
    CannotRestorePipelineException,
    InvalidPipelineName,
    PipelineNeverRan,
    PipelineStepFailed,
    UsageError,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_pipelines_are_listed_by_name_with_how_their_last_runs_ended(disk: Path) -> None:
    extracted("shop")
    bad = penstock.resource([{"id": 1}], name="bad").add_map(lambda row: row["missing"])
    with pytest.raises(PipelineStepFailed):
        penstock.pipeline("crm").extract(bad)
    (disk / "no_pipeline").mkdir()

    crm, shop = told("list")

    assert (crm["pipeline_name"], shop["pipeline_name"]) == ("crm", "shop")
    assert (
        shop.keys()
        == crm.keys()
        == {"pipeline_name", "working_dir", "destination", "dataset_name", "last_run", "problem"}
    )
    assert (shop["working_dir"], shop["destination"]) == (str(disk / "shop"), None)
    assert shop["last_run"].keys() == {
        *("started_at", "state", "seconds", "failed_step", "error", "error_code")
    }
    assert shop["last_run"]["failed_step"] is None
    assert (crm["last_run"]["failed_step"], crm["last_run"]["error_code"]) == ("extract", "resource-failed")
    lines = [line for line in asked("list").stdout.splitlines() if "│" in line]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]
    assert [cell[0] for cell in cells] == ["crm", "shop"]
    assert [cell[4] for cell in cells] == ["failed in extract", "ok"]


def test_where_there_are_no_pipelines_the_list_says_so(disk: Path) -> None:
    done = asked("list")

    assert (done.exit_code, done.stdout) == (0, f"There are no pipelines in {disk}.\n")
    assert told("list") == []


def test_the_folder_of_pipelines_can_be_said(tmp_path: Path, disk: Path) -> None:
    there = tmp_path / "elsewhere"
    penstock.pipeline("shop", pipelines_dir=there).extract(orders())

    assert told("list") == []
    assert [one["pipeline_name"] for one in told("list", "--pipelines-dir", str(there))] == ["shop"]
    (info,) = told("shop", "info", "--pipelines-dir", str(there))
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
        f"package {STUCK}",
    ],
)
def test_a_pipeline_that_is_not_there_is_an_error_that_says_which_there_are(disk: Path, command: str) -> None:
    nobody = asked("shop", *command.split()).exception
    extracted("crm")
    extracted("erp")

    error = asked("shop", *command.split()).exception

    assert isinstance(nobody, UsageError)
    assert nobody.message == f"there is no pipeline 'shop' in {disk}"
    assert nobody.hint.startswith("there are no pipelines there; ")
    assert isinstance(error, UsageError)
    assert error.hint.startswith("use one of: crm, erp; ")
    assert not (disk / "shop").exists()


def test_a_name_that_leads_elsewhere_is_refused(disk: Path) -> None:
    assert isinstance(asked("../shop", "info").exception, InvalidPipelineName)


def test_a_pipeline_may_be_called_like_a_command(disk: Path) -> None:
    extracted("list")

    (info,) = told("list", "info")

    assert info["pipeline_name"] == "list"
    assert [one["pipeline_name"] for one in told("list")] == ["list"]


def test_the_overview_says_what_waits(disk: Path) -> None:
    load_id = extracted()

    (info,) = told("shop", "info")
    text = asked("shop", "info").stdout.splitlines()

    assert info.keys() == {
        *("pipeline_name", "working_dir", "destination", "dataset_name", "location", "first_run"),
        *("extracted_packages", "normalized_packages", "completed_packages", "state_version", "schemas"),
        "last_run",
    }
    assert (info["destination"], info["location"], info["first_run"]) == (None, None, True)
    assert (info["extracted_packages"], info["normalized_packages"]) == ([load_id], [])
    assert text[0] == "Pipeline 'shop' to no destination, dataset 'shop'"
    assert "  packages:  0 complete, 1 extracted, 0 normalized" in text
    assert text[-1] == f"    waits:   {load_id} (extracted)"


def test_a_pipeline_that_has_loaded_is_looked_at_where_its_tables_are(tmp_path: Path, disk: Path) -> None:
    stuck(tmp_path, disk)

    (info,) = told("shop", "info", *lake(tmp_path))

    assert (info["destination"], info["dataset_name"]) == ("delta", "raw")
    assert info["location"] == str(tmp_path / "lake" / "raw")
    assert info["normalized_packages"] == [STUCK]


def test_the_settings_say_where_the_tables_are(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck(tmp_path, disk)
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", str(tmp_path / "lake"))

    assert [one["load_id"] for one in told("shop", "packages")] == [STUCK]


def test_a_pipeline_that_ran_elsewhere_needs_its_destination(tmp_path: Path, disk: Path) -> None:
    where = ("--destination", "delta", "--dataset-name", "raw", *lake(tmp_path))

    error = asked("shop", "info", *where).exception

    assert isinstance(error, CannotRestorePipelineException)
    assert "delta has no load of it in dataset 'raw'" in error.message


def test_a_location_alone_says_too_little(tmp_path: Path, disk: Path) -> None:
    extracted()

    error = asked("shop", "info", *lake(tmp_path)).exception

    assert isinstance(error, UsageError)
    assert "pass --destination too" in error.hint


def test_the_last_runs_are_shown_the_newest_first(disk: Path) -> None:
    ids = [extracted(), extracted()]

    (newest,) = told("shop", "trace")
    both = told("shop", "trace", "--last", "5")

    assert newest.keys() == {
        *(
            "transaction_id",
            "pipeline_name",
            "started_at",
            "finished_at",
            "engine_version",
            "resolved_config_values",
            "steps",
        )
    }
    assert newest == both[0]
    assert [one["steps"][0]["info"]["loads_ids"] for one in both] == [[ids[1]], [ids[0]]]
    text = asked("shop", "trace").stdout
    assert text.startswith("Run of 'shop' at ")
    assert "Pipeline 'shop' extracted 2 rows" in text
    assert asked("shop", "trace", "--last", "2").stdout.count("Run of 'shop'") == 2


def test_a_pipeline_that_has_not_run_here_has_no_trace(disk: Path) -> None:
    penstock.pipeline("shop").set_local_state_val("seen", 1)

    error = asked("shop", "trace").exception

    assert isinstance(error, PipelineNeverRan)
    assert error.message == f"pipeline 'shop' has no recorded run in {disk}"


def test_a_command_in_another_folder_looks_where_the_last_run_went(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "relative_lake")
    by_setting = penstock.pipeline("shop", destination="delta").extract(orders()).loads_ids
    monkeypatch.delenv("DESTINATION__DELTA__BUCKET_URL")
    by_default = penstock.pipeline("crm", destination="delta").extract(orders()).loads_ids
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    (crm,) = told("crm", "info")
    (shop,) = told("shop", "info")
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "relative_lake")
    (relative,) = told("shop", "info")

    assert (crm["location"], crm["extracted_packages"]) == (str(tmp_path / "crm_lake" / "crm"), by_default)
    assert shop["location"] == str(tmp_path / "relative_lake" / "shop")
    assert shop["extracted_packages"] == by_setting
    assert relative == shop
    assert asked("crm", "info").stderr == ""


def test_a_setting_that_names_another_place_counts_and_the_last_one_is_noted(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_lake(tmp_path).extract(orders())
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", str(tmp_path / "other"))

    by_setting, by_option = asked("shop", "packages"), asked("shop", "packages", *lake(tmp_path))

    there, here = tmp_path / "lake" / "shop", tmp_path / "other" / "shop"
    note = f"note: the last run went to {there}, and this looks at {here}; pass --location\n"
    assert by_setting.stderr == note
    assert by_option.stderr == ""


def test_options_make_up_for_an_origin_file_that_is_damaged(tmp_path: Path, disk: Path) -> None:
    made = at_lake(tmp_path).extract(orders())
    (disk / "shop" / "origin.json").write_text('{"destination_name": "del', encoding="utf-8")

    where = ("--destination", "delta", "--dataset-name", "shop", *lake(tmp_path))
    done, error = asked("shop", "info", *where), asked("shop", "info").exception

    assert done.exit_code == 0, done.exception
    assert f"waits:   {made.loads_ids[0]} (extracted)" in done.stdout
    assert f"note: {disk / 'shop' / 'origin.json'} cannot be read: " in done.stderr
    assert isinstance(error, UsageError)
    for option in ("--destination", "--dataset-name", "--location", "--staging"):
        assert option in error.hint


def at_lake(tmp_path: Path, **said: Any) -> penstock.Pipeline:
    lake = penstock.destinations.delta(str(tmp_path / "lake"))
    return penstock.pipeline("shop", destination=lake, **said)


def test_a_first_run_that_did_not_come_to_its_load_is_found(
    tmp_path: Path, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIPELINES__DATASET_NAME_LAYOUT", "%s_dataset")
    made = at_lake(tmp_path, dataset_name="raw").extract(orders())

    (info,) = told("shop", "info", *lake(tmp_path))
    done = asked("shop", "drop-pending", "--yes", *lake(tmp_path))

    assert (info["destination"], info["dataset_name"]) == ("delta", "raw_dataset")
    assert info["extracted_packages"] == made.loads_ids
    assert done.stdout == "Dropped 1, kept 0.\n"


def test_packages_of_staging_are_found_by_the_last_run_or_by_an_option(tmp_path: Path, disk: Path) -> None:
    bucket = tmp_path / "stage"
    made = at_lake(tmp_path, staging=penstock.destinations.filesystem(str(bucket))).extract(orders())

    noted = told("shop", "packages", *lake(tmp_path))
    elsewhere = told("shop", "packages", *lake(tmp_path), "--staging", str(tmp_path / "other"))
    (disk / "shop" / "origin.json").unlink()
    forgotten = told("shop", "packages", "--destination", "delta", *lake(tmp_path))
    said = told("shop", "packages", "--destination", "delta", *lake(tmp_path), "--staging", str(bucket))

    assert [[one["load_id"] for one in found] for found in (noted, elsewhere, forgotten, said)] == [
        made.loads_ids,
        [],
        [],
        made.loads_ids,
    ]


def test_a_destination_that_nobody_knows_is_told(disk: Path) -> None:
    extracted()

    done = asked("shop", "drop-pending", "--yes")

    assert done.exit_code == 0
    assert done.stderr.startswith("note: nobody knows to which destination 'shop' loads; ")


def test_one_state_that_cannot_be_read_hides_no_other_pipeline(disk: Path) -> None:
    extracted("crm")
    extracted("shop")
    (disk / "crm" / "state.json").write_text('{"dataset_name": "ra', encoding="utf-8")

    crm, shop = told("list")

    assert crm["problem"].startswith(f"{disk / 'crm' / 'state.json'} cannot be read: ")
    assert (crm["last_run"]["failed_step"], shop["problem"]) == (None, None)
    assert "shop" in asked("list").stdout
    assert isinstance(asked("crm", "info").exception, UsageError)


def test_the_list_names_the_destination_and_not_the_class_of_dlts(tmp_path: Path, disk: Path) -> None:
    stuck(tmp_path, disk)

    (shop,) = told("list")

    assert (shop["destination"], shop["dataset_name"]) == ("delta", "raw")


def test_the_count_of_tables_is_no_secret_whatever_the_schema_is_called(disk: Path) -> None:
    extracted("token_shop")

    (info,) = told("token_shop", "info")

    assert info["schemas"] == {"token_shop": 0}
