"""Matching of paths against a glob, and of folders that can contain a match."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_ANY_FOLDERS: Final = "**"
_WILDCARD: Final = re.compile(r"[*?\[]")
_CARET_SET: Final = re.compile(r"(?<!\[)\[\^")


@dataclass(frozen=True)
class Glob:
    """A glob of paths relative to a folder.

    `*` and `?` match within a name, `[…]` matches one character of a set, `**` any number of folders.

    >>> glob = Glob("orders/**/*.csv")
    >>> glob.matches("orders/a.csv"), glob.matches("orders/2026/11/a.csv"), glob.matches("a.csv")
    (True, True, False)
    >>> glob.can_match_below("orders"), glob.can_match_below("orders/2026"), glob.can_match_below("returns")
    (True, True, False)
    """

    pattern: str

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return tuple(part for part in self.pattern.strip("/").split("/") if part)

    @cached_property
    def _name_patterns(self) -> tuple[re.Pattern[str], ...]:
        # fnmatch negates a set by "!" only.
        return tuple(re.compile(fnmatch.translate(_CARET_SET.sub("[!", part))) for part in self._parts)

    @property
    def fixed_prefix(self) -> str:
        """The leading folders without wildcards, where listing begins.

        >>> Glob("raw/orders/*.csv").fixed_prefix, Glob("*").fixed_prefix
        ('raw/orders', '')
        """
        fixed: list[str] = []
        for part in self._parts[:-1]:
            if _WILDCARD.search(part):
                break
            fixed.append(part)
        return "/".join(fixed)

    @property
    def is_recursive(self) -> bool:
        """Whether files at any depth can match."""
        return _ANY_FOLDERS in self._parts

    def matches(self, path: str) -> bool:
        """Return whether the path of a file matches."""
        return self._matches_names(tuple(path.split("/")), is_whole=True)

    def can_match_below(self, folder: str) -> bool:
        """Return whether a file in a folder or below it can match."""
        return not folder or self._matches_names(tuple(folder.split("/")), is_whole=False)

    def _matches_names(self, names: tuple[str, ...], *, is_whole: bool) -> bool:
        """Match names as a state machine: the positions in the glob that the names so far can reach.

        One regular expression of the glob would need exponential time for several `**`.
        """
        parts = self._parts
        positions = _skip_any_folders({0}, parts)
        for name in names:
            positions = {
                position if parts[position] == _ANY_FOLDERS else position + 1
                for position in positions
                if position < len(parts) and self._part_matches(position, name)
            }
            positions = _skip_any_folders(positions, parts)
        # A trailing `**` matches all files.
        ends = {len(parts), len(parts) - 1} if parts and parts[-1] == _ANY_FOLDERS else {len(parts)}
        return bool(positions & ends) if is_whole else any(position < len(parts) for position in positions)

    def _part_matches(self, index: int, name: str) -> bool:
        return self._parts[index] == _ANY_FOLDERS or self._name_patterns[index].fullmatch(name) is not None


def _skip_any_folders(positions: set[int], parts: tuple[str, ...]) -> set[int]:
    """Add the positions after each `**`, which can match no folder unless it is the last part."""
    reachable = set(positions)
    for position in positions:
        following = position
        while following < len(parts) - 1 and parts[following] == _ANY_FOLDERS:
            following += 1
            reachable.add(following)
    return reachable
