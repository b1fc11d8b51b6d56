"""Frames of other libraries are known by where their class comes from, so that none must be installed."""

from __future__ import annotations

from typing import Any, Final, Literal

FrameKind = Literal["arrow", "pandas", "polars", "spark", "sifted", "relation"]

_FRAME_KINDS: Final[dict[tuple[str, str], FrameKind]] = {
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
    ("pyarrow", "RecordBatchReader"): "arrow",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "polars",
    ("pyspark", "DataFrame"): "spark",
    ("penstock", "QuarantiningFrame"): "sifted",
    ("penstock", "Relation"): "relation",
}


def frame_kind(value: Any) -> FrameKind | None:
    """Which library's frame this is, subclasses too; None for anything else.

    Spark's frames are the same kind, classic or over Connect. Something unknown that offers Arrow's stream
    is read as Arrow.

    >>> frame_kind([{"a": 1}]) is None
    True
    """
    if isinstance(value, (dict, list, str, int, float)) or value is None:
        return None
    for cls in type(value).__mro__:
        found = _FRAME_KINDS.get((cls.__module__.partition(".")[0], cls.__name__))
        if found is not None:
            return found
    return "arrow" if hasattr(type(value), "__arrow_c_stream__") else None
