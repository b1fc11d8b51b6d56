"""Listing of S3 keys with empty names, which gateways over a disk do not accept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from penstock.errors import FileNotReadable
from penstock.sources.filesystem.day_window import DayWindow
from penstock.sources.filesystem.globs import Glob
from penstock.sources.filesystem.listing import list_files
from penstock.sources.filesystem.location import FolderLocation


@dataclass(frozen=True, slots=True)
class Bucket:
    """Keys as S3 lists them."""

    keys: tuple[str, ...]

    def call_s3(self, method: str, **asked: str) -> dict[str, Any]:
        assert method == "list_objects_v2"
        prefix, delimiter = asked["Prefix"], asked.get("Delimiter")
        below = [key for key in self.keys if key.startswith(prefix)]
        ends = {key: key.find(delimiter, len(prefix)) if delimiter else -1 for key in below}
        return {
            "CommonPrefixes": [
                {"Prefix": folder}
                for folder in sorted({key[: end + 1] for key, end in ends.items() if end >= 0})
            ],
            "Contents": [{"Key": key, "Size": 2} for key, end in ends.items() if end < 0],
        }


@pytest.mark.parametrize(("root", "prefix"), [("s3://raw", ""), ("s3://raw/odd", "odd/")])
def test_a_listing_stops_at_an_empty_name(root: str, prefix: str) -> None:
    keys = ("/a.csv", "b//c.csv", "b/d.csv")
    bucket = Bucket(tuple(f"{prefix}{key}" for key in keys))
    place = FolderLocation(root=root, fs_root=root.removeprefix("s3://"), file_system=bucket)

    assert [file.path for file in list_files(place, Glob("*/*.csv"))] == ["b/d.csv"]
    assert {file.path for file in list_files(place, Glob("**"))} == set(keys)
    with pytest.raises(FileNotReadable, match="empty"):
        list(list_files(place, Glob("**"), DayWindow(days=1)))
