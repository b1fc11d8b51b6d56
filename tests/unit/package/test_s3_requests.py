"""Each call of a storage on S3 makes as few requests as the protocol needs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import StorageNotReachable
from penstock.package import FileStorage
from penstock.package.object_files import ObjectFiles

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass
class Bucket:
    """A client of S3 with one bucket in memory, whose requests are counted."""

    objects: dict[str, bytes] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    undeleted: int = 0
    """The number of deletes of many objects that delete nothing."""
    page_size: int = 1000
    protocol: tuple[str, ...] = ("s3", "s3a")

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.partition("/")
        return bucket, key, None

    def invalidate_cache(self, path: str | None = None) -> None:
        """Do nothing: nothing is cached."""

    def cat_file(self, path: str) -> bytes:
        self.requests["get_object"] += 1
        return self._object(self.split_path(path)[1])

    def pipe_file(self, path: str, content: bytes, mode: str = "overwrite") -> None:
        self.requests["put_object"] += 1
        key = self.split_path(path)[1]
        if mode == "create" and key in self.objects:
            raise FileExistsError(key)
        self.objects[key] = content

    def call_s3(self, method: str, **request: Any) -> Any:
        self.requests[method] += 1
        return getattr(self, method)(**request)

    def head_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803 - names of S3
        self._object(Key)

    def copy_object(self, *, Bucket: str, Key: str, CopySource: dict[str, str]) -> None:  # noqa: N803
        self.objects[Key] = self._object(CopySource["Key"])

    def delete_object(self, *, Bucket: str, Key: str) -> None:  # noqa: N803
        self.objects.pop(Key, None)

    def delete_objects(self, *, Bucket: str, Delete: dict[str, Any]) -> dict[str, Any]:  # noqa: N803
        if self.undeleted:
            self.undeleted -= 1
            return {"Errors": Delete["Objects"]}
        for item in Delete["Objects"]:
            self.objects.pop(item["Key"], None)
        return {}

    def list_objects_v2(self, **request: Any) -> dict[str, Any]:
        prefix, after = request["Prefix"], request.get("ContinuationToken") or request.get("StartAfter", "")
        entries: dict[str, bool] = {}
        for key in sorted(self.objects):
            if not key.startswith(prefix):
                continue
            folder, is_below, _ = key.removeprefix(prefix).partition("/")
            is_folder = bool(is_below) and request.get("Delimiter") == "/"
            entry = f"{prefix}{folder}/" if is_folder else key
            if entry > after:
                entries[entry] = is_folder
        size = min(request["MaxKeys"], self.page_size)
        page = dict(list(entries.items())[:size])
        modified = datetime(2026, 1, 1, tzinfo=UTC)
        return {
            "Contents": [
                {"Key": key, "Size": len(self.objects[key]), "LastModified": modified}
                for key, is_folder in page.items()
                if not is_folder
            ],
            "CommonPrefixes": [{"Prefix": key} for key, is_folder in page.items() if is_folder],
            "IsTruncated": len(entries) > size,
            "NextContinuationToken": list(page)[-1] if page else "",
        }

    def _object(self, key: str) -> bytes:
        if key not in self.objects:
            raise FileNotFoundError(key)
        return self.objects[key]


def storage_of(bucket: Bucket) -> FileStorage:
    """Return a storage in the folder `lake/shop` of a bucket."""
    files = ObjectFiles(bucket)
    storage = FileStorage("memory://lake/shop", files=files)
    storage.__dict__["_base"] = "lake/shop"
    return storage


FILES = {"jobs/a": b"{}", "jobs/ab": b"", "slots/1": b"theirs", "folder/1": b"1", "folder/2/3": b"3"}
CALLS: dict[str, tuple[Callable[[FileStorage], Any], Any, dict[str, int]]] = {
    "read": (lambda storage: storage.read("slots/1"), b"theirs", {"get_object": 1}),
    "read nothing": (lambda storage: storage.read("slots/2"), None, {"get_object": 1}),
    "has file": (lambda storage: storage.has_file("jobs/a"), True, {"head_object": 1}),
    "has no file": (lambda storage: storage.has_file("jobs/b"), False, {"head_object": 1}),
    "exists": (lambda storage: storage.exists("folder"), True, {"head_object": 1, "list_objects_v2": 1}),
    "put if absent": (lambda storage: storage.put_if_absent("slots/2", b"1"), True, {"put_object": 1}),
    "put if absent, taken": (
        lambda storage: storage.put_if_absent("slots/1", b"1"),
        False,
        {"put_object": 1, "get_object": 1},
    ),
    "move": (lambda storage: storage.move("jobs/a", "done/a"), True, {"copy_object": 1, "delete_object": 1}),
    "move nothing": (lambda storage: storage.move("jobs/b", "done/b"), False, {"copy_object": 1}),
    "delete file": (lambda storage: storage.delete_file("jobs/a"), None, {"delete_object": 1}),
    "delete": (
        lambda storage: storage.delete("folder"),
        None,
        {"list_objects_v2": 2, "delete_objects": 1},
    ),
    "delete a single one": (
        lambda storage: storage.delete("jobs/a"),
        None,
        {"list_objects_v2": 1, "delete_object": 1},
    ),
    "names": (lambda storage: storage.names("folder"), ["1", "2"], {"list_objects_v2": 1}),
    "names of nothing": (lambda storage: storage.names("nothing"), [], {"list_objects_v2": 1}),
    "entries": (
        lambda storage: [(entry.name, entry.size, entry.is_folder) for entry in storage.entries("folder")],
        [("1", 1, False), ("2", 0, True)],
        {"list_objects_v2": 1},
    ),
    "tree": (lambda storage: storage.tree("folder"), ["folder/1", "folder/2/3"], {"list_objects_v2": 1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_makes_as_few_requests_as_it_needs(name: str) -> None:
    bucket = Bucket({f"shop/{file}": content for file, content in FILES.items()})
    act, answer, requests = CALLS[name]

    assert act(storage_of(bucket)) == answer
    assert bucket.requests == requests


def test_a_deleted_folder_leaves_its_neighbours() -> None:
    bucket = Bucket({f"shop/{file}": content for file, content in FILES.items()})

    storage_of(bucket).delete("jobs/a")
    storage_of(bucket).delete("folder")

    assert sorted(bucket.objects) == ["shop/jobs/ab", "shop/slots/1"]


def test_objects_that_the_store_did_not_delete_are_deleted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.package.object_files.time.sleep", lambda _: None)
    bucket = Bucket({"shop/folder/1": b"1"}, undeleted=2)

    storage_of(bucket).delete("folder")

    assert not bucket.objects
    bucket = Bucket({"shop/folder/1": b"1"}, undeleted=99)
    with pytest.raises(StorageNotReachable, match="still exists"):
        storage_of(bucket).delete("folder")


@pytest.mark.parametrize("page_size", [1, 2, 1000])
def test_listings_of_several_pages_are_complete(page_size: int) -> None:
    names = [f"{number:04}" for number in range(7)]
    bucket = Bucket({f"shop/folder/{name}": b"1" for name in names}, page_size=page_size)
    storage = storage_of(bucket)

    assert storage.names("folder") == names
    assert [entry.name for entry in storage.entries("folder")] == names
    assert storage.tree("folder") == [f"folder/{name}" for name in names]
    assert storage.names("folder", after="0003", limit=2) == ["0004", "0005"]
    storage.delete("folder")
    assert not bucket.objects
