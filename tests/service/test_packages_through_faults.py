"""Load packages, lease and ledger in an S3 that fails: through proxies before the gateway of `make up`.

`PENSTOCK_TEST_FAULT_SEED` chooses the requests that fail; `PENSTOCK_TEST_FAULT_PACKAGES`,
`PENSTOCK_TEST_FAULT_SEQUENCES` and `PENSTOCK_TEST_FAULT_ROUNDS` set the size.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from traceback import format_exception
from typing import TYPE_CHECKING, Any, get_args

import pytest
from tests.service.fault_proxy import Fault, Proxy, Request, aimed, faulty, seeded
from tests.service.package_loads import Dataset, check_loads
from tests.service.test_packages_s3 import options
from tests.service.toxics import Toxic, reset, toxic
from tests.unit.package.crash_points import Crash, CrashPoints
from tests.unit.package.package_machine import PackageMachine
from tests.unit.package.test_contention import check_lease, check_slots, contend
from tests.unit.package.test_model import run, summary

from penstock.errors import LeaseLost, RetryableError, StorageNotReachable
from penstock.load.worker import is_terminal
from penstock.package import FileStorage
from penstock.package.lease import LeaseTimes, acquire_lease

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SEED = int(os.environ.get("PENSTOCK_TEST_FAULT_SEED", "1"))
PACKAGES = int(os.environ.get("PENSTOCK_TEST_FAULT_PACKAGES", "3"))
SEQUENCES = int(os.environ.get("PENSTOCK_TEST_FAULT_SEQUENCES", "2"))
ROUNDS = int(os.environ.get("PENSTOCK_TEST_FAULT_ROUNDS", "2"))

FAULTS: tuple[Fault, ...] = get_args(Fault)


def in_ci(kinds: Iterable[str], *few: str) -> list[Any]:
    """All of these; CI tests a few."""
    return [pytest.param(kind, marks=() if kind in few else pytest.mark.at_length) for kind in kinds]


IMPATIENT: dict[str, Any] = {
    "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 2, "read_timeout": 1.5}
}
"""Options of a client with few retries, so that errors are raised soon."""
MANY: dict[Fault, float] = {
    "500": 0.03,
    "503": 0.02,
    "412": 0.05,
    "412 done": 0.1,
    "cut": 0.03,
    "lost": 0.05,
    "torn": 0.03,
    "500 done": 0.03,
    "undeleted": 0.1,
}
FEW: dict[Fault, float] = {
    **{fault: share / 2 for fault, share in MANY.items()},
    **dict.fromkeys(("500", "503", "500 done"), 0.001),
}
"""Shares of faults for whole package loads: one has a hundred requests, and this client retries none."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with faulty(os.environ["PENSTOCK_TEST_S3_ENDPOINT"]) as running:
        yield running


@pytest.fixture
def root() -> Iterator[str]:
    address = f"s3://{os.environ['PENSTOCK_TEST_S3_BUCKET']}/faults-{uuid.uuid4().hex[:12]}"
    yield address
    FileStorage(address, **options()).delete("")


def prepared(address: str) -> FileStorage:
    """Return a storage without faults that has files."""
    clean = FileStorage(address, **options())
    clean.file_system.pipe({clean.path(name): content for name, content in BEFORE.items()})
    return clean


def contents(clean: FileStorage) -> dict[str, bytes]:
    """Return every object below a root."""
    base = clean.root.removeprefix("s3://")
    result: dict[str, bytes] = clean.file_system.cat(clean.file_system.find(base))
    return {path.removeprefix(f"{base}/"): content for path, content in result.items()}


# --- one fault, at every request of every call


def put_new(storage: FileStorage) -> bool:
    return storage.put_if_absent("slots/2", b"mine")


def put_taken(storage: FileStorage) -> bool:
    return storage.put_if_absent("slots/1", b"mine")


def move(storage: FileStorage) -> bool:
    # Done before, or partly done: the caller checks the storage.
    return storage.move("jobs/a", "jobs/b") or storage.exists("jobs/b")


def write(storage: FileStorage) -> None:
    with storage.open_new("data/part") as stream:
        stream.write(b"rows")


def read(storage: FileStorage) -> bytes:
    with storage.open("jobs/a") as stream:
        return stream.read()


BEFORE = {"slots/1": b"theirs", "jobs/a": b"{}", "folder/1": b"1", "folder/2/3": b"3"}
CALLS: dict[str, tuple[Callable[[FileStorage], Any], Any, dict[str, bytes | None]]] = {
    "put_if_absent, free": (put_new, True, {"slots/2": b"mine"}),
    "put_if_absent, taken": (put_taken, False, {}),
    "put": (lambda storage: storage.put("jobs/a", b"new"), None, {"jobs/a": b"new"}),
    "move": (move, True, {"jobs/a": None, "jobs/b": b"{}"}),
    "delete": (lambda storage: storage.delete("folder"), None, {"folder/1": None, "folder/2/3": None}),
    "delete one": (lambda storage: storage.delete("jobs/a"), None, {"jobs/a": None}),
    "read": (lambda storage: storage.read("slots/1"), b"theirs", {}),
    "read nothing": (lambda storage: storage.read("slots/3"), None, {}),
    "exists": (lambda storage: storage.exists("folder"), True, {}),
    "exists not": (lambda storage: storage.exists("slots/3"), False, {}),
    "names": (lambda storage: storage.names("folder"), ["1", "2"], {}),
    "open": (read, b"{}", {}),
    "open_new": (write, None, {"data/part": b"rows"}),
}


class Nth:
    """A plan with a fault for one of the requests that it can happen to."""

    def __init__(self, fault: Fault, number: int) -> None:
        self._fault, self._left, self.was_made = fault, number, False

    def __call__(self, request: Request) -> Fault | None:
        if not request.allows(self._fault):
            return None
        self._left -= 1
        if self._left != -1:
            return None
        self.was_made = True
        return self._fault


@pytest.mark.parametrize("fault", in_ci(FAULTS, "500", "412 done", "lost"))
def test_one_fault_at_any_request_of_a_call_changes_neither_its_result_nor_the_storage(
    fault: Fault, proxy: Proxy, root: str
) -> None:
    tried = got_out = 0
    for name, (act, answer, change) in CALLS.items():
        for number in range(20):
            here = f"{root}/{fault.replace(' ', '-')}/{name.replace(', ', '-').replace(' ', '-')}-{number}"
            clean, storage = prepared(here), FileStorage(here, **options(proxy.url, **IMPATIENT))
            plan = proxy.plan = Nth(fault, number)
            try:
                given = act(storage)
            except StorageNotReachable:
                got_out += 1
                proxy.plan = None
                given = act(storage)
            proxy.plan = None

            where = f"{name}, {fault} at request {number}"
            assert given == answer, where
            after = {path: content for path, content in (BEFORE | change).items() if content is not None}
            assert contents(clean) == after, where
            if not plan.was_made:
                break
            tried += 1

    assert tried >= 1
    assert got_out < tried or fault in {"500", "503", "500 done"}, "a lost connection is tried again"


# --- errors of faults that persist


@pytest.mark.parametrize("fault", in_ci(("500", "503", "412", "cut", "lost", "undeleted"), "500", "lost"))
def test_a_store_that_keeps_failing_raises_a_retryable_error(fault: Fault, proxy: Proxy, root: str) -> None:
    prepared(root)
    storage = FileStorage(root, **options(proxy.url, **IMPATIENT))
    proxy.plan = aimed(fault, times=10_000)
    affected = {
        "412": ["put_if_absent, free"],
        "503": ["put_if_absent, free", "read", "names", "open_new"],  # the client tries five times
        "undeleted": ["delete"],
    }

    for name in affected.get(fault, CALLS):
        with pytest.raises(StorageNotReachable) as caught:
            CALLS[name][0](storage)

        error = caught.value
        assert isinstance(error, RetryableError)
        assert not is_terminal(error)
        assert error.message.count("\n") == 0
        assert len(error.message) < 400
        assert os.environ["PENSTOCK_TEST_S3_BUCKET"] in vars(error)["path"]
        assert "run again" in error.hint
        assert "Errno" not in error.message
        assert os.environ["PENSTOCK_TEST_S3_SECRET"] not in "".join(format_exception(error))


# --- whole package loads


@pytest.mark.parametrize("rivals", [pytest.param(1, marks=pytest.mark.at_length), 2])
def test_package_loads_through_faults_lose_and_duplicate_nothing(
    rivals: int, proxy: Proxy, root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy.plan = seeded(SEED, FEW)
    datasets = [Dataset(root, options(proxy.url, **IMPATIENT)) for _ in range(rivals)]
    load_ids = [f"17.{number:04d}" for number in range(PACKAGES)]

    with ThreadPoolExecutor(rivals) as threads:
        shares = [load_ids[number::rivals] for number in range(rivals)]
        for done in threads.map(live, datasets, shares):
            assert done

    proxy.plan = None
    assert proxy.faults > PACKAGES
    check_loads(Dataset(root, options()), load_ids)
    with capsys.disabled():
        errors = [dict(dataset.errors) for dataset in datasets]
        print(f"\n{PACKAGES} packages, {rivals} processes: {proxy.report()}; runs restarted: {errors}")  # noqa: T201


def live(dataset: Dataset, load_ids: list[str]) -> bool:
    for load_id in load_ids:
        dataset.load(load_id)
    return True


TOXICS = {
    "slow": [Toxic("latency", {"latency": 20, "jitter": 20})],
    "narrow": [Toxic("bandwidth", {"rate": 100}), Toxic("bandwidth", {"rate": 100}, stream="upstream")],
    "replies reset": [Toxic("reset_peer", toxicity=0.1)],
    "requests reset": [Toxic("reset_peer", toxicity=0.1, stream="upstream")],
    "cut in the middle": [Toxic("limit_data", {"bytes": 4_000}), Toxic("slicer", {"average_size": 200})],
    "silent": [Toxic("timeout", {"timeout": 0}, toxicity=0.08)],
}


@pytest.mark.parametrize("kind", in_ci(TOXICS, "replies reset"))
def test_package_loads_through_a_bad_network_lose_and_duplicate_nothing(
    kind: str, root: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("penstock.package.object_files.PUT_TIMEOUT", 2.0)
    # One connection for each request, so that a share of the connections is a share of the requests.
    settings = {**IMPATIENT["config_kwargs"], "connector_args": {"keepalive_timeout": 0}}
    packages = max(1, PACKAGES // 3)
    load_ids = [f"17.{number:04d}" for number in range(packages)]

    with toxic(*TOXICS[kind]) as endpoint:
        dataset = Dataset(root, options(endpoint, config_kwargs=settings))
        began = time.monotonic()
        live(dataset, load_ids)

    check_loads(Dataset(root, options()), load_ids)
    with capsys.disabled():
        seconds = time.monotonic() - began
        print(f"\n{kind}: {packages} packages, {seconds:.1f} s; runs restarted: {dict(dataset.errors)}")  # noqa: T201


# --- the model of packages, and processes that compete


class FaultyPoints(CrashPoints):
    """A storage with faults during the calls of the model, and none during its checks."""

    def __init__(self, proxy: Proxy) -> None:
        super().__init__()
        self._proxy, self._plan = proxy, seeded(SEED, MANY)

    def arm(self, at: int | None) -> None:
        self._proxy.plan = self._plan

    def disarm(self) -> None:
        self._proxy.plan = None


class Through:
    """The gateway behind a proxy."""

    def __init__(self, root: str, proxy: Proxy) -> None:
        self._root, self.points = root, FaultyPoints(proxy)
        self._options = options(proxy.url, **IMPATIENT)

    def new_root(self) -> str:
        return f"{self._root}/{uuid.uuid4().hex[:12]}"

    def storage(self, root: str, points: CrashPoints) -> FileStorage:
        return FileStorage(root, **self._options)

    def clean(self, root: str) -> None:
        FileStorage(root, **self._options).delete("")


class FaultyMachine(PackageMachine):
    """Treat an error of the storage as the end of the process: the next one may repeat the call."""

    place: Through

    def __init__(self) -> None:
        super().__init__()
        self.points = self.place.points

    def _call(self, act: Callable[[], Any], refused: Any, answer: Any) -> None:
        try:
            super()._call(act, refused, answer)
        except StorageNotReachable as error:
            self.tally["errors"] += 1
            raise Crash from error


def test_packages_match_the_model_whichever_requests_fail(
    proxy: Proxy, root: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = run(Through(root, proxy), sequences=SEQUENCES, steps=12, machine=FaultyMachine)

    assert tally["errors"] >= 1
    with capsys.disabled():
        print(f"\n{summary('through faults', tally)}; {proxy.report()}")  # noqa: T201


def test_of_several_processes_behind_faults_one_holds_the_lease_one_seals_a_number_and_one_decides_it(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_TEST_S3_ENDPOINT", proxy.url)
    proxy.plan = seeded(SEED, {"412 done": 0.2, "cut": 0.03, "lost": 0.1, "torn": 0.05})

    report = contend("s3", 3, ROUNDS)

    check_lease(report, ROUNDS)
    check_slots(report, ROUNDS)
    with capsys.disabled():
        print(f"\n3 processes, {ROUNDS} rounds: {proxy.report()}")  # noqa: T201


def test_of_several_processes_in_a_bad_network_one_holds_the_lease_one_seals_a_number_and_one_decides_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with toxic(
        Toxic("limit_data", {"bytes": 8_000}), Toxic("latency", {"latency": 3, "jitter": 3})
    ) as endpoint:
        monkeypatch.setenv("PENSTOCK_TEST_S3_ENDPOINT", endpoint)
        report = contend("s3", 3, ROUNDS)

    check_lease(report, ROUNDS)
    check_slots(report, ROUNDS)


# --- the lease


def beats(root: str) -> int:
    """Return the number of heartbeats of the lease holder."""
    last = FileStorage(root, **options()).read_json("lease/0000000001.beat")
    assert last
    return int(last["count"])


def test_a_lease_survives_lost_replies_and_expires_when_the_store_is_unreachable_for_too_long(
    proxy: Proxy, root: str
) -> None:
    storage, lost = FileStorage(root, **options(proxy.url, **IMPATIENT)), threading.Event()
    # Several replies in a row are lost, which takes two seconds where the machine is slow.
    times = LeaseTimes(beat=0.1, alive=5.0)
    lease = acquire_lease(storage, pipeline="shop", times=times, on_lost=lost.set)
    proxy.plan = seeded(SEED, {"lost": 0.3, "500": 0.1, "500 done": 0.1})
    began = time.monotonic()
    while proxy.faults < 20 or beats(root) < 5 or time.monotonic() - began < times.alive + 1:
        lease.check()
        assert time.monotonic() - began < 300
        time.sleep(0.1)

    proxy.plan = aimed("cut", times=100_000)
    assert lost.wait(60)

    with pytest.raises(LeaseLost):
        lease.check()
    proxy.plan = None
    lease.release()


def test_a_lease_expires_in_time_when_the_store_does_not_answer(root: str) -> None:
    """No reply comes, and a client with default settings waits for a minute."""
    lost = threading.Event()
    with toxic() as endpoint:
        storage = FileStorage(root, **options(endpoint))
        lease = acquire_lease(
            storage, pipeline="shop", times=LeaseTimes(beat=0.2, alive=1.5), on_lost=lost.set
        )
    with toxic(Toxic("timeout", {"timeout": 0})):
        assert lost.wait(30)

        began = time.monotonic()
        lease.release()
        assert time.monotonic() - began < 30, "whoever lost the lease need not tell the store"
    reset()
