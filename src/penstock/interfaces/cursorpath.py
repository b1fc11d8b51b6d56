"""Where the cursor value stands in a row: a field, or a path such as `a.b` or `$.items[*].at`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from penstock.errors import UsageError

MISSING: Final = object()
"""What there is where a path leads nowhere; None is a value."""

_TOKEN: Final = re.compile(
    r"""
    (?P<deep>\.\.)
  | (?P<dot>\.)
  | \[\s*(?P<index>-?\d+)\s*\]
  | (?P<every>\[\s*\*\s*\]|\*)
  | \[\s*(?P<quoted>'[^']*'|"[^"]*")\s*\]
  | (?P<text>'[^']*'|"[^"]*")
  | (?P<root>\$)
  | (?P<name>[A-Za-z_@][\w@-]*)
    """,
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Every:
    """All values of an object or a list; with `deep` also all that stand below them."""

    deep: bool = False


Step = str | int | Every


@dataclass(frozen=True, slots=True)
class CursorPath:
    """A path that was understood."""

    steps: tuple[Step, ...]
    column: str | None
    """The name of the field, where the path is nothing but that."""

    def first(self, row: Any) -> Any:
        """The first value that the path leads to, or `MISSING`.

        >>> cursor_path("a.b").first({"a": {"b": 1}})
        1
        >>> cursor_path("$.items[*].at").first({"items": [{"at": 3}, {"at": 4}]})
        3
        """
        if self.column is not None:
            # Nearly all rows; asking whether something is a mapping takes longer than all the rest.
            return row.get(self.column, MISSING) if type(row) is dict else _field(row, self.column)
        return next(_found(row, self.steps), MISSING)

    def all(self, row: Any) -> list[Any]:
        """Every value that the path leads to.

        >>> cursor_path("items[*].at").all({"items": [{"at": 3}, {"at": 4}]})
        [3, 4]
        """
        return list(_found(row, self.steps))


@lru_cache(maxsize=256)
def cursor_path(text: str) -> CursorPath:
    """Read a path: names, `'quoted names'`, `[0]`, `[*]`, `..` for any depth, and `$` for the row.

    >>> cursor_path("updated_at").column
    'updated_at'
    """
    return read_path(text)


def read_path(text: str) -> CursorPath:
    """As `cursor_path`, without memory of earlier ones: this one can travel to executors."""
    kinds: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _refused(text)
        kinds.append((match.lastgroup, match[match.lastgroup]))
        at = match.end()
    steps = tuple(_steps(text, kinds))
    bare = len(kinds) == 1 and kinds[0][0] in {"name", "text", "quoted"}
    return CursorPath(steps=steps, column=str(steps[0]) if bare else None)


def _steps(text: str, kinds: list[tuple[str, str]]) -> Iterator[Step]:
    before: str | None = None
    for kind, found in kinds:
        follows = before is None or before in {"dot", "deep"} or kind in {"index", "every", "quoted"}
        match kind:
            case "root" if before is None:
                pass
            case "dot" | "deep" if before is not None and before not in {"dot", "deep"}:
                if kind == "deep":
                    yield Every(deep=True)
            case "index" if follows:
                yield int(found)
            case "every" if follows:
                yield Every()
            case "quoted" | "text" if follows:
                yield found[1:-1]
            case "name" if follows:
                yield found
            case _:
                raise _refused(text)
        before = kind
    if before is None or before in {"dot", "deep"}:
        raise _refused(text)


def _refused(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not a path to a cursor",
        hint="write a field as it stands in the data, 'quoted' if it has other characters than letters, "
        "digits and _, or a path such as a.b, a[0].b or $.items[*].at",
    )


def _found(value: Any, steps: tuple[Step, ...]) -> Iterator[Any]:
    if not steps:
        yield value
        return
    step, rest = steps[0], steps[1:]
    if isinstance(step, Every):
        for inner in _inside(value, deep=step.deep):
            yield from _found(inner, rest)
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield from _found(value[step], rest)
    else:
        inner = _field(value, step)
        if inner is not MISSING:
            yield from _found(inner, rest)


def _inside(value: Any, *, deep: bool) -> Iterator[Any]:
    if deep:
        yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for one in inner:
        if deep:
            yield from _inside(one, deep=True)
        else:
            yield one


def _field(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name, MISSING)
    if isinstance(value, (list, str, int, float)) or value is None:
        return MISSING
    return getattr(value, name, MISSING)
