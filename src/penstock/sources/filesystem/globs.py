"""Which files a glob means, and which folders can hold one of them. No file is touched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_ANY_FOLDERS: Final = "**"
_WILDCARD: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Glob:
    """A glob of paths relative to a folder.

    `*` and `?` stay within a name, `[…]` is one character of several, `**` is any number of folders.

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
        return tuple(re.compile(_name_regex(part), re.DOTALL) for part in self._parts)

    @property
    def fixed_prefix(self) -> str:
        """The folders at its beginning that are named as they are: listing begins there.

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
        """Whether files at any depth may match."""
        return _ANY_FOLDERS in self._parts

    def matches(self, path: str) -> bool:
        """Whether a file is meant."""
        return self._matches_names(tuple(path.split("/")), is_whole=True)

    def can_match_below(self, folder: str) -> bool:
        """Whether a file that is meant may stand in a folder, or below it."""
        return not folder or self._matches_names(tuple(folder.split("/")), is_whole=False)

    def _matches_names(self, names: tuple[str, ...], *, is_whole: bool) -> bool:
        """All ways to read `**` at once: the places in the glob that the names so far can have come to."""
        parts = self._parts
        at = _skip_any_folders({0}, parts)
        for name in names:
            here = {one for one in at if one < len(parts)}
            at = {
                one if parts[one] == _ANY_FOLDERS else one + 1
                for one in here
                if self._part_matches(one, name)
            }
            at = _skip_any_folders(at, parts)
        # A glob that ends in `**` means all files.
        ends = {len(parts), len(parts) - 1} if parts and parts[-1] == _ANY_FOLDERS else {len(parts)}
        return bool(at & ends) if is_whole else any(one < len(parts) for one in at)

    def _part_matches(self, index: int, name: str) -> bool:
        return self._parts[index] == _ANY_FOLDERS or self._name_patterns[index].fullmatch(name) is not None


def _skip_any_folders(positions: set[int], parts: tuple[str, ...]) -> set[int]:
    """`**` may stand for no folder at all, but not where it is the file's own name."""
    found = set(positions)
    for one in positions:
        step = one
        while step < len(parts) - 1 and parts[step] == _ANY_FOLDERS:
            step += 1
            found.add(step)
    return found


def _name_regex(part: str) -> str:
    pieces: list[str] = []
    at = 0
    while at < len(part):
        one = part[at]
        at += 1
        if one == "*":
            pieces.append("[^/]*")
        elif one == "?":
            pieces.append("[^/]")
        elif one == "[" and (end := part.find("]", at + 1 + (part[at : at + 1] in {"!", "^"}))) > 0:
            chosen = part[at:end].replace("\\", "\\\\").replace("[", "\\[")
            chosen = f"^{chosen[1:]}" if chosen[0] == "!" else chosen
            pieces.append(f"[{chosen}]")
            at = end + 1
        else:
            pieces.append(re.escape(one))
    return "".join(pieces)
