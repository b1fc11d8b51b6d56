from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from penstock.interfaces.frames import frame_kind


class Sub(pd.DataFrame):  # type: ignore[misc]
    """A frame of somebody who extends pandas."""


class Streaming:
    """Something that nobody knows and that offers Arrow's stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pa.table({"a": [1]}).__arrow_c_stream__(requested_schema)


def of_module(module: str, name: str) -> Any:
    return type(name, (), {"__module__": module})()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (pa.table({"a": [1]}), "arrow"),
        (pa.record_batch({"a": [1]}), "arrow"),
        (pa.table({"a": [1]}).to_reader(), "arrow"),
        (pd.DataFrame({"a": [1]}), "pandas"),
        (Sub({"a": [1]}), "pandas"),
        (Streaming(), "arrow"),
        (of_module("polars.dataframe.frame", "DataFrame"), "polars"),
        (of_module("polars.lazyframe.frame", "LazyFrame"), "polars"),
        (of_module("pyspark.sql.classic.dataframe", "DataFrame"), "spark"),
        (of_module("pyspark.sql.connect.dataframe", "DataFrame"), "spark"),
        (of_module("penstock.dataset.relation", "Relation"), "relation"),
        (of_module("elsewhere", "DataFrame"), None),
        (of_module("polars_like", "DataFrame"), None),
        ({"a": 1}, None),
        ([1], None),
        (None, None),
        (iter([1]), None),
        (lambda: 1, None),
    ],
)
def test_a_frame_is_recognized_by_the_module_of_its_class(value: Any, kind: str | None) -> None:
    assert frame_kind(value) == kind


def test_a_class_is_not_a_frame() -> None:
    assert frame_kind(Streaming) is None
