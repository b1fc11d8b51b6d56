"""The local folder of a pipeline: copies of what the destination knows. Losing it loses no data."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.errors import InvalidDatasetName, InvalidPipelineName, UsageError, translate_disk_full

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_NAME_PATTERN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_RESERVED = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)))
)
_MAX_NAME_LENGTH = 128
_LOCAL_CHANGES_FOLDER = "unsent"
_DAMAGED_FILE_HINT = (
    "mend the file or delete it; state and schemas are taken from the destination again, and "
    "what stands in local.json and below unsent is known to this machine alone"
)
_DAMAGED_TARGET_HINT = (
    "pass --destination and --dataset-name, with --location and --staging where the pipeline has them (in "
    "Python the arguments of attach()); or delete the file, and the next run writes it anew"
)


def check_name(name: str, error: type[InvalidPipelineName | InvalidDatasetName] = InvalidPipelineName) -> str:
    """Refuse a name that cannot be a folder on every system, or that leads out of one."""
    if not _NAME_PATTERN.fullmatch(name) or name.endswith("."):
        raise error(name=name, reason="it is not a plain folder name")
    if name.split(".", maxsplit=1)[0].lower() in _RESERVED:
        raise error(name=name, reason="some systems keep this name for a device")
    if len(name) > _MAX_NAME_LENGTH:
        raise error(name=name, reason=f"it is longer than {_MAX_NAME_LENGTH} characters")
    return name


@dataclass(frozen=True, slots=True)
class WorkDir:
    """State and schemas as they were after the last load."""

    path: Path

    def save(self, *, state: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
        """Replace the copies; each file is written whole."""
        self.save_schema(schema)
        self.save_state(state)

    def save_schema(self, schema: Mapping[str, Any]) -> None:
        """Replace the copy of one schema."""
        write_json(self.path / "schemas" / f"{schema['name']}.schema.json", schema)

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Replace the copy of the state."""
        write_json(self.path / "state.json", state)

    def state(self) -> dict[str, Any] | None:
        """The state as it was after the last load from this machine."""
        return _read_json(self.path / "state.json")

    def local_values(self) -> dict[str, Any]:
        """What this machine alone remembers; no load carries it anywhere."""
        return _read_json(self.path / "local.json") or {}

    def save_local_values(self, values: Mapping[str, Any]) -> None:
        """Replace what this machine remembers."""
        write_json(self.path / "local.json", values)

    def last_target(self) -> dict[str, Any]:
        """Where the last run from this machine went: see `Origin`."""
        return _read_json(self.path / "origin.json", hint=_DAMAGED_TARGET_HINT) or {}

    def save_last_target(self, document: Mapping[str, Any]) -> None:
        """Replace the note of where runs go."""
        write_json(self.path / "origin.json", document)

    def local_changes(self, dataset_name: str) -> dict[str, Any] | None:
        """Changes of a dataset's state that wait for the next package: what they are, and of which state."""
        return _read_json(self._local_changes_path(dataset_name))

    def save_local_changes(self, dataset_name: str, changes: Mapping[str, Any] | None) -> None:
        """Replace the changes that wait; None lets them go."""
        if changes is None:
            self._local_changes_path(dataset_name).unlink(missing_ok=True)
        else:
            write_json(self._local_changes_path(dataset_name), changes)

    def delete_copies(self) -> None:
        """Let state and schemas go. What this machine alone knows stays: nobody could give it back."""
        (self.path / "state.json").unlink(missing_ok=True)
        shutil.rmtree(self.path / "schemas", ignore_errors=True)

    def reset(self) -> None:
        """Let all copies go, and what this machine alone remembers. Packages and traces stay."""
        self.delete_copies()
        for name in ("local.json", "origin.json"):
            (self.path / name).unlink(missing_ok=True)
        shutil.rmtree(self.path / _LOCAL_CHANGES_FOLDER, ignore_errors=True)

    def drop(self) -> None:
        """Let everything go but packages: they are data."""
        self.reset()
        shutil.rmtree(self.path / "traces", ignore_errors=True)
        if self.path.is_dir() and not any(self.path.iterdir()):
            self.path.rmdir()

    def schema(self, name: str) -> dict[str, Any] | None:
        """A schema as it was after the last load from this machine."""
        return _read_json(self.path / "schemas" / f"{name}.schema.json")

    def _local_changes_path(self, dataset_name: str) -> Path:
        return self.path / _LOCAL_CHANGES_FOLDER / f"{check_name(dataset_name, InvalidDatasetName)}.json"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write a file whole, or leave the one that is there."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """Write a file whole, or leave the one that is there."""
    beside = path.with_name(f"{path.name}.new")
    with translate_disk_full(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_text(text, encoding="utf-8")
        except OSError:
            beside.unlink(missing_ok=True)
            raise
        beside.replace(path)


def _read_json(path: Path, *, hint: str = _DAMAGED_FILE_HINT) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _damaged_file_error(path, str(error), hint) from error
    if not isinstance(document, dict):
        raise _damaged_file_error(path, "it is no JSON object", hint)
    return document


def _damaged_file_error(path: Path, why: str, hint: str) -> UsageError:
    return UsageError(f"{path} cannot be read: {why}", hint=hint, path=str(path))
