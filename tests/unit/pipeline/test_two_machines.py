"""Two machines run one pipeline, and any call may be stalled at any write: each row is loaded once.

`make packages` plays many schedules. `PENSTOCK_TEST_SEED` repeats those of one run.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from tests.conftest import AT_LENGTH, SEED
from tests.unit.pipeline.machines import MACHINES, OPERATIONS, Stall, machines

from penstock.errors import LeaseLost, PipelineStepFailed
from penstock.package import Packages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.unit.pipeline.machines import Operation, When, World

MEMORY = Path("/dev/shm")
SCHEDULES = int(os.environ.get("PENSTOCK_TEST_SEQUENCES", "15")) // 5
STEPS = 7
KINDS = (
    "lease/",
    "load_package_state.json",
    "extracted.json",
    "new_jobs/",
    "normalized.json",
    "slots/0",
    "sealed.json",
    "started_jobs/",
    "commit ",
    "outcomes/",
    "_dlt_pipeline_state/",
    "_dlt_loads/",
    "package_completed.json",
    ".finished/",
    "delete ",
)
"""The writes that decide something."""
WHENS: tuple[When, ...] = ("before", "after", "late")
STALLS = [Stall(kind, 1, when) for kind in KINDS for when in WHENS]


@pytest.fixture(scope="module")
def worlds() -> Iterator[Callable[[], World]]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name, machines(Path(name)) as make:
        yield make


@pytest.fixture
def world(worlds: Callable[[], World]) -> World:
    """A pipeline that has loaded two rows of `items`; two more are to be read."""
    world = worlds()
    world.available = 2
    world.begin("one", "run")
    world.available = 4
    return world


def test_rows_are_loaded_once_by_one_machine_after_the_other(world: World) -> None:
    world.begin("one", "collect")
    world.begin("two", "collect")
    world.begin("two", "run")

    world.settle()

    assert world.warehouse.rows("events") == [0, 1, 2, 3]


@pytest.mark.parametrize("when", ["before", "late"])
@pytest.mark.parametrize("other", ["run", "extract"])
def test_a_package_that_is_marked_as_extracted_after_a_takeover_is_not_loaded(
    world: World, when: When, other: Operation
) -> None:
    """The other machine has extracted the same rows from the same state."""
    world.begin("one", "extract", Stall("extracted.json", 1, when))
    world.clock.pass_time()
    world.begin("two", other)
    world.land()

    world.settle()

    assert world.warehouse.rows("items") == [0, 1, 2, 3]
    assert world.outcomes["PipelineStepFailed"] == 1, "the late call must not report success"


def test_a_package_that_was_loaded_elsewhere_is_not_transferred_again(world: World) -> None:
    """The machine dies before it deletes its copy; at the destination nothing is left of the package."""
    world.begin("one", "collect")
    (package,) = Packages.at(f"{world.root}/one/shop").with_status("extracted")
    assert not world.begin("one", "run", Stall("delete ", 1, "before"))
    world.kill("one")
    world.clock.pass_time()
    for _ in range(2):
        world.available += 1
        world.begin("two", "run")
    assert not world.packages().package(package.load_id).exists()

    assert world.begin("one", "run", Stall(f"lake/shop/packages/{package.load_id}/")), "it is not carried"

    world.settle()
    assert world.warehouse.rows("events") == [0, 1]


def test_a_copy_of_a_package_that_is_loaded_is_not_loaded_again(world: World) -> None:
    """Such as one that a release without epochs in markers carries again."""
    world.begin("two", "extract")
    (package,) = world.packages().with_status("extracted")
    copy = {name: package.store.read(name) for name in package.store.tree("")}
    world.begin("two", "run")
    world.available = 6
    world.begin("two", "run")
    world.begin("two", "run")
    assert not package.exists(), "retention has removed it"
    for name, content in copy.items():
        package.store.put(name, content or b"")
    package.mark_extracted({key: value for key, value in package.read_extracted().items() if key != "epoch"})

    world.settle()

    assert world.warehouse.rows("items") == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["load_package_state.json", "extracted.json"])
def test_a_transfer_that_continues_after_a_takeover_loses_no_rows(world: World, kind: str) -> None:
    """The other machine deletes the copy, which has no marker yet."""
    world.begin("one", "collect")
    assert not world.begin("one", "run", Stall(kind, 1, "before"))
    world.clock.pass_time()
    world.begin("two", "run")

    world.settle()

    assert world.warehouse.rows("events") == [0, 1]


def test_a_load_that_is_complete_is_finished_and_not_applied_again(world: World) -> None:
    assert not world.begin("one", "run", Stall("_dlt_loads/", 1, "after"))
    world.kill("one")
    world.clock.pass_time()

    assert not world.begin("two", "run", Stall("package_completed.json", 1, "before"))

    writes = world.calls["two"].writes
    assert not any("_dlt_pipeline_state/" in write or "outcomes/" in write for write in writes)
    world.settle()


@pytest.mark.parametrize(
    ("stall", "prevented"),
    [
        (Stall("load_package_state.json", 1, "after"), "extracted.json"),
        (Stall("normalized.json", 1, "after"), "slots/0"),
        (Stall("sealed.json", 1, "after"), "commit "),
        (Stall("completed_jobs/", 1, "after"), "outcomes/"),
    ],
    ids=["mark as extracted", "seal", "begin a job", "decide"],
)
def test_a_run_whose_lease_has_run_out_makes_no_further_decision(
    world: World, stall: Stall, prevented: str
) -> None:
    """Nothing else would stop it here: no other machine works."""
    assert not world.begin("one", "run", stall)
    call = world.calls["one"]
    world.clock.pass_time()

    assert world.proceed("one")

    assert isinstance(call.error, PipelineStepFailed | LeaseLost)
    assert isinstance(getattr(call.error, "exception", call.error), LeaseLost)
    assert not any(prevented in write for write in call.writes)
    world.settle()


@pytest.mark.parametrize("stall", STALLS if AT_LENGTH else random.Random(SEED).sample(STALLS, 5), ids=str)
@pytest.mark.parametrize("operation", OPERATIONS if AT_LENGTH else ["run"])
def test_a_call_that_stalls_at_a_write_while_another_machine_runs(
    world: World, operation: Operation, stall: Stall
) -> None:
    world.begin("one", "collect")
    world.begin("one", operation, stall)
    world.clock.pass_time()
    world.available = 5
    world.begin("two", "run")
    world.land()

    world.settle()


def test_a_mark_that_is_written_late_does_not_hide_a_package_that_the_next_call_has_moved(
    world: World,
) -> None:
    world.begin("two", "collect")
    world.available = 5
    world.begin("one", "extract")
    world.begin("two", "normalize", Stall("/extracted.json", 1, "late"))
    if "two" in world.calls:
        world.proceed("two")
    assert isinstance(world.last_error, PipelineStepFailed)
    world.begin("two", "load")
    world.begin("one", "collect")
    world.land()

    world.settle()


@pytest.mark.parametrize("number", range(SCHEDULES))
def test_any_schedule_of_two_machines(
    worlds: Callable[[], World], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUN__PENDING", ("exit", "continue")[number % 2])
    chance, world = random.Random(f"{SEED}/{number}"), worlds()
    try:
        for _ in range(STEPS):
            take_a_step(world, chance)
        world.settle()
    except Exception as error:
        error.add_note("\n".join(world.history))
        raise


def take_a_step(world: World, chance: random.Random) -> None:
    """Begin a call on a machine, or let one continue or die; time passes, rows arrive, writes land."""
    machine = chance.choice(MACHINES)
    any_write = Stall("", chance.randint(1, 20), chance.choice(WHENS))
    stall = chance.choice([None, chance.choice(STALLS), any_write])
    world.available += chance.choice((0, 1, 2))
    if chance.random() < 0.8:
        world.clock.pass_time()
    if chance.random() < 0.3:
        world.land()
    if machine not in world.calls:
        world.begin(machine, chance.choice((*OPERATIONS, "run", "run", "collect")), stall)
    elif chance.random() < 0.3:
        world.kill(machine)
    else:
        world.proceed(machine, stall)
