"""`penstock pipeline`: packages, jobs, schemas and state, as text and JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import AT_LENGTH
from tests.unit.cli.factories import (
    SECRET,
    STUCK,
    extract_package,
    invoke,
    json_output,
    location_options,
    make_stuck_package,
)
from typer.testing import CliRunner

import penstock
from penstock.cli.app import app
from penstock.errors import (
    LoadPackageNotFound,
    SchemaNotFoundError,
)
from penstock.package.extract_manifest import ExtractManifest
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 200 if AT_LENGTH else 60


def test_packages_of_a_pipeline_are_shown_like_those_of_a_folder(tmp_path: Path, disk: Path) -> None:
    packages = make_stuck_package(tmp_path, disk)
    where = location_options(tmp_path)
    by_folder = CliRunner().invoke(app, ["packages", packages.store.root])
    one_by_folder = CliRunner().invoke(app, ["packages", packages.store.root, STUCK])

    assert invoke("shop", "packages", *where).stdout == by_folder.stdout
    assert invoke("shop", "package", STUCK, *where).stdout == one_by_folder.stdout
    (package,) = json_output("shop", "package", STUCK, *where)
    (listed,) = json_output("shop", "packages", *where)
    assert (
        package.keys()
        == listed.keys()
        == {
            *("load_id", "package_path", "state", "completed_at", "schema_name", "schema_hash", "sequence"),
            *("schema_migrated", "refresh", "dropped_tables", "truncated_tables", "jobs", "tables"),
        }
    )
    assert [job["state"] for job in package["jobs"]] == ["new_jobs", "completed_jobs"]


def test_an_unknown_package_of_a_pipeline_is_an_error(tmp_path: Path, disk: Path) -> None:
    make_stuck_package(tmp_path, disk)

    assert isinstance(
        invoke("shop", "package", "17.5", *location_options(tmp_path)).exception, LoadPackageNotFound
    )


def test_a_pipeline_without_packages_has_none_listed(disk: Path) -> None:
    extract_package()
    penstock.pipeline("shop").drop_pending_packages()

    assert invoke("shop", "packages").stdout == "There are no packages.\n"
    assert json_output("shop", "packages") == []
    assert invoke("shop", "failed-jobs").stdout == "There are no failed jobs.\n"


@pytest.mark.parametrize("words", [(), (STUCK,)])
def test_jobs_to_be_retried_show_their_messages(tmp_path: Path, disk: Path, words: tuple[str, ...]) -> None:
    make_stuck_package(tmp_path, disk)

    (job,) = json_output("shop", "failed-jobs", *words, *location_options(tmp_path), exit_code=3)
    text = invoke("shop", "failed-jobs", *words, *location_options(tmp_path)).stdout

    assert (job["load_id"], job["state"], job["table_name"]) == (STUCK, "new_jobs", "orders")
    assert job["failed_message"] == "retry: terminal\nno such \x1b[1mcolumn"
    assert text.startswith(f"Package {STUCK}: Job orders.5c1c2f0d11.reference, table=orders in new_jobs.")
    assert text.endswith("retry: terminal\nno such \ufffd[1mcolumn\n"), "a message is text and nothing else"


def test_terminally_failed_jobs_are_shown_too(tmp_path: Path, disk: Path) -> None:
    packages = make_stuck_package(tmp_path, disk)
    (job,) = (item.name.file_name() for item in packages.package(STUCK).jobs.list_jobs().in_state("new_jobs"))
    packages.normalized_packages.start_job(STUCK, job)
    packages.normalized_packages.fail_job(STUCK, job, "left out")

    (failed,) = json_output("shop", "failed-jobs", *location_options(tmp_path), exit_code=3)

    assert (failed["state"], failed["failed_message"]) == ("failed_jobs", "left out")


@pytest.mark.parametrize(
    ("form", "begin"),
    [
        ("yaml", "version: "),
        ("json", "{"),
        ("mermaid", "erDiagram"),
        ("dot", "digraph"),
        ("dbml", ""),
        ("boxes", ""),
    ],
)
def test_a_schema_is_printed_in_the_requested_format(disk: Path, form: str, begin: str) -> None:
    extract_package()

    assert invoke("shop", "schema", "--format", form).stdout.startswith(begin)
    assert (
        invoke("shop", "schema", "shop", "--format", form).stdout
        == invoke("shop", "schema", "--format", form).stdout
    )


def test_a_schema_is_printed_as_yaml_by_default_and_can_be_imported(disk: Path) -> None:
    extract_package()

    done = invoke("shop", "schema")

    assert done.stdout == invoke("shop", "schema", "--format", "yaml").stdout
    assert Schema.from_text(done.stdout).name == "shop"
    (document,) = json_output("shop", "schema")
    assert Schema.from_dict(document).name == "shop"


def test_an_unknown_schema_or_format_is_an_error(disk: Path) -> None:
    extract_package()

    error = invoke("shop", "schema", "crm").exception
    wrong = invoke("shop", "schema", "--format", "xml")

    assert isinstance(error, SchemaNotFoundError)
    assert error.hint == "use one of: shop"
    assert wrong.exit_code == 2


def test_the_state_is_printed_without_secrets(disk: Path) -> None:
    extract_package()

    (state,) = json_output("shop", "state")
    text = invoke("shop", "state").stdout

    resource = state["sources"]["shop"]["resources"]["orders"]
    assert resource == {"page": 7, "api_key": "***", "url": "postgresql://***@db/x", "seen": ["a"]}
    assert json.loads(text) == state
    assert SECRET not in text


def test_no_secret_is_printed_by_any_command(tmp_path: Path, disk: Path) -> None:
    packages = make_stuck_package(tmp_path, disk)
    (job,) = (item.name.file_name() for item in packages.package(STUCK).jobs.list_jobs().in_state("new_jobs"))
    packages.normalized_packages.start_job(STUCK, job)
    packages.normalized_packages.retry_job(STUCK, job, f"cannot open postgresql://ada:{SECRET}@db/x")
    penstock.pipeline("shop").set_local_state_val("password", SECRET)
    trace = next((disk / "shop").glob("traces/*"), None)
    assert trace is None
    extract_package()
    trace = next((disk / "shop").glob("traces/*.json"))
    document = json.loads(trace.read_text(encoding="utf-8"))
    document["settings"] = {"destination.delta.credentials.aws_secret_access_key": SECRET}
    document["steps"][0]["error"] = f"password={SECRET}"
    trace.write_text(json.dumps(document), encoding="utf-8")
    commands = [
        *(["list"], ["shop", "trace"]),
        *(
            ["shop", name, *location_options(tmp_path)]
            for name in ("info", "packages", "failed-jobs", "schema", "state")
        ),
        ["shop", "package", STUCK, *location_options(tmp_path)],
    ]

    said = {" ".join(words[:2]): [invoke(*words), invoke(*words, "--json")] for words in commands}

    assert {name: [done.exit_code for done in both] for name, both in said.items()} == {
        name: [3, 3] if name == "shop failed-jobs" else [0, 0] for name in said
    }
    assert [name for name, both in said.items() for done in both if SECRET in done.output] == []


def test_large_states_and_long_lists_are_printed_completely(disk: Path) -> None:
    @penstock.resource
    def big() -> Iterator[Any]:
        penstock.current.resource_state().update({f"key_{number}": "x" * 50 for number in range(5_000)})
        yield {"id": 1}

    penstock.pipeline("shop").extract(big())
    for number in range(300):
        WorkDir(disk / f"p{number:03}").save_local_values({"n": number})

    (state,) = json_output("shop", "state")

    assert len(state["sources"]["shop"]["resources"]["big"]) == 5_000
    assert invoke("shop", "state").stdout.count("x" * 50) == 5_000
    assert len(json_output("list")) == 301
    assert sum("│ p" in line for line in invoke("list").stdout.splitlines()) == 300


def test_many_packages_are_listed_completely(tmp_path: Path, disk: Path) -> None:
    packages = make_stuck_package(tmp_path, disk)
    for number in range(MANY):
        packages.extracted_packages.create_package(f"17947{number:05}.5")
        packages.package(f"17947{number:05}.5").mark_extracted(ExtractManifest(schema_name="shop").to_dict())

    assert len(json_output("shop", "packages", *location_options(tmp_path))) == MANY + 1
    shown = invoke("shop", "packages", *location_options(tmp_path)).stdout
    assert sum("│ 17947" in line for line in shown.splitlines()) == MANY + 1
