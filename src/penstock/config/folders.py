"""The folders of penstock on this machine."""

from __future__ import annotations

import os
from pathlib import Path

SETTINGS_FILES = ("secrets.toml", "config.toml")


def home_folder() -> Path:
    """Return `PENSTOCK_HOME`, by default `~/.penstock`."""
    return Path(os.environ.get("PENSTOCK_HOME") or Path.home() / ".penstock")


def pipelines_folder() -> Path:
    """Return the folder of the pipelines' working folders."""
    return home_folder() / "pipelines"


def jars_folder() -> Path:
    """Return the folder that caches resolved jars."""
    return home_folder() / "jars"


def classes_folder() -> Path:
    """Return the folder of the archives of Spark's classes."""
    return home_folder() / "classes"


def settings_folder(project: Path | None = None) -> Path:
    """Return `.penstock` of the project; `.dlt` if only that exists.

    The project is `PENSTOCK_PROJECT_DIR`, by default the current folder.
    """
    root = project or Path(os.environ.get("PENSTOCK_PROJECT_DIR") or Path.cwd())
    own, other = root / ".penstock", root / ".dlt"
    return other if other.is_dir() and not own.is_dir() else own


def settings_folders(project: Path | None = None) -> tuple[Path, ...]:
    """Return the folders with settings, most general first: the home folder, then the project.

    The home folder also contains working folders, so it counts only if it has settings files; otherwise
    `~/.dlt` is read.
    """
    home, other = home_folder(), Path.home() / ".dlt"
    if not os.environ.get("PENSTOCK_HOME") and not any((home / name).is_file() for name in SETTINGS_FILES):
        home = other if other.is_dir() else home
    return (home, settings_folder(project))
