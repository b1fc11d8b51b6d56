"""The source files of the package, read and parsed once for all rules."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:work|home|root|tmp|Users|mnt|opt|var|private)/\w")


@dataclass(frozen=True)
class SourceFile:
    """A module of the package: its text, its syntax tree and the nodes of the tree in one sequence."""

    path: Path
    text: str
    tree: ast.Module
    nodes: tuple[ast.AST, ...]

    def at(self, line: int) -> str:
        """Return the path and the line as editors and terminals link them."""
        return location(self.path, line)


@cache
def source_files() -> dict[str, SourceFile]:
    """Parse every module of the package; the key is the path below the package."""
    files: dict[str, SourceFile] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, filename=str(path))
        files[path.relative_to(PACKAGE).as_posix()] = SourceFile(path, text, tree, tuple(ast.walk(tree)))
    return files


def location(path: Path, line: int) -> str:
    """Return `path:line`, with the path below the root of the repository."""
    return f"{path.relative_to(ROOT).as_posix()}:{line}"


def line_at(text: str, offset: int) -> int:
    """Return the number of the line that holds this offset."""
    return text.count("\n", 0, offset) + 1
