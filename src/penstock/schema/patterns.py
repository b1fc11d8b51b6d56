"""Settings for columns by patterns of their names: preferred types, default hints, and filters."""

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
NOT_NULL: Final = "not_null"


@lru_cache(maxsize=4096)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern: an exact name, or `re:` and an expression that is searched for in names."""
    return re.compile(
        pattern[len(REGEX_PREFIX) :] if pattern.startswith(REGEX_PREFIX) else f"^{re.escape(pattern)}$"
    )


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """Preferred types and default hints of a schema, for columns that are not declared."""

    preferred: tuple[tuple[re.Pattern[str], DataType], ...]
    hints: tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> NamePatterns:
        """Return the patterns in the settings of a schema document."""
        preferred = settings.get("preferred_types") or {}
        hints = settings.get("default_hints") or {}
        return cls(
            tuple((compile_pattern(pattern), parse_data_type(kind)) for pattern, kind in preferred.items()),
            tuple((hint, tuple(map(compile_pattern, patterns))) for hint, patterns in hints.items()),
        )

    def preferred_type(self, column: str) -> DataType | None:
        """Return the type of the first pattern that matches a name."""
        return next((kind for pattern, kind in self.preferred if pattern.search(column)), None)

    def infer_column(self, column: str, kind: DataType) -> Column:
        """Return a new column of a type, with the default hints for its name."""
        matching = [hint for hint, patterns in self.hints if any(p.search(column) for p in patterns)]
        hints = {hint: True for hint in matching if hint != NOT_NULL}
        return Column(name=column, data_type=kind, nullable=NOT_NULL not in matching, hints=hints)


class ColumnFilters:
    """Filters that exclude columns of a table: its own, and those of tables whose name is a path prefix."""

    def __init__(self, table: str, tables: Mapping[str, Table], naming: NamingConvention) -> None:
        self._naming = naming
        self._levels = tuple(_levels(naming.break_path(table), tables, naming))

    def __bool__(self) -> bool:
        """Return whether any filter exists; nearly every schema has none."""
        return bool(self._levels)

    def is_excluded(self, column: str) -> bool:
        """Return whether a filter excludes a column and does not include it again."""
        for below, excludes, includes in self._levels:
            path = self._naming.make_path(*below, column)
            if _matches_any(excludes, path) and not _matches_any(includes, path):
                return True
        return False


Patterns = tuple[re.Pattern[str], ...]


def _levels(
    branch: Sequence[str], tables: Mapping[str, Table], naming: NamingConvention
) -> Iterator[tuple[Sequence[str], Patterns, Patterns]]:
    """Yield for each table with filters the path down from it, its excludes, and its includes."""
    for length in range(len(branch), 0, -1):
        table = tables.get(naming.make_path(*branch[:length]))
        filters = table.extras.get("filters") if table else None
        if filters and filters.get("excludes"):
            excludes, includes = (
                tuple(map(compile_pattern, filters.get(key, ()))) for key in ("excludes", "includes")
            )
            yield branch[length:], excludes, includes


def _matches_any(patterns: Patterns, path: str) -> bool:
    return any(pattern.search(path) for pattern in patterns)
