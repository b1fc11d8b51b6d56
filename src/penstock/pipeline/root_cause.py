"""The root cause of an error in a run, where the error does not name it itself."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.config import logger
from penstock.errors import LeaseLost, PenstockError, StorageFull
from penstock.pipeline.signals import masked_interrupt
from penstock.spark.storage_errors import as_storage_error

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.package.lease import Lease

_LOG = logger("penstock.pipeline")


@contextmanager
def raise_root_cause(lease: Lease) -> Iterator[None]:
    """Raise the root cause of an error instead, where the error does not name it itself."""
    handled = sys.exception()
    try:
        yield
    except Exception as error:
        cause = masked_interrupt(error, handled=handled) or _root_cause(error, lease)
        if cause is None:
            raise
        raise cause from error


def _root_cause(error: Exception, lease: Lease) -> Exception | None:
    """Return the root cause of an error that does not name it itself; None where it does."""
    # A full disk ends the lease too: its holder cannot write its heartbeats.
    if isinstance(error, LeaseLost | StorageFull):
        return None
    try:
        # A run that took over finishes the same packages, and this one fails on what the other has done.
        lease.confirm()
    except LeaseLost as lost:
        return lost
    except OSError:
        _LOG.debug("the state of the lease cannot be read", exc_info=True)
    return None if isinstance(error, PenstockError) else as_storage_error(error)
