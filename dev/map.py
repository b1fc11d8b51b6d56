"""Prints the packages from the top layer to the bottom, with the first line of each docstring."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Print one line for each package, and an empty line between layers."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    print("penstock: imports go down only\n")
    for floor in floors:
        for capacity in floor.split("|"):
            print(f"  {capacity.strip():<14}{sign(capacity.strip())}")
        print()


def sign(capacity: str) -> str:
    """Return the first line of a package's docstring."""
    folder = ROOT / "src" / "penstock" / capacity
    module = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
