"""What ends a run from outside: Ctrl-C and SIGTERM raise where the main thread is, also in calls of Spark."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Terminated(SystemExit, KeyboardInterrupt):
    """SIGTERM. Py4J closes the connection of a call that Ctrl-C ends, and knows it by `KeyboardInterrupt`.

    After any other error the answer of the call stays unread, and the next call takes it for its own.
    """


@contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """SIGTERM raises `SystemExit(143)` in the block, as Ctrl-C raises `KeyboardInterrupt`; so does a second.

    Whatever holds something lets go of it on the way out: generators are closed, jobs of a load that are
    under way are noted when they end, the lease is given back. Code of a user may keep such an error to
    itself, or make another one of it; it is raised once more at the end of the block.

    Nothing is changed in threads beside the main one, and where SIGTERM has a handler already. The handler
    that Spark has for Ctrl-C is replaced during the block, see `_interrupts_raise`.
    """
    with _without_spark_sigint_handler(), _reraise_masked_interrupt():
        if not _can_handle_sigterm():
            yield
            return
        asked: list[int] = []

        def end(number: int, frame: Any) -> None:
            del frame
            asked.append(number)
            raise _Terminated(_exit_code(number))

        signal.signal(signal.SIGTERM, end)
        try:
            yield
        except (Exception, _Terminated) as error:
            if asked:
                raise SystemExit(_exit_code(asked[0])) from error
            raise
        finally:
            # Spark or the user may have put another one there meanwhile.
            if signal.getsignal(signal.SIGTERM) is end:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if asked:
            raise SystemExit(_exit_code(asked[0]))


def masked_interrupt(
    error: BaseException | None, *, handled: BaseException | None
) -> KeyboardInterrupt | None:
    """Return a copy of the interrupt that an error was raised on the way out of, or None.

    pyspark calls Spark while an interrupt leaves `collect()`; where that fails, its error takes the place of
    the interrupt. What was `handled` when the run began, such as the interrupt of an earlier run, is not
    looked behind.
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
    """Raise an interrupt again that another error has taken the place of."""
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
    """Have Ctrl-C do nothing but raise, where a classic session of Spark has a handler for it.

    That handler asks Spark to cancel all jobs, by the connection on which the call that it interrupts waits
    for its answer: neither gets it, and later calls fail or wait for ever.
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
    """Return what a shell reports of a process that a signal has ended."""
    return 128 + number
