"""Prints the rooms in floor order, from the import contract and each room's first docstring line."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Print one line a room; an empty line stands between floors."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    floors = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    print("penstock: imports go down only\n")
    for floor in floors:
        for room in floor.split("|"):
            print(f"  {room.strip():<14}{sign(room.strip())}")
        print()


def sign(room: str) -> str:
    """The first line of a room's docstring."""
    folder = ROOT / "src" / "penstock" / room
    module = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
