"""Report every offender of a rule in one failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def assert_no_offenders(offenders: Iterable[str], remedy: str) -> None:
    """Fail with all offenders and the remedy in the message; pass when there are none."""
    lines = list(offenders)
    if lines:
        listing = "\n".join(f"  {line}" for line in lines)
        pytest.fail(f"offenders: {len(lines)}; {remedy}:\n{listing}", pytrace=False)
