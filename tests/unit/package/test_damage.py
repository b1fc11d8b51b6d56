"""Truncated, overwritten and foreign control files cause an error that names the file."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.package_model import manifest_of

from penstock.errors import (
    PackageDamaged,
    PipelineLocked,
    SchemaEngineNoUpgradePath,
    UnsupportedVersion,
)
from penstock.package import DataFolder, JobFile, Packages, ParsedLoadJobFileName, Projection
from penstock.package.lease import LeaseHolder, acquire_lease
from penstock.package.projection.model import Level
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

LOAD_ID, JOB = "17.5", "items.5c1c2f0d11.0.reference"
PACKAGE = f"packages/{LOAD_ID}"
Reader = Callable[[Packages], Any]


def whole(root: str) -> Packages:
    """A package with one control file of every kind."""
    packages = Packages.at(root)
    storage = packages.normalized_packages
    storage.create_package(LOAD_ID, schema=Schema("shop"))
    package = packages.package(LOAD_ID)
    package.add_job(
        JobFile(
            name=ParsedLoadJobFileName.parse(JOB),
            load_id=LOAD_ID,
            package_path=package.path,
            data=DataFolder(path="data/normalized/x", files=3, bytes=40, digest="d"),
            columns="id STRING",
            projection=Projection(levels=(Level(table="items"),)),
            rows=7,
        )
    )
    package.mark_extracted({"resources": []})
    package.mark_normalized({"jobs": [{"job_id": "items.5c1c2f0d11.reference", "rows": 7, "bytes": 40}]})
    storage.save_schema_updates(LOAD_ID, {"items": {}})
    assert packages.seal(manifest_of(LOAD_ID, 1))
    package.jobs.start(JOB)
    package.jobs.complete(JOB, {"rows": 7})
    return packages


def committed(packages: Packages) -> None:
    packages.commit(manifest_of(LOAD_ID, 1))


KINDS: dict[str, tuple[str, Reader]] = {
    "job": (f"{PACKAGE}/completed_jobs/{JOB}", lambda p: p.package(LOAD_ID).job(JOB)),
    "manifest": ("slots/0000000001.json", lambda p: p.last_sealed()),
    "extracted": (f"{PACKAGE}/extracted.json", lambda p: p.package(LOAD_ID).read_extracted()),
    "normalized": (
        f"{PACKAGE}/normalized.json",
        lambda p: p.normalized_packages.get_load_package_info(LOAD_ID),
    ),
    "sealed": (f"{PACKAGE}/sealed.json", lambda p: p.package(LOAD_ID).load_mark()),
    "completed": (f"{PACKAGE}/package_completed.json", lambda p: p.package(LOAD_ID).status),
    "state": (
        f"{PACKAGE}/load_package_state.json",
        lambda p: p.normalized_packages.get_load_package_state(LOAD_ID),
    ),
    "schema": (f"{PACKAGE}/schema.json", lambda p: p.normalized_packages.load_schema(LOAD_ID)),
    "schema_updates": (f"{PACKAGE}/schema_updates.json", lambda p: p.package(LOAD_ID).schema_updates()),
    "applied": (
        f"{PACKAGE}/applied_schema_updates.json",
        lambda p: p.package(LOAD_ID).applied_schema_updates(),
    ),
    "outcome": ("outcomes/0000000001.json", lambda p: p.slots.find_decision(1)),
    "result": (
        f"{PACKAGE}/.results/items.5c1c2f0d11.reference.json",
        lambda p: p.normalized_packages.completed_results(LOAD_ID),
    ),
    "lease": ("lease/0000000001.json", lambda p: acquire_lease(p.store, pipeline="shop")),
}
"""The path and the reader of each kind of control file, except the optional `beat` and `hint`."""

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "one byte missing": lambda content: content[:-1],
    "zeros": lambda content: b"\x00" * len(content),
    "bytes that are no text": lambda _: b"\xff\xfe\x80{}",
    "two documents": lambda content: content + content,
    "a list": lambda _: b"[]",
    "a text": lambda _: b'"loaded"',
    "a number": lambda _: b"7",
    "null": lambda _: b"null",
    "a key twice": lambda content: content[:-1] + b',"x":1,"x":2}',
    "too deep": lambda _: b"[" * 100_000,
    "a number that never ends": lambda _: b'{"format_version":1,"n":' + b"9" * 5_000 + b"}",
}


@pytest.fixture
def packages() -> Iterator[Packages]:
    made = whole(f"memory://damage-{uuid.uuid4().hex}")
    yield made
    made.store.delete("")


@pytest.fixture
def on_disk(tmp_path: Path) -> Packages:
    return whole(str(tmp_path))


def content_of(packages: Packages, kind: str) -> bytes:
    path, _ = KINDS[kind]
    match kind:
        case "completed":
            packages.package(LOAD_ID).complete("loaded")
        case "outcome":
            committed(packages)
        case "applied":
            packages.package(LOAD_ID).commit_schema_updates({"items": {}})
        case "lease":
            acquire_lease(packages.store, pipeline="shop").release()
            packages.store.delete("lease/0000000001.released")
        case _:
            pass
    content = packages.store.read(path)
    assert content
    return content


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_control_file_is_named(packages: Packages, kind: str, damage: str) -> None:
    path, read = KINDS[kind]
    packages.store.put(path, DAMAGES[damage](content_of(packages, kind)))

    with pytest.raises(PackageDamaged) as caught:
        read(packages)

    assert vars(caught.value)["path"].endswith(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_place_of_a_control_file_is_named(on_disk: Packages, kind: str) -> None:
    path, read = KINDS[kind]
    content_of(on_disk, kind)
    on_disk.store.delete(path)
    on_disk.store.put(f"{path}/inside", b"")

    if kind == "job":  # folders are no jobs, so this one is not there
        assert on_disk.normalized_packages.list_completed_jobs(LOAD_ID) == []
        return
    with pytest.raises(PackageDamaged, match=path.rsplit("/", 1)[-1]):
        read(on_disk)


@pytest.mark.parametrize("version", [None, "2", True, 0, -1, 1.5, [2], {}])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in {"state", "schema"}])
def test_an_invalid_version_is_damage(packages: Packages, kind: str, version: Any) -> None:
    path, read = KINDS[kind]
    document = json.loads(content_of(packages, kind))
    packages.store.put(path, json.dumps({**document, "format_version": version}).encode())

    with pytest.raises(PackageDamaged, match="format_version"):
        read(packages)


@pytest.mark.parametrize("version", [3, 99, 10**30])
@pytest.mark.parametrize("kind", KINDS)
def test_a_document_of_a_later_release_is_refused(packages: Packages, kind: str, version: int) -> None:
    path, read = KINDS[kind]
    document = json.loads(content_of(packages, kind))
    key = {"state": "_state_engine_version", "schema": "engine_version"}.get(kind, "format_version")
    packages.store.put(path, json.dumps({**document, key: version + 10}).encode())

    with pytest.raises((UnsupportedVersion, SchemaEngineNoUpgradePath), match=str(version + 10)):
        read(packages)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("job", {"load_id": 7}),
    ("job", {"columns": None}),
    ("job", {"data_format": ["parquet"]}),
    ("job", {"rows": "7"}),
    ("job", {"rows": True}),
    ("job", {"data": {"path": "../../elsewhere"}}),
    ("job", {"data": {"path": "/elsewhere"}}),
    ("job", {"data": {"path": "data/x", "files": "3"}}),
    ("manifest", {"sequence": "1"}),
    ("manifest", {"sequence": 2}),
    ("manifest", {"sequence": True}),
    ("manifest", {"tables": {"items": {}}}),
    ("manifest", {"tables": [{"table": "items"}]}),
    ("manifest", {"tables": [{"table": 7, "job": "j", "write_disposition": "append"}]}),
    ("manifest", {"folders": ["data"]}),
    ("manifest", {"folders": [{"path": "data/../../x"}]}),
    ("manifest", {"schema": []}),
    ("manifest", {"state": None}),
    ("manifest", {"colour": "red"}),
    ("sealed", {"sequence": "1"}),
    ("sealed", {"manifest_hash": None}),
    ("sealed", {"colour": "red"}),
    ("completed", {"status": "new"}),
    ("completed", {"status": None}),
    ("state", {"_state_version": "1"}),
    ("state", {"_state_engine_version": "1"}),
    ("state", {"destination_state": []}),
    ("schema", {"tables": 7}),
    ("schema", {"name": None}),
    ("schema_updates", {"tables": ["items"]}),
    ("applied", {"tables": None}),
    ("outcome", {"decision": "maybe"}),
    ("outcome", {"sequence": 2}),
    ("outcome", {"facts": []}),
    ("outcome", {"by": 7}),
    ("normalized", {"jobs": {"items": 7}}),
    ("normalized", {"jobs": [{"rows": 7}]}),
    ("lease", {"alive": "30"}),
    ("lease", {"alive": float("nan")}),
    ("lease", {"alive": float("inf")}),
    ("lease", {"beat": 0}),
    ("lease", {"beat": -1.0}),
    ("lease", {"process": "4711"}),
    ("lease", {"started_at": None}),
]


@pytest.mark.parametrize(("kind", "change"), WRONG, ids=str)
def test_a_field_of_a_wrong_type_or_value_is_damage(
    packages: Packages, kind: str, change: dict[str, Any]
) -> None:
    path, read = KINDS[kind]
    document = json.loads(content_of(packages, kind))
    packages.store.put(path, json.dumps({**document, **change}).encode())

    with pytest.raises(PackageDamaged) as caught:
        read(packages)

    assert vars(caught.value)["path"].endswith(path)


@pytest.mark.parametrize("process", [0, -1, 2**31, 10**30])
def test_a_process_id_that_cannot_be_checked_counts_as_alive(process: int) -> None:
    assert not LeaseHolder(process=process).is_dead()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format_version":1,"sequence":"7"}', b"\x00", b"{"])
def test_a_damaged_slot_hint_costs_only_a_listing(packages: Packages, content: bytes) -> None:
    packages.store.put("slots/last.json", content)

    assert packages.slots.last() == 1


@pytest.mark.parametrize("noted", [-1, 0, 7, 10**9, 10**10, 10**300])
def test_a_wrong_slot_hint_is_ignored(packages: Packages, noted: int) -> None:
    packages.store.put("slots/last.json", json.dumps({"format_version": 1, "sequence": noted}).encode())

    assert packages.slots.last() == 1


@pytest.mark.parametrize("name", ["\u0663.json", "12345678901.json", "1.json", "x.json", "0000000009.txt"])
def test_foreign_files_among_slots_take_no_number(packages: Packages, name: str) -> None:
    packages.store.put(f"slots/{name}", b"{}")
    packages.store.delete("slots/last.json")

    assert packages.slots.last() == 1


@pytest.mark.parametrize("name", ["\u0663.json", "12345678901.json", "9.json", "x.json"])
def test_foreign_files_among_epochs_hold_no_lease(packages: Packages, name: str) -> None:
    packages.store.put(f"lease/{name}", b"{}")

    lease = acquire_lease(packages.store, pipeline="shop")
    assert lease.epoch == 1
    lease.release()


def test_a_heartbeat_of_a_later_release_is_refused(packages: Packages) -> None:
    lease = acquire_lease(packages.store, pipeline="shop")
    packages.store.put("lease/0000000001.beat", b'{"format_version":9}')

    with pytest.raises(UnsupportedVersion):
        acquire_lease(packages.store, pipeline="shop")
    lease.release()


def test_a_lease_without_a_heartbeat_is_as_old_as_its_holder(packages: Packages) -> None:
    lease = acquire_lease(packages.store, pipeline="shop")
    packages.store.delete("lease/0000000001.beat")

    with pytest.raises(PipelineLocked):
        acquire_lease(packages.store, pipeline="shop")
    lease.release()


def test_a_document_without_a_schema_is_damage(packages: Packages) -> None:
    packages.store.put(f"{PACKAGE}/schema.json", b'{"tables":{}}')

    with pytest.raises(PackageDamaged, match="it has no schema"):
        packages.normalized_packages.schema_name(LOAD_ID)
