"""Conversion of storage addresses between the forms of Python and Spark."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

# Hadoop's name of a scheme, if it differs from fsspec's.
_HADOOP_SCHEMES = {"s3": "s3a", "gcs": "gs", "az": "abfs"}


def local_path(location: str) -> Path | None:
    """Return the path of a local location, or None for a remote address.

    >>> local_path("file:///lake"), local_path("s3://bucket/lake")
    (PosixPath('/lake'), None)
    """
    if "://" not in location and not location.startswith("file:"):
        return Path(location)
    parts = urlsplit(location)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def spark_path(location: str) -> str:
    """Return the address in Hadoop's form, always with a scheme.

    >>> spark_path("/lake/items"), spark_path("s3://bucket/lake")
    ('file:///lake/items', 's3a://bucket/lake')
    """
    path = local_path(location)
    if path is not None:
        # Hadoop takes the text literally: percent signs and blanks are not encoded.
        return f"file://{path.absolute()}"
    scheme, rest = location.split("://", 1)
    return f"{_HADOOP_SCHEMES.get(scheme, scheme)}://{rest}"
