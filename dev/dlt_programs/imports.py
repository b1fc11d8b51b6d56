"""Replacement of the imports of dlt in a program, and of nothing else."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_ROOT = re.compile(r"\bdlt\b")


def with_penstock(source: str) -> str:
    r"""Return a program with its imports of dlt replaced by those of penstock.

    >>> with_penstock("import dlt\nfrom dlt.common import json\nname = 'import dlt'\n")
    "import penstock as dlt\nfrom penstock.common import json\nname = 'import dlt'\n"
    """
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=[ast.alias(name="dlt", asname=None)]):
                lines[node.lineno - 1] = lines[node.lineno - 1].replace(
                    "import dlt", "import penstock as dlt", 1
                )
            case ast.Import(names=[ast.alias(name=name, asname=str())]) if _of_dlt(name):
                lines[node.lineno - 1] = _ROOT.sub("penstock", lines[node.lineno - 1], count=1)
            case ast.Import(names=names) if any(_of_dlt(alias.name) for alias in names):
                raise ValueError(f"line {node.lineno} imports dlt in a way that no other name replaces")
            case ast.ImportFrom(module=str(module), level=0) if _of_dlt(module):
                lines[node.lineno - 1] = _ROOT.sub("penstock", lines[node.lineno - 1], count=1)
            case _:
                pass
    return "".join(lines)


def replace_in_folder(folder: Path) -> None:
    """Replace the imports in all Python files below a folder."""
    for path in folder.rglob("*.py"):
        path.write_text(with_penstock(path.read_text("utf-8")), "utf-8")


def _of_dlt(module: str) -> bool:
    return module.partition(".")[0] == "dlt"
