"""Types that programs written for dlt annotate their values with."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NewType, TypeAlias, TypedDict, TypeVar

from penstock.schema import DataType, TColumnSchema

T = TypeVar("T")

DictStrAny: TypeAlias = dict[str, Any]
DictStrStr: TypeAlias = dict[str, str]
StrAny: TypeAlias = Mapping[str, Any]
StrStr: TypeAlias = Mapping[str, str]
StrOrBytesPath: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
AnyFun: TypeAlias = Callable[..., Any]
REPattern: TypeAlias = re.Pattern[str]
TTableHintTemplate: TypeAlias = T | Callable[[Any], T]
"""A hint, or a function of an item that returns it."""
TDataItemFormat: TypeAlias = Literal["arrow", "object", "file", "model"]
"""The form of items: frames of Arrow, Python objects, files, or queries."""
TSimpleRegex = NewType("TSimpleRegex", str)
"""A name, or a regular expression after `re:`."""
TTableSchemaColumns: TypeAlias = dict[str, TColumnSchema]
"""The column documents of a table, by name."""
TSourceState: TypeAlias = dict[str, Any]
"""The state of a pipeline with the states of its sources below `sources`."""


class TColumnType(TypedDict, total=False):
    """The part of a column document that is the type of its values."""

    data_type: DataType | None
    nullable: bool | None
    precision: int | None
    scale: int | None
    timezone: bool | None


class DltConfig(TypedDict, total=False):
    """The attribute `dlt_config` of a pydantic model: how its columns and its rows are read."""

    skip_nested_types: bool
