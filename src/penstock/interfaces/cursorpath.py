"""Paths to values in a row: a field name, or a path such as `a.b` or `$.items[*].at`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from penstock.errors import UsageError

MISSING: Final = object()
"""The result of a path that does not exist; None is a value."""

_TOKEN: Final = re.compile(
    r"""
    (?P<deep>\.\.)
  | (?P<dot>\.)
  | \[\s*(?P<index>-?\d+)\s*\]
  | (?P<every>\[\s*\*\s*\]|\*)
  | \[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]
  | (?P<text>'[^']*'|"[^"]*")
  | (?P<root>\$)
  | (?P<union>\s*\|\s*)
  | (?P<name>[A-Za-z_@][\w@-]*)
    """,
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Yield all values of an object or list; with `deep`, also of all nested ones."""

    recursive: bool = False


PathSegment = str | int | Wildcard


@dataclass(frozen=True, slots=True)
class CursorPath:
    """A parsed path."""

    segments: tuple[PathSegment, ...]
    column: str | None
    """The field name, if the path is only a name."""
    alternatives: tuple[tuple[PathSegment, ...], ...] = ()
    """The paths after `|`; their values follow those of the first path."""

    @property
    def branches(self) -> tuple[tuple[PathSegment, ...], ...]:
        """The paths between `|`, of which there is usually one."""
        return (self.segments, *self.alternatives)

    def first(self, row: Any) -> Any:
        """Return the first value of the path, or `MISSING`.

        >>> parse_cursor_path("a.b").first({"a": {"b": 1}})
        1
        >>> parse_cursor_path("$.items[*].at").first({"items": [{"at": 3}, {"at": 4}]})
        3
        """
        if self.column is not None:
            # The fast path for nearly all rows: `isinstance(row, Mapping)` is slower than the lookup.
            return row.get(self.column, MISSING) if type(row) is dict else _field_value(row, self.column)
        return next(self._values(row), MISSING)

    def all(self, row: Any) -> list[Any]:
        """Yield all values of the path.

        >>> parse_cursor_path("items[*].at").all({"items": [{"at": 3}, {"at": 4}]})
        [3, 4]
        """
        return list(self._values(row))

    def _values(self, row: Any) -> Iterator[Any]:
        for segments in self.branches:
            yield from _values_at(row, segments)


@lru_cache(maxsize=256)
def parse_cursor_path(text: str) -> CursorPath:
    """Parse a path: names, `'quoted names'`, `[0]`, `[*]`, `..` for any depth, `$` for the row.

    Between paths, `|` adds the values of the next one.

    >>> parse_cursor_path("updated_at").column
    'updated_at'
    >>> parse_cursor_path("updated|created").first({"created": 7})
    7
    """
    return parse_uncached(text)


def parse_uncached(text: str) -> CursorPath:
    """Parse a path without the cache, for functions that are sent to executors."""
    paths: list[list[tuple[str, str]]] = [[]]
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _invalid_path(text)
        if match.lastgroup == "union":
            paths.append([])
        else:
            paths[-1].append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    steps, *alternatives = (tuple(_segments(text, tokens)) for tokens in paths)
    bare = [kind for tokens in paths for kind, _ in tokens] in (["name"], ["text"], ["quoted"])
    return CursorPath(
        segments=steps, column=str(steps[0]) if bare else None, alternatives=tuple(alternatives)
    )


def _segments(text: str, tokens: list[tuple[str, str]]) -> Iterator[PathSegment]:
    before: str | None = None
    for kind, token in tokens:
        follows = before is None or before in {"dot", "deep"} or kind in {"index", "every", "quoted"}
        match kind:
            case "root" if before is None:
                pass
            case "dot" | "deep" if before is not None and before not in {"dot", "deep"}:
                if kind == "deep":
                    yield Wildcard(recursive=True)
            case "index" if follows:
                yield int(token)
            case "every" if follows:
                yield Wildcard()
            case "quoted" | "text" if follows:
                yield token[1:-1]
            case "name" if follows:
                yield token
            case _:
                raise _invalid_path(text)
        before = kind
    if before is None or before in {"dot", "deep"}:
        raise _invalid_path(text)


def _invalid_path(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a valid cursor path",
        hint="write a field name of the data, 'quoted' if it has characters other than letters, "
        "digits and _, or a path such as a.b, a[0].b or $.items[*].at",
    )


def _values_at(value: Any, segments: tuple[PathSegment, ...]) -> Iterator[Any]:
    if not segments:
        yield value
        return
    step, rest = segments[0], segments[1:]
    if isinstance(step, Wildcard):
        for inner in _children(value, recursive=step.recursive):
            yield from _values_at(inner, rest)
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield from _values_at(value[step], rest)
    else:
        inner = _field_value(value, step)
        if inner is not MISSING:
            yield from _values_at(inner, rest)


def _children(value: Any, *, recursive: bool) -> Iterator[Any]:
    if recursive:
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for child in inner:
        if recursive:
            yield from _children(child, recursive=True)
        else:
            yield child


def _field_value(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name, MISSING)
    if isinstance(value, (list, str, int, float)) or value is None:
        return MISSING
    return getattr(value, name, MISSING)
