"""`penstock pipeline`: what it prints for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.errors import (
    CannotRestorePipelineException,
    InvalidPipelineName,
    LoadPackageNotFound,
    PipelineNeverRan,
    PipelineStepFailed,
    SchemaNotFoundError,
    UsageError,
)
from penstock.package import Packages
from penstock.package.extracted import Extracted
from penstock.pipeline.state import new_state
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

STUCK = "1794709965.511098"
JOBS = ("items.5c1c2f0d11.0.reference", "orders.5c1c2f0d11.0.reference")
SECRET = "lovelace-1843"


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the pipelines, where the settings say it is."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "pipelines"


@penstock.resource
def orders() -> Iterator[Any]:
    state = penstock.current.resource_state()
    state.update(page=7, api_key=SECRET, url=f"postgresql://ada:{SECRET}@db/x", seen=["a"])
    yield [{"id": 1}, {"id": 2}]


def asked(*words: str) -> Result:
    """What a command says; one that raises did not say anything."""
    return CliRunner().invoke(app, ["pipeline", *words])


def told(*words: str) -> list[dict[str, Any]]:
    """The objects that a command prints with `--json`."""
    done = asked(*words, "--json")
    assert done.exit_code == 0, done.exception
    return [json.loads(line) for line in done.stdout.splitlines()]


def extracted(name: str = "shop") -> str:
    """A pipeline without a destination, with a package that waits; gives the id of that."""
    pipeline = penstock.pipeline(name)
    pipeline.extract(orders())
    return pipeline.list_extracted_load_packages()[-1]


def stuck(tmp_path: Path, disk: Path) -> Packages:
    """A pipeline that has loaded before, with a package in which a job was refused."""
    state = new_state(
        pipeline_name="shop",
        dataset_name="raw",
        schema_name="shop",
        destination_type="dlt.destinations.delta",
    )
    WorkDir(disk / "shop").save(state=state, schema=Schema("shop").to_dict())
    packages = Packages.at(str(tmp_path / "lake" / "raw" / "_dlt_pkg" / "shop"))
    storage = packages.normalized
    storage.create_package(STUCK, schema=Schema("shop"))
    packages.package(STUCK).mark_extracted(Extracted(schema_name="shop").to_dict())
    for job in JOBS:
        packages.package(STUCK).jobs.add(job, b"{}")
        storage.start_job(STUCK, job)
    storage.complete_job(STUCK, JOBS[0])
    storage.retry_job(STUCK, JOBS[1], "no such \x1b[1mcolumn", "terminal")
    return packages


def lake(tmp_path: Path) -> tuple[str, str]:
    return ("--location", str(tmp_path / "lake"))


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
        == {"pipeline_name", "working_dir", "destination", "dataset_name", "last_run"}
    )
    assert (shop["working_dir"], shop["destination"]) == (str(disk / "shop"), None)
    assert shop["last_run"].keys() == {"started_at", "seconds", "failed_step", "error", "error_code"}
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
            "settings",
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
    assert error.message == f"there is no run of pipeline 'shop' in {disk}"


def test_packages_are_shown_as_those_of_a_folder_are(tmp_path: Path, disk: Path) -> None:
    packages = stuck(tmp_path, disk)
    where = lake(tmp_path)
    by_folder = CliRunner().invoke(app, ["packages", packages.store.root])
    one_by_folder = CliRunner().invoke(app, ["packages", packages.store.root, STUCK])

    assert asked("shop", "packages", *where).stdout == by_folder.stdout
    assert asked("shop", "package", STUCK, *where).stdout == one_by_folder.stdout
    (package,) = told("shop", "package", STUCK, *where)
    (listed,) = told("shop", "packages", *where)
    assert (
        package.keys()
        == listed.keys()
        == {
            *("load_id", "package_path", "state", "completed_at", "schema_name", "schema_hash", "sequence"),
            *("jobs", "tables"),
        }
    )
    assert [job["state"] for job in package["jobs"]] == ["new_jobs", "completed_jobs"]


def test_a_package_that_is_not_there_is_an_error(tmp_path: Path, disk: Path) -> None:
    stuck(tmp_path, disk)

    assert isinstance(asked("shop", "package", "17.5", *lake(tmp_path)).exception, LoadPackageNotFound)


def test_packages_that_are_not_there_are_none(disk: Path) -> None:
    extracted()
    penstock.pipeline("shop").drop_pending_packages()

    assert asked("shop", "packages").stdout == "There are no packages.\n"
    assert told("shop", "packages") == []
    assert asked("shop", "failed-jobs").stdout == "There are no failed jobs.\n"


@pytest.mark.parametrize("words", [(), (STUCK,)])
def test_jobs_that_wait_to_be_tried_again_say_why_they_failed(
    tmp_path: Path, disk: Path, words: tuple[str, ...]
) -> None:
    stuck(tmp_path, disk)

    (job,) = told("shop", "failed-jobs", *words, *lake(tmp_path))
    text = asked("shop", "failed-jobs", *words, *lake(tmp_path)).stdout

    assert (job["load_id"], job["state"], job["table_name"]) == (STUCK, "new_jobs", "orders")
    assert job["failed_message"] == "retry: terminal\nno such \x1b[1mcolumn"
    assert text.startswith(f"Package {STUCK}: Job orders.5c1c2f0d11.reference, table=orders in new_jobs.")
    assert text.endswith("retry: terminal\nno such \ufffd[1mcolumn\n"), "a message is text and nothing else"


def test_jobs_that_failed_for_good_are_shown_too(tmp_path: Path, disk: Path) -> None:
    packages = stuck(tmp_path, disk)
    (job,) = (one.name.file_name() for one in packages.package(STUCK).jobs.board().having("new_jobs"))
    packages.normalized.start_job(STUCK, job)
    packages.normalized.fail_job(STUCK, job, "left out")

    (failed,) = told("shop", "failed-jobs", *lake(tmp_path))

    assert (failed["state"], failed["failed_message"]) == ("failed_jobs", "left out")


@pytest.mark.parametrize(
    ("form", "begin"),
    [("yaml", "version: "), ("json", "{"), ("mermaid", "erDiagram"), ("dot", "digraph"), ("dbml", "")],
)
def test_a_schema_is_printed_in_the_form_that_is_asked_for(disk: Path, form: str, begin: str) -> None:
    extracted()

    assert asked("shop", "schema", "--format", form).stdout.startswith(begin)
    assert (
        asked("shop", "schema", "shop", "--format", form).stdout
        == asked("shop", "schema", "--format", form).stdout
    )


def test_a_schema_is_yaml_unless_said_otherwise_and_can_be_read_back(disk: Path) -> None:
    extracted()

    done = asked("shop", "schema")

    assert done.stdout == asked("shop", "schema", "--format", "yaml").stdout
    assert Schema.from_text(done.stdout).name == "shop"
    (document,) = told("shop", "schema")
    assert Schema.from_dict(document).name == "shop"


def test_a_schema_or_a_form_that_is_not_there_is_an_error(disk: Path) -> None:
    extracted()

    error = asked("shop", "schema", "crm").exception
    wrong = asked("shop", "schema", "--format", "xml")

    assert isinstance(error, SchemaNotFoundError)
    assert error.hint == "use one of: shop"
    assert wrong.exit_code == 2


def test_the_state_is_printed_and_what_may_be_a_secret_is_not(disk: Path) -> None:
    extracted()

    (state,) = told("shop", "state")
    text = asked("shop", "state").stdout

    resource = state["sources"]["shop"]["resources"]["orders"]
    assert resource == {"page": 7, "api_key": "***", "url": "postgresql://***@db/x", "seen": ["a"]}
    assert json.loads(text) == state
    assert SECRET not in text


def test_no_secret_is_printed_by_any_command(tmp_path: Path, disk: Path) -> None:
    packages = stuck(tmp_path, disk)
    (job,) = (one.name.file_name() for one in packages.package(STUCK).jobs.board().having("new_jobs"))
    packages.normalized.start_job(STUCK, job)
    packages.normalized.retry_job(STUCK, job, f"cannot open postgresql://ada:{SECRET}@db/x")
    penstock.pipeline("shop").set_local_state_val("password", SECRET)
    trace = next((disk / "shop").glob("traces/*"), None)
    assert trace is None
    extracted()
    trace = next((disk / "shop").glob("traces/*.json"))
    document = json.loads(trace.read_text(encoding="utf-8"))
    document["settings"] = {"destination.delta.credentials.aws_secret_access_key": SECRET}
    document["steps"][0]["error"] = f"password={SECRET}"
    trace.write_text(json.dumps(document), encoding="utf-8")
    commands = [
        *(["list"], ["shop", "trace"]),
        *(["shop", name, *lake(tmp_path)] for name in ("info", "packages", "failed-jobs", "schema", "state")),
        ["shop", "package", STUCK, *lake(tmp_path)],
    ]

    said = {" ".join(words[:2]): [asked(*words), asked(*words, "--json")] for words in commands}

    assert {name: [done.exit_code for done in both] for name, both in said.items()} == {
        name: [0, 0] for name in said
    }
    assert [name for name, both in said.items() for done in both if SECRET in done.output] == []


def test_a_last_run_that_went_elsewhere_is_told(tmp_path: Path, disk: Path) -> None:
    stuck(tmp_path, disk)
    extracted()
    trace = next((disk / "shop").glob("traces/*.json"))
    document = json.loads(trace.read_text(encoding="utf-8"))
    there = str(tmp_path / "lake" / "raw")
    info = {"loads_ids": [], "destination_name": "delta", "dataset_name": "raw", "location": there}
    document["steps"].append({**document["steps"][0], "step": "load", "info": info, "text": "nothing"})
    trace.write_text(json.dumps(document), encoding="utf-8")

    wrong, right = asked("shop", "packages"), asked("shop", "packages", *lake(tmp_path))

    here = tmp_path / "shop_lake" / "raw"
    assert wrong.stderr == f"note: the last run went to {there}, and this looks at {here}; pass --location\n"
    assert right.stderr == ""


def test_a_first_run_that_failed_is_found_by_its_trace(tmp_path: Path, disk: Path) -> None:
    stuck(tmp_path, disk)
    extracted()
    (disk / "shop" / "state.json").unlink()
    trace = next((disk / "shop").glob("traces/*.json"))
    document = json.loads(trace.read_text(encoding="utf-8"))
    info = {"loads_ids": [], "destination_name": "delta", "dataset_name": "raw", "location": ""}
    document["steps"].append({**document["steps"][0], "step": "load", "info": info, "text": "nothing"})
    trace.write_text(json.dumps(document), encoding="utf-8")

    (info,) = told("shop", "info", *lake(tmp_path))

    assert (info["destination"], info["dataset_name"]) == ("delta", "raw")
    assert info["normalized_packages"] == [STUCK]


def test_big_states_and_long_lists_are_printed_whole(disk: Path) -> None:
    @penstock.resource
    def big() -> Iterator[Any]:
        penstock.current.resource_state().update({f"key_{number}": "x" * 50 for number in range(5_000)})
        yield {"id": 1}

    penstock.pipeline("shop").extract(big())
    for number in range(300):
        WorkDir(disk / f"p{number:03}").save_local({"n": number})

    (state,) = told("shop", "state")

    assert len(state["sources"]["shop"]["resources"]["big"]) == 5_000
    assert asked("shop", "state").stdout.count("x" * 50) == 5_000
    assert len(told("list")) == 301
    assert sum("│ p" in line for line in asked("list").stdout.splitlines()) == 300


def test_many_packages_are_listed_whole(tmp_path: Path, disk: Path) -> None:
    packages = stuck(tmp_path, disk)
    for number in range(200):
        packages.extracted.create_package(f"17947{number:05}.5")
        packages.package(f"17947{number:05}.5").mark_extracted(Extracted(schema_name="shop").to_dict())

    assert len(told("shop", "packages", *lake(tmp_path))) == 201
    shown = asked("shop", "packages", *lake(tmp_path)).stdout
    assert sum("│ 17947" in line for line in shown.splitlines()) == 201
