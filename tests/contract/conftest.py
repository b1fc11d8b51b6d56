"""Fixtures of the contract tests: the installed example destination, sessions and datasets."""

from __future__ import annotations

import importlib
import shutil
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.flow.factories import quick_session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

EXAMPLE = Path(__file__).parent / "example" / "penstock_sqlite"
METADATA = "Metadata-Version: 2.1\nName: penstock-sqlite\nVersion: 1.0\n"
ENTRY_POINTS = "[penstock.destinations]\nexample = penstock_sqlite:REFERENCE\n"


@pytest.fixture(scope="session")
def spark(session_of_mode: SparkSession) -> SparkSession:
    """Return the session of the mode, configured for few rows."""
    return quick_session(session_of_mode)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install the example destination into a folder on the path, as an installer does."""
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


@pytest.fixture
def dataset() -> str:
    """Return a unique dataset name: catalogs are shared by all tests of a session."""
    return f"c{uuid.uuid4().hex[:8]}"
