"""The commands that change something say what they will do, and ask."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.pipeline.stored import store_load
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
def waiting(disk: Path) -> list[str]:
    """A pipeline without a destination, with two packages that wait."""
    pipeline = penstock.pipeline("shop")
    for number in range(2):
        pipeline.extract([{"n": number}], table_name="items")
    return list(pipeline.list_extracted_load_packages())


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The pipelines that were told to take what the destination has."""
    found: list[Any] = []

    def sync_destination(self: penstock.Pipeline) -> None:
        found.append(self)

    monkeypatch.setattr(penstock.Pipeline, "sync_destination", sync_destination, raising=False)
    return found


def asked(*words: str) -> Result:
    """What a command says to a script: there is no terminal."""
    return CliRunner().invoke(app, ["pipeline", "shop", *words])


def answered(answer: str, *words: str) -> tuple[int, str]:
    """The exit code and the words of a command that runs in a terminal, in which somebody answers."""
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


def test_a_script_that_does_not_say_yes_is_refused_and_nothing_is_done(waiting: list[str]) -> None:
    done = asked("drop-pending")

    lines = done.stderr.splitlines()[1:]
    assert (done.exit_code, done.stdout) == (2, "")
    assert lines[:2] == [f"Package {one} (extracted) is deleted." for one in waiting]
    assert lines[2] == "The next run asks the source again for what is dropped, and begins work items anew."
    assert lines[3] == "penstock: this asks first, and there is no terminal to ask on: pass --yes"
    assert penstock.pipeline("shop").list_extracted_load_packages() == waiting


def test_with_yes_what_waits_is_dropped(waiting: list[str]) -> None:
    done = asked("drop-pending", "--yes")

    assert (done.exit_code, done.stdout) == (0, "Dropped 2, kept 0.\n")
    assert f"Package {waiting[0]} " in done.stderr
    assert not penstock.pipeline("shop").has_pending_data


def test_a_program_is_told_what_was_dropped(waiting: list[str]) -> None:
    done = asked("drop-pending", "-y", "--json")

    assert json.loads(done.stdout) == {"pipeline_name": "shop", "dropped": waiting, "kept": []}


def test_where_nothing_waits_nobody_is_asked(waiting: list[str]) -> None:
    penstock.pipeline("shop").drop_pending_packages()

    done = asked("drop-pending")

    assert (done.exit_code, done.stdout) == (0, "Nothing waits.\n")
    assert [line[:5] for line in done.stderr.splitlines()] == ["note:"]
    told = json.loads(asked("drop-pending", "--json").stdout)
    assert told == {"pipeline_name": "shop", "dropped": [], "kept": []}


def test_in_a_terminal_a_no_leaves_everything_and_a_yes_does_it(waiting: list[str]) -> None:
    code, said = answered("n\n", "drop-pending")

    assert (code, "Nothing was done." in said) == (1, True)
    assert f"Package {waiting[1]} " in said
    assert penstock.pipeline("shop").list_extracted_load_packages() == waiting
    code, said = answered("y\n", "drop-pending")
    assert (code, "Dropped 2, kept 0." in said) == (0, True)
    assert not penstock.pipeline("shop").has_pending_data


def test_what_a_run_is_working_on_is_not_dropped(disk: Path, waiting: list[str]) -> None:
    packages = Packages.at(str(disk / "shop" / "extracted"))

    with hold_lease(packages.store, pipeline="shop"):
        done = asked("drop-pending", "--yes")

    assert isinstance(done.exception, PipelineLocked)
    assert penstock.pipeline("shop").list_extracted_load_packages() == waiting


@pytest.mark.parametrize(
    ("words", "fate"),
    [
        ((), "was begun: it is given up, and what its tables have of it is taken back."),
        (("--keep-partial",), "was begun and is kept."),
    ],
)
def test_a_load_that_was_begun_is_told_apart(
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

    before = asked("drop-pending", *where, *words).stderr.splitlines()[0]
    packages.normalized_packages.start_job("17.5", "items.5c1c2f0d11.0.reference")
    after = asked("drop-pending", *where, *words).stderr.splitlines()[0]

    assert before == "Package 17.5 (normalized, schema shop, 2 B) is deleted."
    assert after == f"Package 17.5 (normalized, schema shop, 2 B) {fate}"


def test_a_sync_that_replaces_something_asks_first(disk: Path, tmp_path: Path) -> None:
    store_load(tmp_path, "10.5")
    where = ("--location", str(tmp_path / "lake"))
    assert asked("sync", "--destination", "delta", *where).exit_code == 0
    store_load(tmp_path, "11.5", version=5)

    done = asked("sync", *where)

    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == (
        f"The state and the schemas in {disk / 'shop'} are replaced by those of delta dataset 'shop', "
        "which are not older. Packages stay."
    )
    done = asked("sync", "--yes", *where)
    assert (done.exit_code, done.stdout) == (0, "The state is that of version 6, with the schemas shop.\n")
    done = asked("sync", *where)
    assert (done.exit_code, done.stderr) == (0, ""), "what is as good is not replaced"


def test_a_sync_with_a_place_that_is_not_there_deletes_nothing_unless_told(
    disk: Path, tmp_path: Path
) -> None:
    store_load(tmp_path, "10.5")
    assert asked("sync", "--destination", "delta", "--location", str(tmp_path / "lake")).exit_code == 0
    workdir, typo = WorkDir(disk / "shop"), ("--yes", "--location", str(tmp_path / "leak"))
    workdir.save_local_values({"seen": 1})
    unsent: dict[str, Any] = {"id": "1", "of": None, "sources": {}}
    workdir.save_local_changes("shop", unsent)
    files = {path: path.read_text(encoding="utf-8") for path in disk.rglob("*.json")}

    refused = asked("sync", *typo)

    assert isinstance(refused.exception, UsageError)
    assert "--forget deletes the state" in refused.exception.hint
    assert {path: path.read_text(encoding="utf-8") for path in disk.rglob("*.json")} == files
    done = asked("sync", "--forget", *typo)
    assert done.exit_code == 0
    assert "are deleted, because delta dataset 'shop' is not there. Packages stay." in done.stderr
    assert (workdir.state(), workdir.schema("shop")) == (None, None)
    assert (workdir.local_values(), workdir.local_changes("shop")) == ({"seen": 1}, unsent)
    assert workdir.last_target()["destination_name"] == "delta"


def test_a_sync_that_replaces_nothing_does_not_ask(waiting: list[str], synced: list[Any]) -> None:
    done = asked("sync", "--destination", "delta", "--dataset-name", "raw", "--json")

    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout) == {"pipeline_name": "shop", "state_version": 0, "schemas": ["shop"]}
    (pipeline,) = synced
    assert (pipeline.destination.destination_name, pipeline.dataset_name) == ("delta", "raw")


def test_an_error_is_one_message_without_secrets_and_an_exit_code(disk: Path, tmp_path: Path) -> None:
    secret = f"{tmp_path}/token=lovelace"
    words = ["shop", "info", "--pipelines-dir", secret]

    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("penstock: there is no pipeline 'shop' in ")
    assert "lovelace" not in done.stderr
    assert "Traceback" not in done.stderr


def test_an_error_of_others_is_one_message_without_secrets_too(
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
