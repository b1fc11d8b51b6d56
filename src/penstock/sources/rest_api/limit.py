"""One limit for all requests of a source that this process makes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from penstock.interfaces.pace import Pacer

if TYPE_CHECKING:
    from penstock.interfaces.work_items import RateLimit

# A clock that is read late must not bring two requests too near.
_CLOCK_MARGIN: Final = 1.02


class RateLimiter:
    """Lets requests through one at a time; begins to count when the first is made."""

    def __init__(self, rate: RateLimit) -> None:
        self.rate = rate

    @cached_property
    def _pacer(self) -> Pacer:
        return Pacer(self.rate.seconds / self.rate.calls * _CLOCK_MARGIN)

    def wait(self) -> None:
        """Return when a request may be made."""
        self._pacer.wait()
