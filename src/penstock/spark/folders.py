"""Aggregates over folders of files: number, size, and a hash over names and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column

# Digits of SHA-256 that fit a decimal sum over many millions of files.
_LANE_DIGITS = 15


def folder_column(path: str, root_suffix: str) -> Column:
    """Return the folder of a file, relative to the folder whose name ends with `inside`."""
    below = F.substring_index(F.col(path), root_suffix, -1)
    return F.regexp_replace(below, "/[^/]*$", "").alias("folder")


def folder_aggregates() -> list[Column]:
    """Return aggregates over `path` and `length`; the digest does not depend on the order of files."""
    name = F.element_at(F.split(F.col("path"), "/"), -1)
    digest = F.sha2(F.concat_ws("/", name, F.col("length").cast("string")), 256)
    lanes = [
        F.sum(
            F.conv(F.substring(digest, 1 + lane * _LANE_DIGITS, _LANE_DIGITS), 16, 10).cast("decimal(38,0)")
        ).cast("string")
        for lane in range(2)
    ]
    return [
        F.count("*").alias("files"),
        F.sum("length").alias("bytes"),
        F.sha2(F.concat_ws("-", *lanes), 256).alias("digest"),
    ]
