"""Which files a glob means, and which folders can hold one of them. No file is touched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_ANY_FOLDERS: Final = "**"
_SPECIAL: Final = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class Glob:
    """A glob of paths relative to a folder.

    `*` and `?` stay within a name, `[…]` is one character of several, `**` is any number of folders.

    >>> glob = Glob("orders/**/*.csv")
    >>> glob.matches("orders/a.csv"), glob.matches("orders/2026/11/a.csv"), glob.matches("a.csv")
    (True, True, False)
    >>> glob.leads("orders"), glob.leads("orders/2026"), glob.leads("returns")
    (True, True, False)
    """

    text: str

    @cached_property
    def _parts(self) -> tuple[str, ...]:
        return tuple(part for part in self.text.strip("/").split("/") if part)

    @cached_property
    def _names(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(_of_name(part), re.DOTALL) for part in self._parts)

    @property
    def start(self) -> str:
        """The folders at its beginning that are named as they are: listing begins there.

        >>> Glob("raw/orders/*.csv").start, Glob("*").start
        ('raw/orders', '')
        """
        fixed: list[str] = []
        for part in self._parts[:-1]:
            if _SPECIAL.search(part):
                break
            fixed.append(part)
        return "/".join(fixed)

    @property
    def is_deep(self) -> bool:
        """Whether files at any depth may match."""
        return _ANY_FOLDERS in self._parts

    def matches(self, path: str) -> bool:
        """Whether a file is meant."""
        return self._fits(tuple(path.split("/")), is_whole=True)

    def leads(self, folder: str) -> bool:
        """Whether a file that is meant may stand in a folder, or below it."""
        return not folder or self._fits(tuple(folder.split("/")), is_whole=False)

    def _fits(self, names: tuple[str, ...], *, is_whole: bool) -> bool:
        """All ways to read `**` at once: the places in the glob that the names so far can have come to."""
        parts = self._parts
        at = _past_any({0}, parts)
        for name in names:
            here = {one for one in at if one < len(parts)}
            at = {one if parts[one] == _ANY_FOLDERS else one + 1 for one in here if self._takes(one, name)}
            at = _past_any(at, parts)
        # A glob that ends in `**` means all files.
        ends = {len(parts), len(parts) - 1} if parts and parts[-1] == _ANY_FOLDERS else {len(parts)}
        return bool(at & ends) if is_whole else any(one < len(parts) for one in at)

    def _takes(self, one: int, name: str) -> bool:
        return self._parts[one] == _ANY_FOLDERS or self._names[one].fullmatch(name) is not None


def _past_any(at: set[int], parts: tuple[str, ...]) -> set[int]:
    """`**` may stand for no folder at all, but not where it is the file's own name."""
    found = set(at)
    for one in at:
        step = one
        while step < len(parts) - 1 and parts[step] == _ANY_FOLDERS:
            step += 1
            found.add(step)
    return found


def _of_name(part: str) -> str:
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
