"""The local folder of a pipeline: copies of state and schemas, and packages that are stored nowhere else."""

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
_EXTRACTED_FOLDER, _LOADS_FOLDER = "extracted", "load"
_NUMBERS = frozenset(("slots", "outcomes"))
"""The folders of packages with the numbers of loads and what was decided about them."""
_DAMAGED_FILE_HINT = (
    "repair the file or delete it; state and schemas are restored from the destination, but "
    "local.json and the folder unsent exist on this machine only"
)
_DAMAGED_TARGET_HINT = (
    "pass --destination and --dataset-name, with --location and --staging where the pipeline has them (in "
    "Python the arguments of attach()); or delete the file, and the next run writes it again"
)


def check_name(name: str, error: type[InvalidPipelineName | InvalidDatasetName] = InvalidPipelineName) -> str:
    """Refuse a name that cannot be a folder on every system, or that leads out of one."""
    if not _NAME_PATTERN.fullmatch(name) or name.endswith("."):
        raise error(name=name, reason="it is not a plain folder name")
    if name.split(".", maxsplit=1)[0].lower() in _RESERVED:
        raise error(name=name, reason="some systems reserve this name for a device")
    if len(name) > _MAX_NAME_LENGTH:
        raise error(name=name, reason=f"it is longer than {_MAX_NAME_LENGTH} characters")
    return name


@dataclass(frozen=True, slots=True)
class WorkDir:
    """The copies of state and schemas, and the values of this machine."""

    path: Path

    def save(self, *, state: Mapping[str, Any], schema: Mapping[str, Any]) -> None:
        """Replace the copies; each file atomically."""
        self.save_schema(schema)
        self.save_state(state)

    def save_schema(self, schema: Mapping[str, Any]) -> None:
        """Replace the copy of one schema."""
        write_json(self.path / "schemas" / f"{schema['name']}.schema.json", schema)

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Replace the copy of the state."""
        write_json(self.path / "state.json", state)

    def state(self) -> dict[str, Any] | None:
        """Return the state after the last load from this machine; None before it."""
        return _read_json(self.path / "state.json")

    def local_values(self) -> dict[str, Any]:
        """Return the values of this machine, which are never loaded."""
        return _read_json(self.path / "local.json") or {}

    def save_local_values(self, values: Mapping[str, Any]) -> None:
        """Replace the values of this machine."""
        write_json(self.path / "local.json", values)

    def last_target(self) -> dict[str, Any]:
        """Return the target of the last run from this machine: see `LastTarget`."""
        return _read_json(self.path / "origin.json", hint=_DAMAGED_TARGET_HINT) or {}

    def save_last_target(self, document: Mapping[str, Any]) -> None:
        """Replace the target of the last run."""
        write_json(self.path / "origin.json", document)

    def local_changes(self, dataset_name: str) -> dict[str, Any] | None:
        """Return the saved changes of a dataset's state, with the hash of the state they are based on."""
        return _read_json(self._local_changes_path(dataset_name))

    def save_local_changes(self, dataset_name: str, changes: Mapping[str, Any] | None) -> None:
        """Replace the saved changes; None deletes them."""
        if changes is None:
            self._local_changes_path(dataset_name).unlink(missing_ok=True)
        else:
            write_json(self._local_changes_path(dataset_name), changes)

    def delete_state(self) -> None:
        """Delete the copies of state and schemas, and the values and changes that only this machine has."""
        for name in ("state.json", "local.json"):
            (self.path / name).unlink(missing_ok=True)
        for name in ("schemas", _LOCAL_CHANGES_FOLDER):
            shutil.rmtree(self.path / name, ignore_errors=True)

    def reset(self) -> None:
        """Delete everything except packages and traces."""
        self.delete_state()
        (self.path / "origin.json").unlink(missing_ok=True)

    def drop(self) -> None:
        """Delete everything, except the numbers that loads from here have used.

        A destination recognizes a repeated commit by its number, so that no other load may have it.
        """
        self.reset()
        for name in ("traces", _EXTRACTED_FOLDER):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for folder in self.load_folders:
            for path in folder.iterdir():
                if path.name not in _NUMBERS:
                    shutil.rmtree(path, ignore_errors=True)
        for folder in (*self.load_folders, self.path / _LOADS_FOLDER, self.path):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    @property
    def extracted_folder(self) -> Path:
        """The folder of packages without a destination, which need not exist."""
        return self.path / _EXTRACTED_FOLDER

    def load_folder(self, dataset_name: str) -> Path:
        """Return the folder of a dataset's packages, for destinations that cannot store them."""
        return self.path / _LOADS_FOLDER / dataset_name

    @property
    def load_folders(self) -> list[Path]:
        """The folders of datasets whose packages are stored here."""
        return sorted(path for path in (self.path / _LOADS_FOLDER).glob("*") if path.is_dir())

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return a schema after the last load from this machine; None before it."""
        return _read_json(self.path / "schemas" / f"{name}.schema.json")

    def _local_changes_path(self, dataset_name: str) -> Path:
        return self.path / _LOCAL_CHANGES_FOLDER / f"{check_name(dataset_name, InvalidDatasetName)}.json"


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file atomically; a failure leaves the old one unchanged."""
    write_text(path, json.dumps(document, indent=2, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """Replace a file atomically; a failure leaves the old one unchanged."""
    new_file = path.with_name(f"{path.name}.new")
    with translate_disk_full(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            new_file.write_text(text, encoding="utf-8")
        except OSError:
            new_file.unlink(missing_ok=True)
            raise
        new_file.replace(path)


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


def _damaged_file_error(path: Path, reason: str, hint: str) -> UsageError:
    return UsageError(f"{path} cannot be read: {reason}", hint=hint, path=str(path))
