"""The public `penstock.config`: reading settings by dotted path."""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.config.settings import read_settings


class ConfigAccessor:
    """Reads a setting by its dotted path, afresh each time.

    >>> import os; os.environ["DESTINATION__DELTA__BUCKET_URL"] = "s3://lake"
    >>> ConfigAccessor()["destination.delta.bucket_url"]
    's3://lake'
    >>> ConfigAccessor().get("destination.delta.nothing") is None
    True
    >>> del os.environ["DESTINATION__DELTA__BUCKET_URL"]
    """

    value: ClassVar[Any] = None
    """Stands for a value that is looked up in the settings where it is the default of an argument."""

    def __getitem__(self, path: str) -> Any:
        found = self.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def get(self, path: str, default: Any = None) -> Any:
        """The setting at `path`, or `default` where none is set."""
        *sections, key = path.split(".")
        found = read_settings().get(*sections, key=key)
        return default if found is None else found

    def __repr__(self) -> str:
        return "penstock.config"
