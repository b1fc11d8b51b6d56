"""Runs that stall at a durable write and continue after another run has taken over their pipeline.

Every change that the driver makes on shared storage is recorded, on a disk and in a bucket alike, and so is
every commit of a table. A run stalls just before or just after one of them. Its heartbeat stalls with it, so
the run notices the takeover only when its own writes fail.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.flow.crashes.recorded_load import chosen
from tests.flow.crashes.steps import Step, Steps

from penstock.errors import LeaseLost, PenstockError, PipelineLocked
from penstock.package.local_files import LocalFiles
from penstock.package.object_files import ObjectFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pytest
    from tests.flow.crashes.any_shop import Shop

CHANGES: Final = ("put", "put_if_absent", "move", "copy", "delete", "open_new")
_PATIENCE: Final = 900
"""Seconds before a run counts as hanging, also on a busy machine."""


class _Writer(NamedTuple):
    shop: Shop
    steps: Steps


_writer: ContextVar[_Writer | None] = ContextVar("writer", default=None)


@contextmanager
def recorded_writes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Record each change on storage for the run whose threads make it, except heartbeats."""
    with monkeypatch.context() as patch:
        for files in (LocalFiles, ObjectFiles):
            for name in CHANGES:
                patch.setattr(files, name, _recording(name, getattr(files, name)))
        # One job at a time, for a stable order of writes; no heartbeat during a test.
        patch.setenv("LOAD__WORKERS", "1")
        patch.setenv("RUN__LEASE_BEAT", "3600")
        patch.setenv("RUN__LEASE_ALIVE", "36000")
        yield


@contextmanager
def writes_of(shop: Shop, steps: Steps) -> Iterator[None]:
    """Count the changes in a block as steps of a run."""
    token = _writer.set(_Writer(shop, steps))
    try:
        yield
    finally:
        _writer.reset(token)


def _recording(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def recording(files: Any, path: str, *arguments: Any, **options: Any) -> Any:
        writer = _writer.get()
        if writer is None or path.endswith(".beat"):
            return call(files, path, *arguments, **options)
        place = writer.shop.relative(arguments[0] if name == "move" else path)
        writer.steps.reach(f"before {name} {place}")
        done = call(files, path, *arguments, **options)
        writer.steps.reach(f"after {name} {place}")
        return done

    return recording


class StalledRun:
    """A run in a separate thread that stalls at a step, by its number or its text, until it is resumed."""

    def __init__(
        self, shop: Shop, work: Callable[[Shop, Steps], None], stall_at: int | str | None = None
    ) -> None:
        self._shop, self._work, self._stall_at = shop, work, stall_at
        self.steps = Steps(shop.disk, self._reached)
        self.stalled_at: Step | None = None
        self.error: BaseException | None = None
        self._halted, self._continued = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=copy_context().run, args=(self._main,), daemon=True)

    def start(self) -> StalledRun:
        """Run until it stalls or ends."""
        self._thread.start()
        assert self._halted.wait(_PATIENCE), "the run neither stalls nor ends"
        return self

    def resume(self) -> StalledRun:
        """Continue the run to its end."""
        self._continued.set()
        self._thread.join(_PATIENCE)
        assert not self._thread.is_alive(), f"the run does not end after {self.stalled_at}"
        return self

    def _reached(self, step: Step) -> None:
        at = self._stall_at
        is_there = step.number >= at if isinstance(at, int) else step.what == at
        if is_there and self.stalled_at is None:
            self.stalled_at = step
            self._halted.set()
            self._continued.wait()

    def _main(self) -> None:
        try:
            with writes_of(self._shop, self.steps):
                self._work(self._shop, self.steps)
        except BaseException as error:  # the test checks it
            self.error = error
        self._halted.set()


def causes(error: BaseException | None) -> list[BaseException]:
    """Return an error and all its causes."""
    result: list[BaseException] = []
    while error is not None and error not in result:
        result.append(error)
        error = getattr(error, "exception", None) or error.__cause__ or error.__context__
    return result


def has_lost_its_lease(run: StalledRun) -> bool:
    """Return whether a run failed because another run has taken over."""
    return any(isinstance(error, LeaseLost | PipelineLocked) for error in causes(run.error))


def load(upto: int) -> Callable[[Shop, Steps], None]:
    """Return the work of a run: load all batches up to one."""
    return lambda shop, steps: shop.run(upto, steps)


def recorded_steps(base: Shop, tmp_path: Path) -> tuple[list[Step], object]:
    """Return the steps of an undisturbed second load, and the content that readers see after it."""
    complete = base.copy(f"{base.location}-whole", tmp_path / "whole-disk")
    run = StalledRun(complete, load(2)).start().resume()
    assert run.error is None, run.error
    return run.steps.seen, complete.content()


def taken_over(
    shop: Shop, stall_at: int, disk: Path, *, other_stalls_at: str | None = None
) -> tuple[Step, list[str]]:
    """Stall a run, let another machine take over, resume the first one; return the step and all problems.

    With `other_stalls_at` the run that took over stalls too, until the first one has ended.
    """
    first = StalledRun(shop, load(2), stall_at).start()
    assert first.stalled_at is not None, f"the run ends before step {stall_at}: {first.error!r}"
    was_complete = len(shop.pipeline().dataset().load_ids()) == 2
    shop.expire_lease()
    other = StalledRun(shop.on(disk), load(2), other_stalls_at).start()
    first.resume()
    other.resume()
    wrong = [] if other.error is None else [f"the run that took over fails: {causes(other.error)}"]
    # A load that was complete before the stall may be reported as complete.
    if not has_lost_its_lease(first) and not (was_complete and first.error is None):
        wrong.append(f"the stalled run ends with {causes(first.error)}")
    return first.stalled_at, wrong


def problems(shop: Shop, disk: Path, expected: object) -> list[str]:
    """Run again, on another machine; return every difference from a load without the stall."""
    next_shop = shop.on(disk)
    try:
        next_shop.run(2)
    except PenstockError as error:
        return [f"the next run fails: {error}"]
    waiting = [package.load_id for package in next_shop.packages.unsealed_packages()]
    content = next_shop.content()
    return [
        *([f"packages {waiting} are pending"] if waiting else []),
        *([f"readers see {content}"] if content != expected else []),
    ]


def stall_each(base: Shop, tmp_path: Path, folder: str, *, few: int) -> tuple[int, int, dict[str, list[str]]]:
    """Stall a run at each chosen step, each in a separate shop.

    Return the number of tested steps, the number of all steps, and the problems by step.
    """
    steps, expected = recorded_steps(base, tmp_path)
    tried = chosen(steps, few=few)
    wrong: dict[str, list[str]] = {}
    for step in tried:
        shop = base.copy(f"{folder}/{step.number}", tmp_path / f"disk-{step.number}")
        reached, result = taken_over(shop, step.number, tmp_path / f"other-{step.number}")
        result += problems(shop, tmp_path / f"next-{step.number}", expected)
        if result:
            wrong[f"{step.number} {reached.what}"] = result
        shop.remove()
    return len(tried), len(steps), wrong
