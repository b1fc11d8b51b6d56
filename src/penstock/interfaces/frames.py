"""Detection of frames of other libraries by the module of their class, without importing these libraries."""

from __future__ import annotations

from typing import Any, Final, Literal

FrameKind = Literal["arrow", "pandas", "polars", "spark", "sifted", "deleted", "relation"]

_FRAME_KINDS: Final[dict[tuple[str, str], FrameKind]] = {
    ("pyarrow", "Table"): "arrow",
    ("pyarrow", "RecordBatch"): "arrow",
    ("pyarrow", "RecordBatchReader"): "arrow",
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("polars", "LazyFrame"): "polars",
    ("pyspark", "DataFrame"): "spark",
    ("penstock", "QuarantiningFrame"): "sifted",
    ("penstock", "DeletedRows"): "deleted",
    ("penstock", "Relation"): "relation",
}


def frame_kind(value: Any) -> FrameKind | None:
    """Return the library of a frame, also for subclasses; None for other objects.

    Classic and Connect frames of Spark have the same kind. An unknown class that exports an Arrow stream is
    read as Arrow.

    >>> frame_kind([{"a": 1}]) is None
    True
    """
    if isinstance(value, (dict, list, str, int, float)) or value is None:
        return None
    for cls in type(value).__mro__:
        kind = _FRAME_KINDS.get((cls.__module__.partition(".")[0], cls.__name__))
        if kind is not None:
            return kind
    return "arrow" if hasattr(type(value), "__arrow_c_stream__") else None
