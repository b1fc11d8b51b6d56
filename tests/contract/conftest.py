"""Installs the example destination as a user would: a package and its entry point on the path."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parent / "example" / "penstock_sqlite"
METADATA = "Metadata-Version: 2.1\nName: penstock-sqlite\nVersion: 1.0\n"
ENTRY_POINTS = "[penstock.destinations]\nexample = penstock_sqlite:REFERENCE\n"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder on the path with the distribution in it, as an installer leaves it."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE, folder / EXAMPLE.name)
    info = folder / "penstock_sqlite-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA)
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))
