"""What normalizing raises, by the name that programs for dlt catch: that of `dlt.normalize.exceptions`."""

from __future__ import annotations

from penstock.errors import NeverRaised

NormalizeJobFailed = NeverRaised

__all__ = ["NormalizeJobFailed"]
