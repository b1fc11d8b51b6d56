"""Which Spark this Python has, without importing it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

# The whole of Spark, or the small client of Spark Connect.
_PACKAGES = ("pyspark", "pyspark-client")


def installed_version() -> str | None:
    """The version of the installed package; None when there is none."""
    for name in _PACKAGES:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None
