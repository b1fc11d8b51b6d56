"""Control files of older releases are read, those of later ones are refused, and the chain has no gap."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InternalError, UnsupportedVersion
from penstock.package import Packages
from penstock.package.control import FORMAT_VERSION, current_form
from penstock.package.migrations import MIGRATIONS, newest, upgraded
from penstock.package.storage import as_json

# What the first release wrote: one package that is loaded, and one that is sealed with a job left to do.
FORMAT1 = Path(__file__).parent / "format1"
SEALED_HASH = "dbd8af3ff75cf53c7ff2994e60f50b2ce866ada1d24a153af36569554f3892b5"
SEALED, LOADED = "1794709965.511098", "1794709964.000000"


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    shutil.copytree(FORMAT1, tmp_path / "old")
    return Packages.at(str(tmp_path / "old"))


def step(version: int, what: str = "") -> Any:
    def upgrade(kind: str, document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "seen": [*document.get("seen", []), what or version, kind]}

    return SimpleNamespace(VERSION=version, upgrade=upgrade)


def look_at_everything(packages: Packages) -> None:
    package = packages.package(SEALED)
    package.job("items.5c1c2f0d11.0.reference")
    package.extracted()
    package.normalized()
    package.mark()
    package.schema_updates()
    package.applied_schema_updates()
    package.completion()
    packages.slots.read(1)
    packages.slots.outcome(1)


def test_the_chain_of_this_release_is_whole_and_named_by_its_numbers() -> None:
    assert newest() == FORMAT_VERSION == 2
    names = [Path(str(module.__file__)).name[:5] for module in MIGRATIONS]  # type: ignore[attr-defined]
    assert names == [f"v{number:04d}" for number in range(2, FORMAT_VERSION + 1)]


@pytest.mark.parametrize("versions", [(3,), (2, 4), (2, 2), (3, 2), (1,), (2, 3, 3)])
def test_a_gap_or_a_double_in_the_chain_is_an_error_of_ours(versions: tuple[int, ...]) -> None:
    with pytest.raises(InternalError, match="are not in order"):
        newest([step(version) for version in versions])


@pytest.mark.parametrize(("has", "steps"), [(1, [2, 3, 4]), (2, [3, 4]), (3, [4]), (4, [])])
def test_a_document_passes_every_step_that_it_has_not_seen_in_order(has: int, steps: list[int]) -> None:
    chain = [step(2), step(3), step(4)]

    found = upgraded("job", {}, has=has, migrations=chain)

    assert found.get("seen", [])[::2] == steps


@pytest.mark.parametrize(
    "name",
    [
        f"packages/{SEALED}/new_jobs/items.5c1c2f0d11.0.reference",
        f"packages/{SEALED}/extracted.json",
        f"packages/{SEALED}/normalized.json",
        f"packages/{SEALED}/sealed.json",
        f"packages/{SEALED}/schema_updates.json",
        f"packages/{SEALED}/applied_schema_updates.json",
        f"packages/{SEALED}/package_completed.json",
        "slots/0000000001.json",
        "outcomes/0000000001.json",
    ],
)
def test_a_control_file_of_a_later_release_is_refused_with_its_version(packages: Packages, name: str) -> None:
    packages.store.put(name, as_json({"format_version": FORMAT_VERSION + 1, "status": "loaded"}))

    with pytest.raises(UnsupportedVersion, match=f"has version {FORMAT_VERSION + 1}"):
        look_at_everything(packages)


def test_a_state_of_a_later_engine_is_refused(packages: Packages) -> None:
    package = packages.package(SEALED)
    package.store.put("load_package_state.json", as_json({"_state_engine_version": 2}))

    with pytest.raises(UnsupportedVersion):
        package.state()


def test_a_package_of_the_first_release_that_was_sealed_is_finished_by_this_one(packages: Packages) -> None:
    manifest = packages.to_roll_forward()

    assert manifest is not None
    assert manifest.content_hash == SEALED_HASH, "the hash is that of the bytes that were sealed"
    package = packages.package(SEALED)
    board = package.jobs.board()
    assert {job.name.table_name: job.state for job in board.jobs.values()} == {
        "items": "new_jobs",
        "items__tags": "completed_jobs",
    }
    job = package.job("items.5c1c2f0d11.0.reference")
    assert job.data.path == "data/normalized/0a1b2c/00000"
    assert (job.data.files, job.data.bytes) == (None, None)
    assert job.mark == manifest.mark
    package.jobs.start("items.5c1c2f0d11.0.reference")
    package.jobs.complete("items.5c1c2f0d11.0.reference", {"rows": 2})
    packages.commit(manifest)
    packages.finish(SEALED)
    assert packages.to_roll_forward() is None
    assert list(packages.loaded.list_packages()) == [LOADED, SEALED]
    assert not package.store.exists("data")


def test_a_finished_package_of_the_first_release_says_so_with_a_bare_word(packages: Packages) -> None:
    assert packages.package(LOADED).completion() == "loaded"
    packages.tidy()
    assert packages.loaded.list_late_packages() == []


def test_a_document_of_the_newest_version_is_taken_as_it_is() -> None:
    document = {"format_version": FORMAT_VERSION, "anything": [1]}

    assert current_form(document, "job", path="here") == {"anything": [1]}
