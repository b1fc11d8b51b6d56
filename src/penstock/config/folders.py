"""Where penstock keeps its own files on this machine."""

from __future__ import annotations

import os
from pathlib import Path

SETTINGS_FILES = ("secrets.toml", "config.toml")


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
    """`.penstock` of the project; `.dlt` where only that one exists.

    The project is the folder one stands in, or what `PENSTOCK_PROJECT_DIR` says.
    """
    root = project or Path(os.environ.get("PENSTOCK_PROJECT_DIR") or Path.cwd())
    own, other = root / ".penstock", root / ".dlt"
    return other if other.is_dir() and not own.is_dir() else own


def settings_folders(project: Path | None = None) -> tuple[Path, ...]:
    """The folders with settings, the most general first: the home folder, then the project.

    The folder in the home folder also holds working folders, so its files count, not its being there: where
    it has none, `~/.dlt` is read.
    """
    home, other = home_folder(), Path.home() / ".dlt"
    if not os.environ.get("PENSTOCK_HOME") and not any((home / name).is_file() for name in SETTINGS_FILES):
        home = other if other.is_dir() else home
    return (home, settings_folder(project))
