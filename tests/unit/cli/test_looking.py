"""`penstock pipeline`: packages, jobs, schemas and state, for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.conftest import AT_LENGTH
from tests.unit.cli.shops import SECRET, STUCK, asked, extracted, lake, stuck, told
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
    (job,) = (one.name.file_name() for one in packages.package(STUCK).jobs.list_jobs().in_state("new_jobs"))
    packages.normalized_packages.start_job(STUCK, job)
    packages.normalized_packages.fail_job(STUCK, job, "left out")

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
    (job,) = (one.name.file_name() for one in packages.package(STUCK).jobs.list_jobs().in_state("new_jobs"))
    packages.normalized_packages.start_job(STUCK, job)
    packages.normalized_packages.retry_job(STUCK, job, f"cannot open postgresql://ada:{SECRET}@db/x")
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


def test_big_states_and_long_lists_are_printed_whole(disk: Path) -> None:
    @penstock.resource
    def big() -> Iterator[Any]:
        penstock.current.resource_state().update({f"key_{number}": "x" * 50 for number in range(5_000)})
        yield {"id": 1}

    penstock.pipeline("shop").extract(big())
    for number in range(300):
        WorkDir(disk / f"p{number:03}").save_local_values({"n": number})

    (state,) = told("shop", "state")

    assert len(state["sources"]["shop"]["resources"]["big"]) == 5_000
    assert asked("shop", "state").stdout.count("x" * 50) == 5_000
    assert len(told("list")) == 301
    assert sum("│ p" in line for line in asked("list").stdout.splitlines()) == 300


def test_many_packages_are_listed_whole(tmp_path: Path, disk: Path) -> None:
    packages = stuck(tmp_path, disk)
    for number in range(MANY):
        packages.extracted_packages.create_package(f"17947{number:05}.5")
        packages.package(f"17947{number:05}.5").mark_extracted(ExtractManifest(schema_name="shop").to_dict())

    assert len(told("shop", "packages", *lake(tmp_path))) == MANY + 1
    shown = asked("shop", "packages", *lake(tmp_path)).stdout
    assert sum("│ 17947" in line for line in shown.splitlines()) == MANY + 1
