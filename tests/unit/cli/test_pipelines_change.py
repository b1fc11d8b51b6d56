"""The commands that change something print their effects and ask for confirmation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.command_documents import read_documents
from tests.unit.pipeline.stored_dataset import store_load
from typer.testing import CliRunner

import penstock
from penstock.cli import main
from penstock.cli.app import app
from penstock.errors import PipelineLocked, UsageError
from penstock.interfaces import LoadMark
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.lease import hold_lease
from penstock.pipeline.state import new_state
from penstock.pipeline.workdir import WorkDir
from penstock.schema import Schema

if TYPE_CHECKING:
    from typer.testing import Result

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-c", "from penstock.cli import main; main()", "pipeline"]


@pytest.fixture
def pending(disk: Path) -> list[str]:
    """A pipeline without a destination, with two pending packages."""
    pipeline = penstock.pipeline("shop")
    for number in range(2):
        pipeline.extract([{"n": number}], table_name="items")
    return list(pipeline.list_extracted_load_packages())


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Record the pipelines on which `sync_destination` is called."""
    found: list[Any] = []

    def sync_destination(self: penstock.Pipeline) -> None:
        found.append(self)

    monkeypatch.setattr(penstock.Pipeline, "sync_destination", sync_destination, raising=False)
    return found


def invoke(*words: str) -> Result:
    """Run a command without a terminal."""
    return CliRunner().invoke(app, ["pipeline", "shop", *words])


def run_in_terminal(answer: str, *words: str) -> tuple[int, str]:
    """Run a command in a terminal with an answer; return its exit code and output."""
    ours, theirs = os.openpty()
    child = subprocess.Popen([*COMMAND, "shop", *words], stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT)
    os.close(theirs)
    os.write(ours, answer.encode())
    said = b""
    try:
        while chunk := os.read(ours, 4096):
            said += chunk
    except OSError:  # the other end is closed: the command is over
        pass
    os.close(ours)
    return child.wait(timeout=60), said.decode()


def test_without_a_terminal_and_yes_nothing_is_dropped(pending: list[str]) -> None:
    done = invoke("drop-pending")

    lines = done.stderr.splitlines()[1:]
    assert (done.exit_code, done.stdout) == (2, "")
    assert lines[:2] == [f"Package {item} (extracted, schema shop, 7 B) is deleted." for item in pending]
    assert lines[2] == "The next run extracts the dropped data again and starts work items from scratch."
    assert lines[3] == "penstock: a confirmation is needed, and there is no terminal: pass --yes"
    assert penstock.pipeline("shop").list_extracted_load_packages() == pending


def test_with_yes_pending_packages_are_dropped(pending: list[str]) -> None:
    done = invoke("drop-pending", "--yes")

    assert (done.exit_code, done.stdout) == (0, "Dropped 2, kept 0.\n")
    assert f"Package {pending[0]} " in done.stderr
    assert not penstock.pipeline("shop").has_pending_data


def test_json_output_lists_dropped_packages(pending: list[str]) -> None:
    done = invoke("drop-pending", "-y", "--json")

    (document,) = read_documents("pipeline drop-pending", done.stdout)
    assert document == {"pipeline_name": "shop", "dropped": pending, "kept": []}


def test_without_pending_packages_no_confirmation_is_needed(pending: list[str]) -> None:
    penstock.pipeline("shop").drop_pending_packages()

    done = invoke("drop-pending")

    assert (done.exit_code, done.stdout) == (0, "No packages are pending.\n")
    assert [line[:5] for line in done.stderr.splitlines()] == ["note:"]
    (document,) = read_documents("pipeline drop-pending", invoke("drop-pending", "--json").stdout)
    assert document == {"pipeline_name": "shop", "dropped": [], "kept": []}


def test_in_a_terminal_no_changes_nothing_and_yes_drops(pending: list[str]) -> None:
    code, said = run_in_terminal("n\n", "drop-pending")

    assert (code, "Nothing was changed." in said) == (1, True)
    assert f"Package {pending[1]} " in said
    assert penstock.pipeline("shop").list_extracted_load_packages() == pending
    code, said = run_in_terminal("y\n", "drop-pending")
    assert (code, "Dropped 2, kept 0." in said) == (0, True)
    assert not penstock.pipeline("shop").has_pending_data


def test_packages_are_aborted_from_an_id_on(pending: list[str]) -> None:
    refused = invoke("abort-packages", pending[1])
    done = invoke("abort-packages", pending[1], "--yes")
    rest_output = invoke("abort-packages", "--yes", "--json").stdout
    (rest,) = read_documents("pipeline abort-packages", rest_output)

    assert (refused.exit_code, done.exit_code) == (2, 0)
    assert f"Package {pending[1]} " in refused.stderr
    assert f"Package {pending[0]} " not in refused.stderr
    assert done.stdout == "Aborted 1.\n"
    assert rest["aborted"]["extracted_packages_to_delete"] == pending[:1]
    assert invoke("abort-packages").stdout == "No packages are pending.\n"


def test_pending_packages_are_dropped_by_the_name_that_dlt_has(pending: list[str]) -> None:
    assert invoke("drop-pending-packages", "--yes").stdout == "Dropped 2, kept 0.\n"


def test_the_newest_package_is_shown_without_an_id(pending: list[str]) -> None:
    (shown,) = read_documents("pipeline load-package", invoke("load-package", "--json").stdout)

    assert shown["load_id"] == pending[1]
    assert invoke("load-package", pending[0]).stdout == invoke("package", pending[0]).stdout
    invoke("drop-pending", "--yes")
    assert "There are no packages." in invoke("load-package").stderr


@pytest.fixture
def with_state(disk: Path) -> penstock.Pipeline:
    """A pipeline with the state of a resource, and nothing pending."""
    lake = penstock.destinations.delta(bucket_url=str(disk / "lake"))
    pipeline = penstock.pipeline("shop", destination=lake)
    pipeline.extract([{"n": 1}], table_name="items")
    pipeline.drop_pending_packages()
    with pipeline.managed_state() as state:
        state["sources"]["shop"] = {"cursor": 7, "resources": {"orders": {"page": 3}}}
    return pipeline


def test_a_drop_prints_what_it_drops_and_changes_nothing_without_a_confirmation(
    with_state: penstock.Pipeline,
) -> None:
    before = with_state.state

    done = invoke("drop", "orders", "no_such", "--state-paths", "cursor")
    nothing = invoke("drop", "no_such", "--yes")

    lines = done.stderr.splitlines()
    assert (done.exit_code, done.stdout) == (2, "")
    assert "note: nothing belongs to 'no_such'" in lines
    assert "Schema shop, resources: orders" in lines
    assert "Resources whose state is deleted: orders" in lines
    assert "State keys that are deleted: cursor" in lines
    assert nothing.stdout == "Nothing is to be dropped.\n"
    assert with_state.state == before


def test_nothing_is_dropped_while_packages_are_pending(with_state: penstock.Pipeline) -> None:
    with_state.extract([{"n": 1}], table_name="items")

    done = invoke("drop", "orders", "--yes")

    assert isinstance(done.exception, UsageError)
    assert "are pending" in str(done.exception)


def test_packages_of_a_running_pipeline_are_not_dropped(disk: Path, pending: list[str]) -> None:
    packages = Packages.at(str(disk / "shop" / "extracted"))

    with hold_lease(packages.store, pipeline="shop"):
        done = invoke("drop-pending", "--yes")

    assert isinstance(done.exception, PipelineLocked)
    assert penstock.pipeline("shop").list_extracted_load_packages() == pending


@pytest.mark.parametrize(
    ("words", "fate"),
    [
        ((), "has started to load: it is aborted, and its changes to tables are rolled back."),
        (("--keep-partial",), "has started to load and is kept."),
    ],
)
def test_a_started_load_is_distinguished(
    disk: Path, tmp_path: Path, words: tuple[str, ...], fate: str
) -> None:
    state = new_state(pipeline_name="shop", dataset_name="shop", schema_name="shop", destination_type="delta")
    WorkDir(disk / "shop").save(state=state, schema=Schema("shop").to_dict())
    packages = Packages.at(str(tmp_path / "lake" / "shop" / "_dlt_pkg" / "shop"))
    packages.normalized_packages.create_package("17.5", schema=Schema("shop"))
    package = packages.package("17.5")
    package.mark_extracted(ExtractManifest(schema_name="shop").to_dict())
    package.jobs.add("items.5c1c2f0d11.0.reference", b"{}")
    package.mark_sealed(LoadMark(pipeline_name="shop", sequence=1, load_id="17.5", manifest_hash="h"))
    where = ("--location", str(tmp_path / "lake"))

    before = invoke("drop-pending", *where, *words).stderr.splitlines()[0]
    packages.normalized_packages.start_job("17.5", "items.5c1c2f0d11.0.reference")
    after = invoke("drop-pending", *where, *words).stderr.splitlines()[0]

    assert before == "Package 17.5 (normalized, schema shop, 2 B) is deleted."
    assert after == f"Package 17.5 (normalized, schema shop, 2 B) {fate}"


def test_a_sync_that_replaces_a_state_asks_first(disk: Path, tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    where = ("--location", str(tmp_path / "lake"))
    assert invoke("sync", "--destination", "delta", *where).exit_code == 0
    store_load(tmp_path, "11.5", version=5)

    done = invoke("sync", *where)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        f"The state and the schemas in {disk / 'shop'} are replaced by those of delta dataset 'shop', "
        "which are newer."
    )
    done = invoke("sync", "--yes")
    assert (done.exit_code, done.stdout) == (0, "The state has version 6 and the schemas shop.\n")
    done = invoke("sync", *where)
    assert (done.exit_code, done.stderr) == (0, ""), "what is as good is not replaced"


def test_a_sync_with_a_missing_dataset_deletes_nothing_without_forget(disk: Path, tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    assert invoke("sync", "--destination", "delta", "--location", str(tmp_path / "lake")).exit_code == 0
    workdir, typo = WorkDir(disk / "shop"), ("--yes", "--location", str(tmp_path / "leak"))
    workdir.save_local_values({"seen": 1})
    unsent: dict[str, Any] = {"id": "1", "of": None, "sources": {}}
    workdir.save_local_changes("shop", unsent)
    files = {path: path.read_text(encoding="utf-8") for path in disk.rglob("*.json")}

    refused = invoke("sync", *typo)

    assert isinstance(refused.exception, UsageError)
    assert "--forget deletes the state" in refused.exception.hint
    assert {path: path.read_text(encoding="utf-8") for path in disk.rglob("*.json")} == files
    done = invoke("sync", "--forget", *typo)
    assert done.exit_code == 0
    assert "are deleted, because delta dataset 'shop' does not exist." in done.stderr
    assert (workdir.state(), workdir.schema("shop")) == (None, None)
    assert (workdir.local_values(), workdir.local_changes("shop")) == ({}, None)
    assert workdir.last_target()["destination_name"] == "delta"


def test_a_sync_that_replaces_nothing_does_not_ask(pending: list[str], synced: list[Any]) -> None:
    done = invoke("sync", "--destination", "delta", "--dataset-name", "raw", "--json")

    assert done.exit_code == 0, done.exception
    (document,) = read_documents("pipeline sync", done.stdout)
    assert document == {"pipeline_name": "shop", "state_version": 0, "schemas": ["shop"]}
    (pipeline,) = synced
    assert (pipeline.destination.destination_name, pipeline.dataset_name) == ("delta", "raw")


def test_an_error_is_one_message_without_secrets_and_an_exit_code(disk: Path, tmp_path: Path) -> None:
    secret = f"{tmp_path}/token=lovelace"
    words = ["shop", "info", "--pipelines-dir", secret]

    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("penstock: pipeline 'shop' does not exist in ")
    assert "lovelace" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_foreign_error_is_one_message_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise RuntimeError("cannot open postgresql://ada:lovelace@db/x")

    monkeypatch.setattr(sys.modules["penstock.cli.main"], "app", broken)

    with pytest.raises(SystemExit) as caught:
        main()

    assert caught.value.code == 1
    assert capsys.readouterr().err == "penstock: RuntimeError: cannot open postgresql://***@db/x\n"
    assert app.pretty_exceptions_show_locals is False
