"""The files with settings: read when they have changed, laid one over the other."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from penstock.errors import UsageError
from penstock.redaction import logger

if TYPE_CHECKING:
    from pathlib import Path

SECRETS_FILE: Final = "secrets.toml"
CONFIG_FILE: Final = "config.toml"

_log = logger(__name__)
_warned: set[Path] = set()


def read_files(name: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    """The file of this name in each folder, the later ones laid over the earlier ones."""
    found: dict[str, Any] = {}
    for folder in folders:
        found = merge_trees(found, _read(folder / name))
    return found


def merge_trees(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Both trees in one; where both have a value, the one above counts.

    >>> merge_trees({"a": {"x": 1, "y": 1}}, {"a": {"y": 2}})
    {'a': {'x': 1, 'y': 2}}
    """
    merged = dict(base)
    for key, value in override.items():
        under = merged.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = merge_trees(under, value)
        else:
            merged[key] = value
    return merged


def _read(path: Path) -> Mapping[str, Any]:
    try:
        facts = path.stat()
    except OSError:
        return {}
    if not stat.S_ISREG(facts.st_mode):
        return {}
    if path.name == SECRETS_FILE and os.name == "posix" and facts.st_mode & stat.S_IROTH:
        _warn_world_readable(path)
    return _parse(path, (facts.st_mtime_ns, facts.st_size, facts.st_ino))


def _warn_world_readable(path: Path) -> None:
    if path not in _warned:
        _warned.add(path)
        _log.warning("%s can be read by everybody on this machine: chmod 600 %s", path, path)


@lru_cache(maxsize=32)
def _parse(path: Path, version: tuple[int, ...]) -> Mapping[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path} is not valid TOML: {error}", hint="correct the file", path=str(path)
        ) from error
