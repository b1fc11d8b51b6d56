"""Interrupts of a run: Ctrl-C and SIGTERM raise in the main thread, also during calls of Spark."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Terminated(SystemExit, KeyboardInterrupt):
    """SIGTERM. Py4J closes the connection of a call that is interrupted by `KeyboardInterrupt`.

    After any other error the answer of the call remains unread, and the next call reads it as its own.
    """


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Raise `SystemExit(143)` in a block on SIGTERM, as Ctrl-C raises `KeyboardInterrupt`; also repeatedly.

    Resources are released as the error propagates: generators are closed, running jobs of a load are recorded
    when they end, the lease is released. User code may suppress or replace the error; it is raised again at
    the end of the block.

    Has no effect outside of the main thread, and where SIGTERM has a handler already. The handler of Spark
    for Ctrl-C is replaced during the block, see `_without_spark_sigint_handler`.
    """
    with _without_spark_sigint_handler(), _reraise_masked_interrupt():
        if not _can_handle_sigterm():
            yield
            return
        received: list[int] = []

        def raise_terminated(number: int, frame: Any) -> None:
            del frame
            received.append(number)
            raise _Terminated(_exit_code(number))

        signal.signal(signal.SIGTERM, raise_terminated)
        try:
            yield
        except (Exception, _Terminated) as error:
            if received:
                raise SystemExit(_exit_code(received[0])) from error
            raise
        finally:
            # Spark or the user may have replaced it meanwhile.
            if signal.getsignal(signal.SIGTERM) is raise_terminated:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if received:
            raise SystemExit(_exit_code(received[0]))


def signal_name(error: BaseException) -> str | None:
    """Return the name of the signal that an error results from; None for other errors.

    >>> signal_name(SystemExit(143)), signal_name(KeyboardInterrupt()), signal_name(SystemExit(1))
    ('SIGTERM', 'SIGINT (Ctrl-C)', None)
    """
    match error:
        case SystemExit(code=code) if code == _exit_code(signal.SIGTERM):
            return "SIGTERM"
        case KeyboardInterrupt():
            return "SIGINT (Ctrl-C)"
        case _:
            return None


def masked_interrupt(
    error: BaseException | None, *, handled: BaseException | None
) -> KeyboardInterrupt | None:
    """Return a copy of the interrupt that an error has replaced while it propagated; None without one.

    pyspark calls Spark while an interrupt propagates through `collect()`; if that call fails, its error
    replaces the interrupt. Contexts of the error that was `handled` when the run began are ignored, such as
    the interrupt of an earlier run.
    """
    seen = {id(handled)}
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return type(error)(*error.args)
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


@contextmanager
def _reraise_masked_interrupt() -> Iterator[None]:
    """Raise an interrupt again that another error has replaced."""
    handled = sys.exception()
    try:
        yield
    except Exception as error:
        interrupt = masked_interrupt(error, handled=handled)
        if interrupt is None:
            raise
        raise interrupt from error


@contextmanager
def _without_spark_sigint_handler() -> Iterator[None]:
    """Make Ctrl-C only raise in a block, where a classic session of Spark has a handler for it.

    That handler cancels all jobs over the connection on which the interrupted call waits for its answer:
    neither receives it, and later calls fail or block forever.
    """
    handler = signal.getsignal(signal.SIGINT)
    if not (_is_main_thread() and str(getattr(handler, "__module__", "")).startswith("pyspark.")):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, handler)


def _can_handle_sigterm() -> bool:
    return _is_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _exit_code(number: int) -> int:
    """Return the exit code that a shell reports for a process that was ended by a signal."""
    return 128 + number
