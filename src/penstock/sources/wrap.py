"""Anything that can be iterated becomes a resource with a table of its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.errors import MissingTableName, UnsupportedData
from penstock.interfaces import Resource


def as_resource(data: Any, *, table_name: str | None = None) -> Resource:
    """Give data a name and a way to be read once.

    >>> def numbers():
    ...     yield from range(3)
    >>> as_resource(numbers).table_name, as_resource([1, 2], table_name="n").name
    ('numbers', 'n')
    """
    if isinstance(data, (str, bytes, dict)):
        raise UnsupportedData(data_type=type(data).__name__, reason="it is one value, not rows")
    if inspect.isasyncgen(data) or inspect.isasyncgenfunction(data) or inspect.iscoroutinefunction(data):
        raise UnsupportedData(data_type="async generator", reason="async sources are not supported yet")
    _refuse_frame(data)
    name = table_name or _name_of(data)
    if callable(data):
        return Resource(name=name, table_name=name, rows=lambda: _checked(data()))
    if isinstance(data, Iterable):
        return Resource(name=name, table_name=name, rows=lambda: data)
    raise UnsupportedData(data_type=type(data).__name__, reason="it cannot be iterated")


def _name_of(data: Any) -> str:
    name = getattr(data, "__name__", None)
    if isinstance(name, str) and (callable(data) or isinstance(data, Iterator)):
        return name
    raise MissingTableName(data_type=type(data).__name__)


def _refuse_frame(data: Any) -> None:
    if hasattr(data, "__dataframe__") or hasattr(data, "__arrow_c_stream__") or hasattr(data, "sparkSession"):
        raise UnsupportedData(data_type=type(data).__name__, reason="frames as data are not supported yet")


def _checked(rows: Any) -> Iterable[Any]:
    _refuse_frame(rows)
    if isinstance(rows, (str, bytes, dict)) or not isinstance(rows, Iterable):
        raise UnsupportedData(data_type=type(rows).__name__, reason="the function must give rows")
    return rows
