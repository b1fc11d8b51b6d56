"""What a destination can do; every question is answered by every destination."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The answers a destination gives before anything is written to it."""

    write_dispositions: frozenset[str]
    max_identifier_length: int
    spark_needs: tuple[str, ...]
    """Keys of the preset table: the jars and extensions that must be in the session, such as `delta`."""
