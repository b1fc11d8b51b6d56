"""Functions that sources apply to their values: ids, digests, chunks, nested values, quoted names."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Iterable
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from penstock.config import pipelines_folder
from penstock.interfaces.cursorpath import parse_cursor_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from penstock.schema import DataType

T = TypeVar("T")

TJsonPath: TypeAlias = str
"""A JSONPath: names, `[*]`, `[0]` and `..`, with or without `$` before them."""
TAnyJsonPath: TypeAlias = TJsonPath | Iterable[TJsonPath]
"""A JSONPath or several."""

# In this order: a bool is an int, a datetime is a date.
_TYPE_BY_CLASS: Final[tuple[tuple[tuple[type, ...], DataType], ...]] = (
    ((Enum, str), "text"),
    ((bool,), "bool"),
    ((int,), "bigint"),
    ((float,), "double"),
    ((Decimal,), "decimal"),
    ((datetime,), "timestamp"),
    ((date,), "date"),
    ((time,), "time"),
    ((bytes,), "binary"),
    ((dict, list, tuple), "json"),
)


def uniq_id(len_: int = 16) -> str:
    """Return a random id of so many bytes, in hexadecimal digits.

    >>> len(uniq_id()), len(uniq_id(4))
    (32, 8)
    """
    return secrets.token_hex(len_)


def digest128(v: str, len_: int = 15) -> str:
    """Return the SHAKE-128 digest of a text, of so many bytes, in base 64.

    >>> digest128("abc")
    'WIEJLdgYv1z4o923k/vL'
    """
    return base64.b64encode(hashlib.shake_128(v.encode()).digest(len_)).decode()


def chunks(iterable: Iterable[T], n: int) -> Iterator[list[T]]:
    """Yield lists of at most `n` items.

    >>> list(chunks("abc", 2))
    [['a', 'b'], ['c']]
    """
    items = iter(iterable)
    while chunk := list(islice(items, n)):
        yield chunk


def map_nested_values_in_place(func: Callable[..., Any], nested: Any, *args: Any, **kwargs: Any) -> Any:
    """Replace the values in dicts and lists at any depth by those that a function returns.

    >>> map_nested_values_in_place(lambda value: value * 2, {"a": [1, {"b": 2}]})
    {'a': [2, {'b': 4}]}
    """
    match nested:
        case dict():
            for key, value in nested.items():
                nested[key] = map_nested_values_in_place(func, value, *args, **kwargs)
            return nested
        case list():
            nested[:] = [map_nested_values_in_place(func, value, *args, **kwargs) for value in nested]
            return nested
        case tuple():
            return tuple(map_nested_values_in_place(func, value, *args, **kwargs) for value in nested)
        case _:
            return func(nested, *args, **kwargs)


def find_values(path: str, data: Any) -> list[Any]:
    """Return all values at a JSONPath.

    >>> find_values("items[*].id", {"items": [{"id": 1}, {"id": 2}]})
    [1, 2]
    """
    return parse_cursor_path(path).all(data)


def py_type_to_sc_type(t: type) -> DataType:
    """Return the data type of a column for values of a class.

    >>> py_type_to_sc_type(datetime), py_type_to_sc_type(dict)
    ('timestamp', 'json')
    """
    for classes, data_type in _TYPE_BY_CLASS:
        if issubclass(t, classes):
            return data_type
    raise TypeError(f"columns have no type for values of {t.__name__}")


def escape_postgres_identifier(v: str) -> str:
    """Return a quoted name for SQL of Postgres.

    >>> escape_postgres_identifier('a"b')
    '"a""b"'
    """
    return '"' + v.replace('"', '""') + '"'


@contextmanager
def set_working_dir(path: str) -> Iterator[str]:
    """Make a folder the current one within a block.

    >>> before = Path.cwd()
    >>> with set_working_dir("/") as folder:
    ...     Path.cwd() == before, folder
    (False, '/')
    >>> Path.cwd() == before
    True
    """
    before = Path.cwd()
    os.chdir(path)
    try:
        yield path
    finally:
        os.chdir(before)


def get_dlt_pipelines_dir() -> str:
    """Return the folder of the pipelines' working folders.

    >>> Path(get_dlt_pipelines_dir()).name
    'pipelines'
    """
    return str(pipelines_folder())
