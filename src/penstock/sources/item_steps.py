"""Functions for `add_filter` and `add_map`: the first items, all later items, lists as columns."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.interfaces.cursorpath import Wildcard, parse_cursor_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.interfaces.cursorpath import PathSegment


def take_first(max_items: int) -> Callable[[Any], bool]:
    """Return a filter that accepts the first items.

    >>> from penstock import resource
    >>> list(resource([1, 2, 3], name="numbers").add_filter(take_first(2)))
    [1, 2]
    """
    skip = skip_first(max_items)
    return lambda item: not skip(item)


def skip_first(max_items: int) -> Callable[[Any], bool]:
    """Return a filter that rejects the first items.

    >>> from penstock import resource
    >>> list(resource([1, 2, 3], name="numbers").add_filter(skip_first(2)))
    [3]
    """
    count = 0

    def is_later(_: Any) -> bool:
        nonlocal count
        count += 1
        return count > max_items

    return is_later


def pivot(paths: str | Sequence[str] = "$", prefix: str = "col") -> Callable[[Any], Any]:
    """Return a map that turns lists of lists at these paths into lists of rows with numbered columns.

    >>> pivot("points", prefix="p")({"points": [[1, 2], [3, 4]]})
    {'points': [{'p0': 1, 'p1': 2}, {'p0': 3, 'p1': 4}]}
    >>> pivot()([["a", "b"]])
    [{'col0': 'a', 'col1': 'b'}]
    """
    parsed = [
        (path, segments)
        for path in ([paths] if isinstance(paths, str) else paths)
        for segments in parse_cursor_path(path).branches
    ]

    def pivot_item(item: Any) -> Any:
        for path, segments in parsed:
            if not segments:
                item = _as_rows(item, path, prefix)
            for parent, key in _parents(item, segments):
                parent[key] = _as_rows(parent[key], path, prefix)
        return item

    return pivot_item


def _parents(item: Any, segments: Sequence[PathSegment]) -> Iterator[tuple[Any, Any]]:
    """Yield each object or list that has a value at the path, with its key."""
    if not segments:
        return
    segment, *rest = segments
    for key in _matching_keys(item, segment):
        if rest:
            yield from _parents(item[key], rest)
        else:
            yield item, key


def _matching_keys(item: Any, segment: PathSegment) -> list[Any]:
    if isinstance(segment, Wildcard):
        if segment.recursive:
            raise UsageError("pivot does not search at any depth", hint="replace .. by the names of the path")
        return list(item) if isinstance(item, MutableMapping) else list(range(len(_items(item))))
    if isinstance(segment, int):
        return [segment] if -len(_items(item)) <= segment < len(_items(item)) else []
    return [segment] if isinstance(item, MutableMapping) and segment in item else []


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_rows(value: Any, path: str, prefix: str) -> list[dict[str, Any]]:
    if not _is_list(value) or not all(map(_is_list, value)):
        raise UsageError(
            f"the value at {path!r} is not a list of lists",
            hint="name the path of a list whose elements are lists",
        )
    return [{f"{prefix}{number}": element for number, element in enumerate(row)} for row in value]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))
