"""Exceptions of normalization by the names of `dlt.normalize.exceptions`, for programs that catch them."""

from __future__ import annotations

from penstock.errors import (
    NeverRaised,
    PenstockError,
)

DltException = PenstockError
NormalizeException = PenstockError
NormalizeJobFailed = NeverRaised

__all__ = [
    "DltException",
    "NormalizeException",
    "NormalizeJobFailed",
]
