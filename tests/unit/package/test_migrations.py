"""Packages of the first release, and versions in order."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import InternalError, PackageDamaged, UnsupportedVersion
from penstock.package import DataFolder, Manifest, Packages, Retention
from penstock.package.control_file import FORMAT_VERSION, upgrade_document
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.migrations import MIGRATIONS, apply_migrations, latest_version

RECORDED = json.loads(Path(__file__).with_name("packages_v1.json").read_text(encoding="utf-8"))
"""Three packages as the release with format 1 wrote them: loaded, half loaded, extracted."""

LOADED, SEALED, EXTRACTED = "1794709965.511098", "1794709966.000001", "1794709967.000002"


@dataclass
class Step:
    """A migration that says what it has seen."""

    VERSION: int

    def upgrade(self, kind: str, document: dict[str, Any]) -> dict[str, Any]:
        return {**document, "steps": [*document.get("steps", []), (kind, self.VERSION)]}


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    for name, content in RECORDED["files"].items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        is_text = isinstance(content, str)
        path.write_bytes(content.encode() if is_text else base64.b64decode(content["base64"]))
    return Packages.at(str(tmp_path))


@pytest.mark.parametrize("versions", [[2, 4], [2, 2], [3], [1], [2, 3, 5], [3, 2], [0]])
def test_a_gap_or_a_double_among_migrations_is_an_error_of_ours(versions: list[int]) -> None:
    with pytest.raises(InternalError, match=re.escape(str([1, *versions]))):
        latest_version([Step(version) for version in versions])


def test_migrations_in_order_lead_to_the_last_of_them() -> None:
    assert latest_version([]) == 1
    assert latest_version([Step(2), Step(3)]) == 3
    assert latest_version() == FORMAT_VERSION == 1 + len(MIGRATIONS)


def test_every_module_of_the_folder_is_in_the_chain_under_its_own_number() -> None:
    folder = Path(__file__).parents[3] / "src" / "penstock" / "package" / "migrations"
    numbers = [int(path.name[1:5]) for path in sorted(folder.glob("v*.py"))]

    assert numbers == [migration.VERSION for migration in MIGRATIONS]


def test_a_document_passes_the_migrations_it_has_not_seen_in_order() -> None:
    chain = [Step(2), Step(3), Step(4)]

    assert apply_migrations("job", {}, version=2, migrations=chain)["steps"] == [("job", 3), ("job", 4)]
    assert apply_migrations("job", {"x": 1}, version=4, migrations=chain) == {"x": 1}


def test_a_job_of_version_1_gets_a_folder_whose_content_nobody_counted(packages: Packages) -> None:
    job = packages.package(SEALED).job("items.a1b2c3d4e5.0.reference")

    assert job.data == DataFolder(path="data/normalized/0")
    assert job.data_path == f"{packages.package(SEALED).path}/data/normalized/0"
    assert (job.rows, job.data_format) == (3, "parquet")
    assert job.projection.columns[1].name == "\u00fc"
    assert job.landed == ()


def test_every_part_of_a_job_of_version_5_reads_a_nested_dataset() -> None:
    document: dict[str, Any] = {"data": {}, "more": [{"data": {}}, {"data": {}}]}

    found = apply_migrations("job", document, version=5)

    assert found == {"data": {}, "landed": [], "more": [{"data": {}, "landed": []}] * 2}
    assert apply_migrations("manifest", {"tables": []}, version=5) == {"tables": []}


def test_a_manifest_of_version_1_keeps_the_hash_it_was_sealed_with(packages: Packages) -> None:
    found = [packages.slots.read(sequence) for sequence in (1, 2)]

    assert [manifest and manifest.content_hash for manifest in found] == [
        RECORDED["content_hashes"][sequence] for sequence in "12"
    ]
    assert [manifest and manifest.mark.manifest_hash for manifest in found] == [
        RECORDED["content_hashes"][sequence] for sequence in "12"
    ]
    assert found[1]
    assert found[1].folders == ()
    assert {(entry.rows, entry.data) for entry in found[1].tables} == {(None, None)}


def test_a_manifest_written_anew_has_the_hash_of_what_is_written(packages: Packages) -> None:
    old = packages.slots.read(2)
    assert old
    written = replace(old, stored_hash=None)

    read = Manifest.from_json(written.to_json())

    assert read.content_hash == written.content_hash != old.content_hash


@pytest.mark.parametrize(("content", "status"), [(b"loaded", "loaded"), (b"aborted", "aborted")])
def test_a_marker_of_version_1_is_a_bare_word(packages: Packages, content: bytes, status: str) -> None:
    assert packages.package(LOADED).status == "loaded"

    packages.package(SEALED).store.put("package_completed.json", content)

    assert packages.package(SEALED).status == status


def test_a_bare_word_that_is_no_status_is_damage(packages: Packages) -> None:
    packages.package(SEALED).store.put("package_completed.json", b"done")

    with pytest.raises(PackageDamaged):
        _ = packages.package(SEALED).status


def test_what_extract_of_version_1_left_is_understood_by_normalize(packages: Packages) -> None:
    extracted = ExtractManifest.from_dict(packages.package(EXTRACTED).read_extracted())

    assert (extracted.schema_name, extracted.rows, extracted.state) == ("shop", 3, None)
    assert [(table.table, table.files) for table in extracted.tables] == [("items", 1)]
    assert packages.package(EXTRACTED).store.exists(extracted.tables[0].folder)


def test_packages_of_version_1_are_opened_rolled_forward_and_finished(packages: Packages) -> None:
    statuses = {load_id: packages.package(load_id).status for load_id in (LOADED, SEALED, EXTRACTED)}
    packages.apply_retention()
    manifest = packages.pending_load()
    assert manifest
    package = packages.package(manifest.load_id)
    jobs = packages.normalized_packages.get_load_package_jobs(manifest.load_id)

    for entry in manifest.tables:
        if package.jobs.list_jobs().jobs[entry.job.replace(".0.", ".")].state == "new_jobs":
            package.jobs.start(entry.job)
            package.jobs.complete(entry.job, {"rows": 3})
    packages.commit(manifest)
    packages.finish(manifest.load_id)

    assert statuses == {LOADED: "loaded", SEALED: "extracted", EXTRACTED: "extracted"}
    assert manifest.load_id == SEALED
    assert [len(jobs[state]) for state in ("new_jobs", "completed_jobs")] == [1, 1]
    assert package.load_mark() == manifest.mark
    assert packages.pending_load() is None
    assert packages.loaded_packages.list_packages() == [LOADED, SEALED]
    assert [one.load_id for one in packages.with_status("extracted")] == [EXTRACTED]
    assert not package.store.exists("data")


def test_the_next_load_after_those_of_version_1_takes_the_next_number(packages: Packages) -> None:
    waiting = packages.slots.read(2)
    assert waiting
    following = replace(waiting, load_id=EXTRACTED, sequence=3, stored_hash=None)

    assert packages.seal(following) is False, "load 2 is not finished"
    packages.commit(waiting)
    packages.finish(SEALED)

    assert packages.seal(following) is True
    packages.finish(EXTRACTED)
    packages.apply_retention(Retention(packages=0))
    assert packages.loaded_packages.list_packages() == [EXTRACTED]


def test_a_package_of_version_1_that_was_given_up_does_not_come_back(packages: Packages) -> None:
    assert packages.drop(SEALED) == "aborted"
    assert packages.drop(EXTRACTED) is None

    assert packages.pending_load() is None
    assert packages.with_status("extracted") == []


@pytest.mark.parametrize("kind", ["job", "manifest"])
@pytest.mark.parametrize("document", [{}, {"tables": 7}, {"tables": ["x"]}, {"data": None}])
def test_a_document_of_version_1_that_lacks_what_it_needs_is_damage(
    packages: Packages, kind: str, document: dict[str, Any]
) -> None:
    path = (
        "slots/0000000002.json"
        if kind == "manifest"
        else f"packages/{SEALED}/new_jobs/items.a1b2c3d4e5.0.reference"
    )
    packages.store.put(path, json.dumps({"format_version": 1, **document}).encode())

    with pytest.raises(PackageDamaged, match="is missing or wrong in it"):
        packages.slots.read(2) if kind == "manifest" else packages.package(SEALED).job(path)


def test_a_version_that_is_newer_than_this_release_is_told_with_both_numbers() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        upgrade_document({"format_version": FORMAT_VERSION + 1}, "job", path="x")

    assert vars(caught.value)["has"] == str(FORMAT_VERSION + 1)
    assert vars(caught.value)["supports"] == f"up to {FORMAT_VERSION}"
