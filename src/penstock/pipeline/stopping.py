"""What ends a run from outside: SIGTERM is heard as Ctrl-C is, where nobody else listens to it."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM raises `SystemExit(143)` in the block, as Ctrl-C raises `KeyboardInterrupt`; so does a second.

    Whatever holds something lets go of it on the way out: generators are closed, jobs of a load that are
    under way are noted when they end, the lease is given back. Code of a user may keep such an error to
    itself, or make another one of it; it is raised once more at the end of the block.

    Nothing is changed in threads beside the main one, and where SIGTERM has a handler already.
    """
    if not _is_free():
        yield
        return
    asked: list[int] = []

    def end(number: int, frame: Any) -> None:
        del frame
        asked.append(number)
        raise _ended(number)

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    except Exception as error:
        if asked:
            raise _ended(asked[0]) from error
        raise
    finally:
        # Spark or the user may have put another one there meanwhile.
        if signal.getsignal(signal.SIGTERM) is end:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if asked:
        raise _ended(asked[0])


def _is_free() -> bool:
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def _ended(number: int) -> SystemExit:
    """What a shell says of a process that a signal has ended."""
    return SystemExit(128 + number)
