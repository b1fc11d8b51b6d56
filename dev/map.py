"""Prints the packages from the top layer to the bottom, with the first line of each docstring."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Print one line for each package, and an empty line between layers."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    print("penstock: imports go down only\n")
    for layer in layers:
        for package in layer.split("|"):
            print(f"  {package.strip():<14}{summary(package.strip())}")
        print()


def summary(package: str) -> str:
    """Return the first line of a package's docstring."""
    folder = ROOT / "src" / "penstock" / package
    module = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    return (ast.get_docstring(ast.parse(module.read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
