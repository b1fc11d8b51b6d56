"""Where penstock keeps its own files on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """`~/.penstock`, or what `PENSTOCK_HOME` says."""
    return Path(os.environ.get("PENSTOCK_HOME") or Path.home() / ".penstock")


def pipelines_folder() -> Path:
    """The folder of the pipelines' working folders."""
    return home_folder() / "pipelines"


def jars_folder() -> Path:
    """The folder in which jars resolved once are kept for the next start."""
    return home_folder() / "jars"


def settings_folder(project: Path | None = None) -> Path:
    """`.penstock` of the project; `.dlt` where only that one exists."""
    root = project or Path.cwd()
    own, other = root / ".penstock", root / ".dlt"
    return other if other.is_dir() and not own.is_dir() else own
