"""Settings that speak of columns by their names: preferred types, default hints, and filters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from penstock.schema.column import Column
from penstock.schema.types import parse_data_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from penstock.schema.naming import NamingConvention
    from penstock.schema.table import Table
    from penstock.schema.types import DataType

REGEX_PREFIX: Final = "re:"
_NOT_NULL: Final = "not_null"


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Read a pattern: a name, or `re:` and an expression that is searched for in names."""
    return re.compile(
        pattern[len(REGEX_PREFIX) :] if pattern.startswith(REGEX_PREFIX) else f"^{re.escape(pattern)}$"
    )


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """The settings of a schema that apply to columns nobody declared."""

    preferred: tuple[tuple[re.Pattern[str], DataType], ...]
    hints: tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> NamePatterns:
        """Read them from the settings of a schema document."""
        preferred = settings.get("preferred_types") or {}
        hints = settings.get("default_hints") or {}
        return cls(
            tuple((compile_pattern(pattern), parse_data_type(kind)) for pattern, kind in preferred.items()),
            tuple((hint, tuple(map(compile_pattern, patterns))) for hint, patterns in hints.items()),
        )

    def preferred_type(self, column: str) -> DataType | None:
        """Give the type of the first pattern that is found in the name."""
        return next((kind for pattern, kind in self.preferred if pattern.search(column)), None)

    def infer_column(self, column: str, kind: DataType) -> Column:
        """Make a column out of what its name and its first value say."""
        found = {hint for hint, patterns in self.hints if any(p.search(column) for p in patterns)}
        hints = {hint: True for hint, _ in self.hints if hint in found and hint != _NOT_NULL}
        return Column(name=column, data_type=kind, nullable=_NOT_NULL not in found, hints=hints)


class ColumnFilters:
    """Which columns of a table are left out, by the filters of the table and of those above it by name."""

    def __init__(self, table: str, tables: Mapping[str, Table], naming: NamingConvention) -> None:
        self._naming = naming
        self._levels = tuple(_levels(naming.break_path(table), tables, naming))

    def __bool__(self) -> bool:
        """Whether there is any filter; in nearly every schema there is none."""
        return bool(self._levels)

    def is_excluded(self, column: str) -> bool:
        """Whether a filter takes this column out and none takes it back in."""
        for below, excludes, includes in self._levels:
            path = self._naming.make_path(*below, column)
            if _matches_any(excludes, path) and not _matches_any(includes, path):
                return True
        return False


Patterns = tuple[re.Pattern[str], ...]


def _levels(
    branch: Sequence[str], tables: Mapping[str, Table], naming: NamingConvention
) -> Iterator[tuple[Sequence[str], Patterns, Patterns]]:
    """For each table above that filters: the way down from it, what it leaves out, what it takes back in."""
    for length in range(len(branch), 0, -1):
        above = tables.get(naming.make_path(*branch[:length]))
        filters = above.extras.get("filters") if above else None
        if filters and filters.get("excludes"):
            excludes, includes = (
                tuple(map(compile_pattern, filters.get(key, ()))) for key in ("excludes", "includes")
            )
            yield branch[length:], excludes, includes


def _matches_any(patterns: Patterns, path: str) -> bool:
    return any(pattern.search(path) for pattern in patterns)
