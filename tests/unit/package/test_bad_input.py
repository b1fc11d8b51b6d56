"""What nobody should write is refused with an error that says what is wrong, and never with another one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.package.world import manifest_of

from penstock.errors import (
    InvalidSchemaName,
    PackageDamaged,
    PenstockError,
    PipelineLocked,
    SchemaEngineNoUpgradePath,
    UnsupportedVersion,
    UsageError,
)
from penstock.interfaces import LoadMark
from penstock.package import (
    DataFolder,
    JobFile,
    Packages,
    ParsedLoadJobFileName,
    Projection,
)
from penstock.package.control import versioned
from penstock.package.describe import describe, read_schema
from penstock.package.extracted import Extracted, ExtractedTable
from penstock.package.holder import Holder, LeaseTimes
from penstock.package.lease import acquire, held
from penstock.package.slots import Outcome
from penstock.package.storage import as_json
from penstock.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LOAD_ID, NAME = "17.5", "items.5c1c2f0d11.0.reference"
JOB_ID = ParsedLoadJobFileName.parse(NAME).job_id()
FOLDER = f"packages/{LOAD_ID}"
HUGE, DIGITS = 10**400, b"9" * 5000
DEEP = b"[" * 100_000 + b"]" * 100_000
# A process on no machine that is known: nobody can tell that it is gone.
SILENT = Holder(machine=None, host="elsewhere", process=1, started_at=1.0, beat=0.05, alive=0.1)
SHORT = LeaseTimes(beat=0.05, alive=0.1)


@pytest.fixture
def packages(tmp_path: Path) -> Packages:
    return Packages.at(str(tmp_path / "root"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of control file: where it stands, a good content, and who reads it."""

    path: str
    good: dict[str, Any]
    read: Callable[[Packages], object]
    beside: tuple[tuple[str, bytes], ...] = ()


def _job() -> dict[str, Any]:
    job = JobFile(
        name=ParsedLoadJobFileName.parse(NAME),
        load_id=LOAD_ID,
        package_path="p",
        data=DataFolder(path="data/normalized/x"),
        columns="id STRING",
        projection=Projection(),
    )
    return job.to_dict()


def _extracted(**changes: Any) -> dict[str, Any]:
    table = ExtractedTable(
        table="t",
        resource="t",
        write_disposition="append",
        folder="data/extracted/0",
        rows=1,
        bytes=1,
        files=1,
    )
    document = Extracted(schema_name="shop", tables=(table,)).to_dict()
    document["resources"][0] |= changes
    return document


def _said(packages: Packages) -> object:
    info = describe(packages.package(LOAD_ID))
    return info.asdict(), info.asstr(1)


def _saved_again(packages: Packages) -> object:
    package = packages.package(LOAD_ID)
    return package.save_state(package.state())


def _locked_or_taken(packages: Packages) -> object:
    with held(packages.store, pipeline="shop", times=SHORT) as lease:
        return lease.epoch


VERSION = json.loads(versioned({}))
TABLES = {"tables": {"items": {"name": "items", "columns": {"id": {"data_type": "bigint"}}}}}
FACTS = {"job_id": JOB_ID, "rows": 7, "bytes": 40}
MARK = LoadMark(pipeline_name="shop", sequence=1, load_id=LOAD_ID, manifest_hash="d")
KINDS = {
    "job": Kind(
        path=f"{FOLDER}/new_jobs/{NAME}",
        good={**VERSION, **_job()},
        read=lambda packages: packages.package(LOAD_ID).job(NAME),
    ),
    "manifest": Kind(
        path="slots/0000000001.json",
        good=json.loads(manifest_of(LOAD_ID, 1).to_json()),
        read=lambda packages: packages.last_sealed(),
    ),
    "extracted": Kind(
        path=f"{FOLDER}/extracted.json",
        good={**VERSION, **_extracted()},
        read=lambda packages: Extracted.from_dict(packages.package(LOAD_ID).extracted()),
    ),
    "normalized": Kind(
        path=f"{FOLDER}/normalized.json",
        good={**VERSION, "jobs": [FACTS]},
        read=_said,
        beside=((f"{FOLDER}/new_jobs/{NAME}", b""),),
    ),
    "sealed": Kind(
        path=f"{FOLDER}/sealed.json",
        good={**VERSION, **asdict(MARK)},
        read=lambda packages: packages.package(LOAD_ID).mark(),
    ),
    "completed": Kind(
        path=f"{FOLDER}/package_completed.json",
        good={**VERSION, "status": "loaded"},
        read=lambda packages: packages.package(LOAD_ID).status,
    ),
    "state": Kind(
        path=f"{FOLDER}/load_package_state.json",
        good={"_state_version": 1, "_state_engine_version": 1, "created_at": "2024-01-01"},
        read=_saved_again,
    ),
    "schema": Kind(
        path=f"{FOLDER}/schema.json",
        good=dict(Schema("shop").to_dict()),
        read=lambda packages: read_schema(packages.package(LOAD_ID)),
    ),
    "schema_updates": Kind(path=f"{FOLDER}/schema_updates.json", good={**VERSION, **TABLES}, read=_said),
    "applied_updates": Kind(
        path=f"{FOLDER}/applied_schema_updates.json", good={**VERSION, **TABLES}, read=_said
    ),
    "outcome": Kind(
        path="outcomes/0000000001.json",
        good={**VERSION, **asdict(Outcome(sequence=1, load_id=LOAD_ID, decision="commit", by="me"))},
        read=lambda packages: packages.slots.outcome(1),
    ),
    "holder": Kind(path="lease/0000000001.json", good={**VERSION, **asdict(SILENT)}, read=_locked_or_taken),
    "result": Kind(
        path=f"{FOLDER}/.results/{JOB_ID}.json",
        good={**VERSION, "rows": 7},
        read=lambda packages: packages.normalized.completed_results(LOAD_ID),
        beside=((f"{FOLDER}/completed_jobs/{NAME}", b""),),
    ),
}
VERSIONED = [kind for kind in KINDS if kind not in {"state", "schema"}]

CONTENTS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "Expecting value"),
    "cut_in_half": (lambda good: good[: len(good) // 2], r"Unterminated|Expecting|Invalid"),
    "cut_by_a_byte": (lambda good: good[:-1], r"Expecting|Unterminated"),
    "two_documents": (lambda good: good + good, "Extra data"),
    "text": (lambda _: b"hello", "Expecting value"),
    "zero_bytes": (lambda good: b"\0" * len(good), r"Expecting value|utf-"),
    "wrong_encoding": (lambda good: good[:-1] + b',"a":"\xff"}', "utf-8"),
    "a_list": (lambda good: b"[" + good + b"]", r"a list|no object|no schema"),
    "a_number": (lambda _: b"7", r"a int|no object|no schema"),
    "null": (lambda _: b"null", r"null|NoneType"),
    "key_twice": (lambda good: good[:-1] + b',"a":1,"a":2}', "a key stands in it twice"),
    "deep": (lambda good: good[:-1] + b',"a":' + DEEP + b"}", "recursion"),
    "more_digits_than_python_reads": (lambda good: good[:-1] + b',"a":' + DIGITS + b"}", "4300 digits"),
}


def put(packages: Packages, kind: Kind, content: bytes) -> None:
    for path, beside in (*kind.beside, (kind.path, content)):
        packages.store.put(path, beside)


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_control_file_is_read(packages: Packages, kind: str) -> None:
    put(packages, KINDS[kind], as_json(KINDS[kind].good))

    assert KINDS[kind].read(packages)


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_control_file_that_is_no_document_is_damaged(packages: Packages, kind: str, content: str) -> None:
    spoil, says = CONTENTS[content]
    put(packages, KINDS[kind], spoil(as_json(KINDS[kind].good)))

    with pytest.raises(PackageDamaged, match=says) as caught:
        KINDS[kind].read(packages)

    assert vars(caught.value)["path"] == packages.store.path(KINDS[kind].path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_in_place_of_a_control_file_is_damage(packages: Packages, kind: str) -> None:
    put(packages, replace(KINDS[kind], path=f"{KINDS[kind].path}/inner"), b"")

    with pytest.raises(PackageDamaged, match=r"it is a folder|no such job file"):
        KINDS[kind].read(packages)


@pytest.mark.parametrize("kind", KINDS)
def test_a_link_that_leads_out_of_the_package_is_not_followed(
    packages: Packages, kind: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(as_json(KINDS[kind].good))
    put(packages, KINDS[kind], b"")
    place = tmp_path / "root" / KINDS[kind].path
    place.unlink()
    place.symlink_to(outside)

    with pytest.raises(PackageDamaged, match="a link leads out of its folder"):
        KINDS[kind].read(packages)


@pytest.mark.parametrize("version", [3, 99, HUGE])
@pytest.mark.parametrize("kind", VERSIONED)
def test_a_control_file_of_a_later_release_asks_for_an_upgrade(
    packages: Packages, kind: str, version: int
) -> None:
    put(packages, KINDS[kind], as_json({**KINDS[kind].good, "format_version": version}))

    with pytest.raises(UnsupportedVersion, match=f"has version {str(version)[:20]}, .* up to 2") as caught:
        KINDS[kind].read(packages)

    assert "upgrade penstock" in caught.value.hint


@pytest.mark.parametrize("version", [None, "2", 2.0, True, 0, -1, [2]], ids=repr)
@pytest.mark.parametrize("kind", VERSIONED)
def test_a_control_file_without_a_version_is_damaged(packages: Packages, kind: str, version: object) -> None:
    put(packages, KINDS[kind], as_json({**KINDS[kind].good, "format_version": version}))

    with pytest.raises(PackageDamaged, match="its format_version is"):
        KINDS[kind].read(packages)


MISSING = object()
FIELDS: list[tuple[str, str, Any, str]] = [
    *(
        ("job", field, MISSING, f"'{field}' is missing")
        for field in ("load_id", "data", "columns", "data_format", "rows", "projection")
    ),
    ("job", "load_id", 7, "load_id is 7"),
    ("job", "rows", "many", "rows is 'many'"),
    ("job", "columns", None, "columns is None"),
    ("job", "data", {"path": "../../etc"}, "leads out of its folder"),
    ("job", "data", {"path": "/etc"}, "leads out of its folder"),
    ("job", "data", {"path": "a\0b"}, "control character"),
    ("job", "data", {"path": ""}, "leads out of its folder"),
    ("job", "data", {"path": "x/" * 800}, "longer than 900 characters"),
    ("job", "data", {"path": "d", "colour": "red"}, "colour"),
    ("job", "projection", {"steps": [], "columns": [{"name": "a"}]}, "path"),
    *(
        ("manifest", field, MISSING, field)
        for field in (
            "load_id",
            "sequence",
            "pipeline_name",
            "tables",
            "folders",
            "schema_before",
            "schema",
            "state",
        )
    ),
    ("manifest", "sequence", 2, "it says it is slot 2"),
    ("manifest", "sequence", HUGE, "it says it is slot 9|it says it is slot 1"),
    ("manifest", "sequence", 1.0, "sequence is 1.0"),
    ("manifest", "sequence", True, "sequence is True"),
    ("manifest", "schema", [], r"schema is \[\]"),
    ("manifest", "tables", "items", "must be a mapping"),
    ("manifest", "tables", [{"table": "items"}], "missing 2 required"),
    ("manifest", "folders", [{"path": "../x"}], "leads out of its folder"),
    ("manifest", "colour", "red", "colour"),
    ("extracted", "schema_name", MISSING, "'schema_name' is missing"),
    ("extracted", "resources", MISSING, "'resources' is missing"),
    ("extracted", "schema_name", 7, "schema_name is 7"),
    ("extracted", "resources", 7, "not iterable"),
    ("extracted", "resources", [7], "no attribute"),
    ("extracted", "resources", [{}], "missing 7 required"),
    ("extracted", "resources", _extracted(rows="many")["resources"], "rows is 'many'"),
    ("extracted", "resources", _extracted(data_format="xml")["resources"], "data_format is 'xml'"),
    ("extracted", "resources", _extracted(folder="../../x")["resources"], "leads out of its folder"),
    ("extracted", "tables", [], "declared is"),
    ("extracted", "state", "none", "state is 'none'"),
    ("normalized", "jobs", 7, "no list of jobs"),
    ("normalized", "jobs", {"a": 1}, "no list of jobs"),
    ("normalized", "jobs", ["items"], "no list of jobs"),
    ("normalized", "jobs", [{"rows": 1}], "no list of jobs"),
    ("normalized", "jobs", [{**FACTS, "job_id": []}], "no list of jobs"),
    ("normalized", "jobs", [{**FACTS, "rows": "many"}], "no list of jobs"),
    ("normalized", "jobs", [{**FACTS, "bytes": 1.5}], "no list of jobs"),
    *(
        ("sealed", field, MISSING, field)
        for field in ("pipeline_name", "sequence", "load_id", "manifest_hash")
    ),
    ("sealed", "sequence", "1", "sequence is '1'"),
    ("sealed", "colour", "red", "colour"),
    ("completed", "status", MISSING, "it says None"),
    ("completed", "status", "finished", "it says 'finished'"),
    ("completed", "status", "new", "it says 'new'"),
    ("completed", "status", [], r"it says \[\]"),
    ("completed", "status", {}, "it says {}"),
    ("state", "_state_version", "1", "its _state_version is '1'"),
    ("state", "_state_engine_version", None, "its _state_engine_version is None"),
    ("state", "_version_hash", [], r"its _version_hash is \[\]"),
    ("state", "created_at", 7, "its created_at is 7"),
    ("state", "destination_state", [], r"its destination_state is \[\]"),
    ("schema", "name", MISSING, "no schema"),
    ("schema", "name", 7, "no schema"),
    ("schema", "tables", MISSING, "tables"),
    ("schema", "tables", 7, "no attribute"),
    ("schema", "tables", {"items": 7}, "no attribute"),
    ("schema", "tables", {"items": {"columns": {"id": []}}}, "no attribute"),
    ("schema_updates", "tables", MISSING, "no tables"),
    ("schema_updates", "tables", [], "no tables"),
    ("schema_updates", "tables", {"items": 7}, "no tables"),
    ("schema_updates", "tables", {"items": {"columns": ["id"]}}, "no tables"),
    ("applied_updates", "tables", MISSING, "no tables"),
    ("applied_updates", "tables", {"items": {"columns": {"id": "bigint"}}}, "no tables"),
    *(("outcome", field, MISSING, field) for field in ("sequence", "load_id", "decision", "by")),
    ("outcome", "sequence", 2, "it says it is about 2"),
    ("outcome", "decision", "maybe", "decision is 'maybe'"),
    ("outcome", "decision", [], r"decision is \[\]"),
    ("outcome", "facts", [], r"facts is \[\]"),
    ("outcome", "colour", "red", "colour"),
    ("holder", "process", "1", "process is '1'"),
    ("holder", "started_at", HUGE, "started_at is 1000"),
    ("holder", "alive", None, "alive is None"),
    ("holder", "alive", 0, "no time to live"),
    ("holder", "beat", -1.0, "no time to live"),
    ("holder", "beat", HUGE, "beat is 1000"),
    ("holder", "colour", "red", "colour"),
]


def _id(kind: str, field: str, value: object) -> str:
    return f"{kind}-{field}-{'missing' if value is MISSING else ascii(value)[:40]}"


@pytest.mark.parametrize(
    ("kind", "field", "value", "says"), [pytest.param(*case, id=_id(*case[:3])) for case in FIELDS]
)
def test_a_field_that_is_missing_wrong_or_unknown_is_damage(
    packages: Packages, kind: str, field: str, value: Any, says: str
) -> None:
    document = {**KINDS[kind].good, field: value}
    put(packages, KINDS[kind], as_json({key: said for key, said in document.items() if said is not MISSING}))

    with pytest.raises(PackageDamaged, match=says):
        KINDS[kind].read(packages)


@pytest.mark.parametrize("number", [b"1e999", b"NaN", b"-Infinity"])
@pytest.mark.parametrize(
    ("kind", "field"),
    [("manifest", "sequence"), ("outcome", "sequence"), ("holder", "alive"), ("job", "rows")],
)
def test_a_number_that_is_none_is_damage(packages: Packages, kind: str, field: str, number: bytes) -> None:
    rest = {key: said for key, said in KINDS[kind].good.items() if key != field}
    put(packages, KINDS[kind], as_json(rest)[:-1] + b',"%b":%b}' % (field.encode(), number))

    with pytest.raises(PackageDamaged, match=f"{field} is"):
        KINDS[kind].read(packages)


@pytest.mark.parametrize(
    ("kind", "key", "value", "error", "says"),
    [
        ("state", "_state_engine_version", 99, UnsupportedVersion, "has version 99"),
        ("schema", "engine_version", 99, SchemaEngineNoUpgradePath, "engine version 99"),
        ("schema", "engine_version", "eleven", SchemaEngineNoUpgradePath, "engine version eleven"),
        (
            "schema",
            "tables",
            {"t": {"columns": {"c": {"data_type": "colour"}}}},
            UsageError,
            "is not a data type",
        ),
        ("schema", "name", "../shop", InvalidSchemaName, "'../shop' cannot be a schema name"),
    ],
    ids=["later_state", "later_schema", "text_for_a_version", "unknown_type", "path_for_a_name"],
)
def test_documents_with_a_version_of_their_own_say_what_they_need(
    packages: Packages, kind: str, key: str, value: object, error: type[PenstockError], says: str
) -> None:
    put(packages, KINDS[kind], as_json({**KINDS[kind].good, key: value}))

    with pytest.raises(error, match=says):
        KINDS[kind].read(packages)


@pytest.mark.parametrize("kind", ["schema", "extracted"])
def test_a_document_that_json_reads_and_a_value_cannot_hold_is_damaged(packages: Packages, kind: str) -> None:
    nested = b'"state":{"a":' + b"[" * 900 + b"]" * 900 + b"}}"
    put(packages, KINDS[kind], as_json(KINDS[kind].good)[:-1] + b"," + nested)

    with pytest.raises(PackageDamaged, match="recursion"):
        KINDS[kind].read(packages)


HINTS = {
    **{name: spoil(versioned({"sequence": 1})) for name, (spoil, _) in CONTENTS.items()},
    "no_number": versioned({}),
    "a_text": versioned({"sequence": "1"}),
    "behind": versioned({"sequence": 1}),
    "ahead": versioned({"sequence": 7}),
    "negative": versioned({"sequence": -1}),
    "huge": versioned({"sequence": HUGE}),
    "later_release": b'{"format_version":99,"last":2}',
}


@pytest.mark.parametrize("hint", HINTS)
def test_a_damaged_note_of_the_last_slot_is_no_error_and_changes_nothing(
    packages: Packages, hint: str
) -> None:
    for sequence in (1, 2):
        packages.slots.seal(manifest_of(f"{sequence}.0", sequence))

    packages.store.put("slots/last.json", HINTS[hint])

    assert packages.slots.last() == 2
    assert packages.slots.seal(manifest_of("3.0", 3))
    assert packages.slots.last() == 3


def test_a_folder_in_place_of_the_note_is_no_error_either(packages: Packages) -> None:
    packages.store.put("slots/last.json/inner", b"")

    assert packages.slots.seal(manifest_of("1.0", 1))
    assert packages.slots.last() == 1


BEATS = {
    **{name: spoil(versioned({"count": 1, "at": 1.0})) for name, (spoil, _) in CONTENTS.items()},
    "no_time": versioned({"count": 1}),
    "text_for_a_time": versioned({"at": "now"}),
    "huge": versioned({"at": HUGE}),
    "not_a_number": b'{"format_version":2,"at":NaN}',
}


@pytest.mark.parametrize("beat", BEATS)
def test_a_damaged_beat_is_watched_and_a_silent_holder_is_replaced(packages: Packages, beat: str) -> None:
    packages.store.put("lease/0000000001.json", as_json(KINDS["holder"].good))
    packages.store.put("lease/0000000001.beat", BEATS[beat])

    with held(packages.store, pipeline="shop", times=SHORT) as lease:
        assert lease.epoch == 2


def test_a_holder_that_beats_is_not_replaced(packages: Packages) -> None:
    with held(packages.store, pipeline="shop"), pytest.raises(PipelineLocked, match="shop"):
        acquire(packages.store, pipeline="shop")


def test_a_beat_of_a_later_release_asks_for_an_upgrade(packages: Packages) -> None:
    packages.store.put("lease/0000000001.json", as_json(KINDS["holder"].good))
    packages.store.put("lease/0000000001.beat", b'{"format_version":99}')

    with pytest.raises(UnsupportedVersion, match="has version 99"):
        acquire(packages.store, pipeline="shop")
