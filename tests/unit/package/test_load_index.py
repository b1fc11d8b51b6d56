"""The index of loads equals a listing of all loads, after any history."""

from __future__ import annotations

import base64
import json
import uuid
from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.package.package_model import manifest_of

from penstock.interfaces import CommitRecord, StateInfo, StorageSchemaInfo
from penstock.package import Packages, Retention, file_ledger, load_index
from penstock.package.control_file import encode_control
from penstock.package.file_ledger import LOADS_TABLE, STATE_TABLE, VERSION_TABLE, FileLedger
from penstock.package.load_index import INDEX_FOLDER, LoadIndex, LoadSummary
from penstock.package.local_files import DirEntry
from penstock.package.storage import FileStorage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from penstock.interfaces.ledger import CompleteLoad

PIPELINES, SCHEMAS = ("a", "b", "dlt"), ("s", "t", "s__u")
HASHES = [base64.b64encode(bytes([number] * 4)).decode() for number in range(3)]


class StoppedError(Exception):
    """The process was killed."""


@dataclass
class Disk:
    """Files in memory that list as S3 does; before its n-th change a process may be killed or wait."""

    files: dict[str, bytes] = field(default_factory=dict)
    supports_start_after: bool = True
    meanwhile: dict[int, Callable[[], None]] = field(default_factory=dict)
    changes: int = 0
    calls: Counter[str] = field(default_factory=Counter)

    def _change(self) -> None:
        self.changes += 1
        act = self.meanwhile.pop(self.changes, None)
        if act is not None:
            act()

    def read(self, path: str) -> bytes:
        self.calls["read"] += 1
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def exists(self, path: str) -> bool:
        self.calls["exists"] += 1
        return path in self.files

    has_file = exists

    def put(self, path: str, content: bytes, *, durable: bool = True) -> None:
        del durable
        self._change()
        self.calls["put"] += 1
        self.files[path] = content

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self._change()
        self.calls["put"] += 1
        if path in self.files:
            return False
        self.files[path] = content
        return True

    def delete(self, path: str) -> None:
        self._change()
        self.calls["delete"] += 1
        for name in [name for name in self.files if name == path or name.startswith(f"{path}/")]:
            del self.files[name]

    delete_file = delete

    def entries(self, folder: str) -> list[DirEntry]:
        inside = [name.removeprefix(f"{folder}/") for name in self.files if name.startswith(f"{folder}/")]
        folders = {name.split("/")[0] for name in inside if "/" in name}
        listed = [DirEntry(name, 0, 0.0, name in folders) for name in {name.split("/")[0] for name in inside}]
        self.calls.update(list=1 + max(0, len(listed) - 1) // 1000, listed=len(listed))
        return listed

    def names(self, folder: str, *, prefix: str, after: str, limit: int | None) -> list[str]:
        start = len(folder) + 1
        inside = {name[start:].split("/")[0] for name in self.files if name.startswith(f"{folder}/")}
        listed = sorted(name for name in inside if name > after and name.startswith(prefix))[:limit]
        self.calls.update(list=1 + max(0, len(listed) - 1) // 1000, listed=len(listed))
        return listed

    def sizes(self, folder: str) -> dict[str, int]:
        return {name: len(file) for name, file in self.files.items() if name.startswith(f"{folder}/")}

    def move(self, source: str, target: str) -> None:
        self._change()
        self.files[target] = self.files.pop(source)

    def copy(self, source: str, target: str) -> None:
        self.files[target] = self.files[source]

    def open_new(self, path: str) -> IO[bytes]:
        raise NotImplementedError(path)


@dataclass
class Load:
    pipeline: str
    schema: str
    load_id: str
    sequence: int
    version: int
    has_state: bool

    @property
    def record(self) -> CommitRecord:
        return CommitRecord(
            load_id=self.load_id,
            schema_name=self.schema,
            schema_version_hash=HASHES[self.version],
            inserted_at="2026-11-15T02:32:47+00:00",
            pipeline_name=self.pipeline,
            sequence=self.sequence,
            manifest_hash="m",
        )

    def complete(self, into: FileLedger) -> None:
        """What the load step does with the ledger."""
        into.store_schema(
            StorageSchemaInfo(
                version=self.version,
                engine_version=11,
                inserted_at=datetime.fromtimestamp(float(self.load_id), UTC),
                schema_name=self.schema,
                version_hash=HASHES[self.version],
                schema="{}",
            )
        )
        if into.last_state(self.pipeline) is None or self.has_state:
            into.store_state(self.state, schema_hash=HASHES[self.version])
        into.commit(self.record)

    @property
    def state(self) -> StateInfo:
        return StateInfo(
            version=self.sequence,
            engine_version=4,
            pipeline_name=self.pipeline,
            state="x",
            created_at=datetime(2026, 11, 15, tzinfo=UTC),
            version_hash=self.load_id,
            _dlt_load_id=self.load_id,
        )


class World:
    """Two pipelines of ours and dlt in one dataset."""

    def __init__(self, *, supports_start_after: bool) -> None:
        self.root = f"memory://{uuid.uuid4().hex}"
        self.disk = Disk(supports_start_after=supports_start_after)
        self.clock = 1_794_700_000
        self.open: dict[str, Load] = {}
        self.sequences: Counter[str] = Counter()
        self.moments: list[tuple[Any, list[CompleteLoad]]] = []
        self.reader = self.ledger().with_remembered_files()

    def ledger(self, disk: Disk | None = None) -> FileLedger:
        return FileLedger(FileStorage(self.root, files=disk or self.disk))

    def next_id(self, *, is_old: bool) -> str:
        self.clock += 10
        return f"{self.clock - (55 if is_old else 0)}.{self.clock % 7}"

    def load(self, pipeline: str, draw: Callable[[Any], Any], *, depth: int = 0) -> None:
        """Complete the load that a process left open, or a new one; the process may be killed or wait."""
        if pipeline not in self.open:
            self.sequences[pipeline] += 1
            self.open[pipeline] = Load(
                pipeline,
                draw(st.sampled_from(SCHEMAS)),
                self.next_id(is_old=draw(st.booleans())),
                self.sequences[pipeline],
                draw(st.integers(0, 2)),
                draw(st.booleans()),
            )
        load = self.open[pipeline]
        disk = Disk(self.disk.files, supports_start_after=self.disk.supports_start_after)
        event = draw(st.sampled_from(["none", "killed", "waits"])) if depth < 2 else "none"
        at = draw(st.integers(1, 6))
        if event == "killed":
            disk.meanwhile[at] = self._kill
        elif event == "waits":
            disk.meanwhile[at] = lambda: self.others(pipeline, draw, depth=depth + 1)
        try:
            load.complete(self.ledger(disk))
        except StoppedError:
            return
        if self.open.get(pipeline) is load:
            del self.open[pipeline]

    @staticmethod
    def _kill() -> None:
        raise StoppedError

    def others(self, pipeline: str, draw: Callable[[Any], Any], *, depth: int) -> None:
        for _ in range(draw(st.integers(1, 4))):
            if draw(st.booleans()):
                self.by_dlt(draw)
            else:
                self.load("b" if pipeline == "a" else "a", draw, depth=depth)

    def by_dlt(self, draw: Callable[[Any], Any]) -> None:
        """A load of dlt, of another pipeline or of an idle one of penstock."""
        pipeline = draw(st.sampled_from([name for name in PIPELINES if name not in self.open]))
        load = Load(pipeline, draw(st.sampled_from(SCHEMAS)), self.next_id(is_old=False), 0, 0, True)
        base = f"{FileStorage(self.root)._base}"
        digest = base64.b64decode(HASHES[0]).hex()
        row = {"load_id": load.load_id, "schema_name": load.schema, "status": 0}
        row |= {"inserted_at": "2026-11-15T02:32:47+00:00", "schema_version_hash": HASHES[0]}
        state = {
            **asdict(load.state),
            "created_at": "2026-11-15T02:32:47+00:00",
        }
        self.disk.files[f"{base}/{STATE_TABLE}/{pipeline}__{load.load_id}__{digest}.jsonl"] = json.dumps(
            state
        ).encode()
        self.disk.files[f"{base}/{LOADS_TABLE}/{load.schema}__{load.load_id}.jsonl"] = json.dumps(
            row
        ).encode()

    def lose_index(self) -> None:
        """Loads of a release that had none, or a folder that was deleted."""
        for name in [name for name in self.disk.files if f"/{INDEX_FOLDER}/" in name]:
            del self.disk.files[name]

    def check(self) -> None:
        ours, listed = self.ledger(), self.ledger()
        complete = list(listed.complete_loads())
        for pipeline in PIPELINES:
            assert ours.last_commit(pipeline) == listed._scan_last_commit(pipeline)
            assert ours.last_state(pipeline) == listed._read_state(listed._scan_last_state(pipeline))
            # A reader that remembers files finds all that others have written since.
            assert self.reader.last_commit(pipeline) == ours.last_commit(pipeline)
            assert self.reader.last_state(pipeline) == ours.last_state(pipeline)
        for schema in SCHEMAS:
            names = listed._row_names(VERSION_TABLE, schema)
            newest = max(names, key=lambda name: float(name.split("__")[-2]), default=None)
            assert ours.last_schema(schema) == (listed._read_schema(newest) if newest else None)
            assert self.reader.last_schema(schema) == ours.last_schema(schema)
        snapshot = ours.snapshot()
        assert list(snapshot.last_loads().items()) == list(
            {load.schema_name: load.load_id for load in complete}.items()
        )
        self.moments.append((snapshot, complete))
        everything = {load.load_id for load in complete} | {load.load_id for load in self.open.values()}
        for moment, known in self.moments:
            assert list(moment.loads()) == known
            ids = {load.load_id for load in known}
            assert {load_id for load_id in everything if load_id in moment} == ids
            assert all((moment.find(load_id) is not None) == (load_id in ids) for load_id in everything)


@pytest.fixture
def short_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few entries and states are kept, so that short histories have deleted ones."""
    monkeypatch.setattr(load_index, "_KEPT_ENTRIES", 2)
    monkeypatch.setattr(file_ledger, "_MAX_STATES", 3)


def play(data: st.DataObject, *, supports_start_after: bool, steps: int) -> None:
    world = World(supports_start_after=supports_start_after)
    world.ledger().initialize()
    for _ in range(data.draw(st.integers(1, steps))):
        match data.draw(st.sampled_from(["a", "b", "a", "b", "dlt", "lose"])):
            case "dlt":
                world.by_dlt(data.draw)
            case "lose":
                world.lose_index()
                world.moments.clear()  # an earlier reader keeps its index
            case pipeline:
                world.load(pipeline, data.draw)
        world.check()


@pytest.mark.usefixtures("short_chain")
@settings(max_examples=25, deadline=None)
@given(st.data(), st.booleans())
def test_the_index_equals_a_listing(data: st.DataObject, supports_start_after: bool) -> None:
    play(data, supports_start_after=supports_start_after, steps=8)


@pytest.mark.at_length
@pytest.mark.usefixtures("short_chain")
@settings(max_examples=200, deadline=None)
@given(st.data(), st.booleans())
def test_the_index_equals_a_listing_in_long_histories(
    data: st.DataObject, supports_start_after: bool
) -> None:
    play(data, supports_start_after=supports_start_after, steps=25)


def test_an_entry_at_a_deleted_number_is_outside_the_chain(tmp_path: Path) -> None:
    """A process sleeps with the number of the next entry in its hand, until that is free again."""
    store = FileStorage(str(tmp_path))
    index = LoadIndex(store)
    for number in range(1, 40):
        assert index.append(number, LoadSummary())

    assert not index.append(2, LoadSummary(is_partial=True))
    assert index.newest() == (39, LoadSummary())


def test_an_unreadable_entry_is_rebuilt(tmp_path: Path) -> None:
    store, files = FileStorage(str(tmp_path)), FileLedger(FileStorage(str(tmp_path)))
    files.initialize()
    Load("a", "s", "1794700010.5", 1, 0, has_state=True).complete(files)
    store.put(f"{INDEX_FOLDER}/0000000001.json", b"[]")
    Load("a", "s", "1794700020.5", 2, 0, has_state=True).complete(files)

    found = FileLedger(store).last_commit("a")
    assert found is not None
    assert found.sequence == 2
    assert LoadIndex(store).newest()[0] == 2


def test_as_many_states_are_kept_as_in_dlt_and_always_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_ledger, "_MAX_STATES", 3)
    files = FileLedger(FileStorage(str(tmp_path)))
    files.initialize()
    for number in range(1, 9):
        Load("a", "s", f"17947000{number}0.5", number, 0, has_state=True).complete(files)
    late = Load("a", "s", "1794600000.5", 9, 0, has_state=True)
    late.complete(files)
    Load("a", "s", "1794700090.5", 10, 0, has_state=True).complete(files)

    assert files.last_state("a") == Load("a", "s", "1794700090.5", 10, 0, has_state=True).state
    names = sorted(path.name.split("__")[1] for path in (tmp_path / STATE_TABLE).iterdir())
    assert names == ["1794600000.5", "1794700070.5", "1794700080.5", "1794700090.5"]


def bookkeeping(store: FileStorage, sequence: int) -> None:
    """What a run asks of slots and ledger, once for each time it does, and what opening a dataset asks."""
    packages, files = Packages(store.subfolder("_dlt_pkg")), FileLedger(store)
    packages.apply_retention(Retention())
    assert packages.slots.last() == sequence - 1
    files.last_commit("a")
    files.last_state("a")
    files.last_schema("s")
    load = Load("a", "s", f"{1794700000 + sequence}.5", sequence, 0, has_state=True)
    packages.slots.seal(manifest_of(load.load_id, sequence))
    load.complete(files)
    snapshot = FileLedger(store).snapshot()
    assert snapshot.last_loads() == {"s": load.load_id}
    assert load.load_id in snapshot
    assert f"{1794700000 + sequence - 1}.5" in snapshot


def test_the_requests_of_a_run_do_not_depend_on_the_number_of_loads() -> None:
    """Requests and names, counted on a store that lists as S3 does."""
    counted = []
    for loads in (30, 3000):
        disk = Disk()
        store = FileStorage(f"memory://{uuid.uuid4().hex}", files=disk)
        FileLedger(store).initialize()
        for sequence in range(1, loads - 20):
            load = Load("a", "s", f"{1794700000 + sequence}.5", sequence, 0, has_state=False)
            name = f"{LOADS_TABLE}/s__{load.load_id}.jsonl"
            store.put(name, json.dumps(asdict(load.record)).encode())
        store.put("_dlt_pkg/slots/last.json", b'{"format_version": 1, "sequence": 1}')
        for sequence in range(1, loads):
            store.put(f"_dlt_pkg/slots/{sequence:010}.json", b"{}")
        for sequence in range(loads - 20, loads):
            Load("a", "s", f"{1794700000 + sequence}.5", sequence, 0, has_state=True).complete(
                FileLedger(store)
            )
        store.put("_dlt_pkg/slots/last.json", encode_control({"sequence": loads - 1}))
        disk.calls.clear()
        bookkeeping(store, loads)
        counted.append(disk.calls)

    assert counted[0] == counted[1]
    assert counted[0]["listed"] < 200
