"""Ctrl-C and SIGTERM end a run like any other failure. Real processes, no Spark."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from tests.step_failures import step_raises

import penstock
from penstock.errors import ResourceFailed
from penstock.package import Packages
from penstock.pipeline.signals import interrupt_on_sigterm, masked_interrupt
from penstock.pipeline.trace import NEXT_RUN_HINT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROGRAM = """
import signal, sys, threading, time
import penstock

# Shells let what they start in the background pass interrupts over.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Alerts(penstock.RunHooks):
    def on_failure(self, *, pipeline_name, step, error):
        print("alert", step, type(error).__name__, flush=True)

def pause(seconds):
    print("ready", flush=True)
    time.sleep(seconds)

def slow():
    yield {"n": 1}
    try:
        pause(60)
        yield {"n": 2}
    finally:
        print("closed", flush=True)

def suppress():
    yield {"n": 1}
    try:
        pause(60)
    except BaseException as error:
        print("suppressed", flush=True)
    yield {"n": 2}

def replace():
    yield {"n": 1}
    try:
        pause(60)
    except BaseException as error:
        raise RuntimeError("no more pages")

def slow_cleanup():
    try:
        yield {"n": 1}
        pause(60)
    finally:
        pause(60)

handler_called = threading.Event()

def handle(*_):
    print("mine", flush=True)
    handler_called.set()

def handled():
    yield {"n": 1}
    print("ready", flush=True)
    handler_called.wait(60)
    yield {"n": 2}

if sys.argv[2] == "handled":
    signal.signal(signal.SIGTERM, handle)
pipeline = penstock.pipeline("shop", pipelines_dir=sys.argv[1], hooks=[Alerts()])
try:
    pipeline.extract(globals()[sys.argv[2]], table_name="items")
finally:
    print("over", signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, flush=True)
"""
TERMINATED = 128 + signal.SIGTERM
BY_SIGTERM = f"stopped by signal SIGTERM; {NEXT_RUN_HINT}"
BY_CTRL_C = f"stopped by signal SIGINT (Ctrl-C); {NEXT_RUN_HINT}"


def run_with_signals(tmp_path: Path, generator: str, *signals: signal.Signals) -> tuple[int, list[str]]:
    """Return the exit code and output of a process that gets each signal when it prints `ready`."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), generator]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None
        output: list[str] = []
        for number in signals:
            for line in child.stdout:
                output.append(line.strip())
                if line == "ready\n":
                    break
            child.send_signal(number)
        output += [line.strip() for line in child.stdout]
        return child.wait(timeout=60), output


def check_stopped(tmp_path: Path, error: str) -> None:
    """Check that nothing is pending, the lease is released, the trace has the error, and a new call works."""
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)
    trace = pipeline.last_trace
    assert trace is not None
    assert trace.failed_step is not None
    assert (trace.failed_step.step, trace.failed_step.error) == ("extract", error)
    assert not pipeline.has_pending_data
    store = Packages.at(str(tmp_path / "shop" / "extracted")).store
    assert [name for name in store.names("lease") if name.endswith(".released")]
    pipeline.extract([{"n": 1}], table_name="items")
    assert Packages.at(store.root).with_status("new") == []
    assert len(pipeline.list_extracted_load_packages()) == 1


@pytest.mark.parametrize(
    ("number", "code", "error", "kind"),
    [
        (signal.SIGTERM, TERMINATED, BY_SIGTERM, "SystemExit"),
        (signal.SIGINT, -signal.SIGINT, BY_CTRL_C, "KeyboardInterrupt"),
    ],
)
def test_a_signal_closes_generators_and_is_reported_and_recorded(
    tmp_path: Path, number: signal.Signals, code: int, error: str, kind: str
) -> None:
    assert run_with_signals(tmp_path, "slow", number) == (
        code,
        ["ready", "closed", f"alert extract {kind}", "over True"],
    )
    check_stopped(tmp_path, error)


@pytest.mark.parametrize(("generator", "last"), [("suppress", "suppressed"), ("replace", "ready")])
def test_user_code_that_suppresses_or_replaces_the_interrupt_does_not_stop_the_exit(
    tmp_path: Path, generator: str, last: str
) -> None:
    code, output = run_with_signals(tmp_path, generator, signal.SIGTERM)

    assert code == TERMINATED
    assert output[-3:] == [last, "alert extract SystemExit", "over True"]
    trace = penstock.pipeline("shop", pipelines_dir=tmp_path).last_trace
    assert trace is not None
    assert trace.failed_step is not None


def test_a_second_signal_ends_the_cleanup_of_the_first(tmp_path: Path) -> None:
    code, output = run_with_signals(tmp_path, "slow_cleanup", signal.SIGTERM, signal.SIGTERM)

    assert (code, output) == (TERMINATED, ["ready", "ready", "alert extract SystemExit", "over True"])
    check_stopped(tmp_path, BY_SIGTERM)


def test_a_handler_of_the_user_is_not_replaced(tmp_path: Path) -> None:
    code, output = run_with_signals(tmp_path, "handled", signal.SIGTERM)

    assert (code, output) == (0, ["ready", "mine", "over False"])


def test_other_threads_and_nested_blocks_have_no_effect() -> None:
    seen: list[Any] = []

    def look() -> None:
        with interrupt_on_sigterm():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    with interrupt_on_sigterm():
        look()
        outer = signal.getsignal(signal.SIGTERM)

    assert seen == [signal.SIG_DFL, outer]
    assert callable(outer)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_an_interrupt_in_another_thread_is_reported_and_raised_unchanged(tmp_path: Path) -> None:
    heard: list[BaseException] = []
    raised: list[BaseException] = []

    class Alerts(penstock.RunHooks):
        def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
            heard.append(error)

    def rows() -> Iterator[Any]:
        yield {"n": 1}
        raise KeyboardInterrupt

    def call() -> None:
        try:
            penstock.pipeline("shop", pipelines_dir=tmp_path, hooks=[Alerts()]).extract(rows, table_name="t")
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()

    assert [type(error) for error in heard] == [KeyboardInterrupt]
    assert raised == heard
    check_stopped(tmp_path, BY_CTRL_C)


def test_the_handler_of_spark_is_replaced_during_a_run_and_restored() -> None:
    def of_spark(number: int, frame: Any) -> None:
        raise AssertionError("it would call Spark in the middle of a call of Spark")

    of_spark.__module__ = "pyspark.core.context"
    before = signal.signal(signal.SIGINT, of_spark)
    try:
        with interrupt_on_sigterm():
            during = signal.getsignal(signal.SIGINT)
        after = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert during is signal.default_int_handler
    assert after is of_spark


def test_sigterm_is_raised_as_an_interrupt_and_leaves_as_an_exit() -> None:
    seen: list[type[BaseException]] = []

    def interrupted() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as error:  # as Py4J does, to close the connection of the call
            seen.append(type(error))
            raise

    with pytest.raises(SystemExit) as raised, interrupt_on_sigterm():
        interrupted()

    assert issubclass(seen[0], SystemExit)
    assert (type(raised.value), raised.value.code) == (SystemExit, TERMINATED)


def replace_interrupt(error: Exception) -> None:
    try:
        signal.default_int_handler(signal.SIGINT, None)
    finally:
        raise error


def test_an_interrupt_that_an_error_has_replaced_is_recognized() -> None:
    with pytest.raises(OSError, match="connection") as raised:
        replace_interrupt(OSError("connection lost"))

    assert isinstance(masked_interrupt(raised.value, handled=None), KeyboardInterrupt)
    assert masked_interrupt(ValueError("nothing else"), handled=None) is None


def test_a_replaced_interrupt_is_raised_again(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Any]:
        yield {"n": 1}
        replace_interrupt(OSError("connection lost"))

    pipeline = penstock.pipeline("stopped", pipelines_dir=tmp_path)

    with pytest.raises(KeyboardInterrupt):
        pipeline.extract(interrupted, table_name="items")


def test_an_interrupt_of_an_earlier_run_does_not_replace_an_error(tmp_path: Path) -> None:
    def broken() -> Iterator[Any]:
        yield {"n": 1}
        raise OSError("connection lost")

    pipeline = penstock.pipeline("stopped", pipelines_dir=tmp_path)

    try:
        signal.default_int_handler(signal.SIGINT, None)
    except KeyboardInterrupt:
        with step_raises(ResourceFailed, match="connection lost"):
            pipeline.extract(broken, table_name="items")
