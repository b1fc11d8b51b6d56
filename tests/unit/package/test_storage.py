from __future__ import annotations

import asyncio
import errno
import io
import os
import stat
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import fsspec
import pytest
from fsspec.asyn import AsyncFileSystem
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PackageDamaged, StorageNotReachable
from penstock.package.local_files import LocalFiles
from penstock.package.object_files import ObjectFiles, translate_store_errors
from penstock.package.storage import FileStorage, absolute_path, as_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from fsspec import AbstractFileSystem

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abö\n"), inner),
)


def test_a_written_file_is_read_back(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    store.put("deep/er/a.json", b'{"a": 1}')
    store.put("deep/er/a.json", b'{"a": 2}')

    assert store.read("deep/er/a.json") == b'{"a": 2}'
    assert store.read_json("deep/er/a.json") == {"a": 2}
    assert store.exists("deep/er/a.json")
    assert store.exists("deep")


def test_a_missing_file_is_none(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path / "nowhere"))

    assert store.read("a") is None
    assert store.read_json("a") is None
    assert store.names("") == []
    assert not store.exists("a")


def test_a_file_of_broken_json_is_named(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))
    store.put("a.json", b'{"a": ')

    with pytest.raises(PackageDamaged) as caught:
        store.read_json("a.json")

    assert vars(caught.value)["path"] == f"{tmp_path}/a.json"


def test_put_if_absent_does_not_overwrite(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    took = [store.put_if_absent("slots/1", content) for content in (b"first", b"second")]

    assert took == [True, False]
    assert store.read("slots/1") == b"first"


def test_of_concurrent_creators_exactly_one_succeeds(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as racers:
        for attempt in range(8):
            name = f"slots/{attempt}"
            took = list(
                racers.map(
                    lambda n, at=name: FileStorage(str(tmp_path)).put_if_absent(at, b"%d" % n), range(16)
                )
            )

            assert took.count(True) == 1
            assert FileStorage(str(tmp_path)).read(name) == b"%d" % took.index(True)

    assert sorted(path.name for path in (tmp_path / "slots").iterdir()) == [str(n) for n in range(8)]


def test_names_are_sorted_and_hide_files_that_are_being_written(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))
    for name in ("b", "a/inner", "c", "10", "9"):
        store.put(name, b"")
    (tmp_path / ".tmp-half").write_bytes(b"half")

    assert store.names("") == ["10", "9", "a", "b", "c"]
    assert store.names("a") == ["inner"]


def test_names_include_files_that_another_process_has_written_since(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))
    before = store.names("")

    (tmp_path / "new").write_bytes(b"")

    assert (before, store.names("")) == ([], ["new"])


def test_deleting_twice_is_no_error(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path / "root"))
    store.put("folder/a", b"1")
    store.put("folder/b/c", b"1")

    for _ in range(2):
        store.delete("folder")

    assert not store.exists("folder")
    assert store.exists("")


def test_deleting_the_empty_name_deletes_the_whole_storage(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path / "root"))
    store.put("a", b"1")

    store.delete("")

    assert list(tmp_path.iterdir()) == []


def test_a_data_file_is_complete_when_closed(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    with store.open_new("data/part") as stream:
        stream.write(b"rows")

    assert store.read("data/part") == b"rows"


def test_files_have_the_permissions_of_the_umask(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))
    before = os.umask(0o027)
    try:
        store.put("a", b"")
        store.put_if_absent("b", b"")
    finally:
        os.umask(before)

    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in "ab"} == {0o640}


@pytest.mark.parametrize(
    ("root", "address"),
    [
        ("lake", "lake/a"),
        ("lake/", "lake/a"),
        ("memory://lake", "memory://lake/a"),
        ("file:///x", "file:///x/a"),
    ],
)
def test_addresses_keep_the_form_of_the_root(root: str, address: str) -> None:
    assert FileStorage(root).path("a") == address


def test_a_memory_storage_behaves_the_same(tmp_path: Path) -> None:
    store = FileStorage(f"memory://{tmp_path.name}")

    took = [store.put_if_absent("folder/a", content) for content in (b"1", b"2")]
    store.put("folder/b", b"3")

    assert took == [True, False]
    assert (store.names("folder"), store.read("folder/a")) == (["a", "b"], b"1")
    assert not store.is_local
    store.delete("")
    assert store.names("folder") == []


class Late:
    """A store that refuses a taken name before it shows the object."""

    def __init__(self, files: AbstractFileSystem) -> None:
        self._files, self.looks = files, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def cat_file(self, path: str) -> bytes:
        self.looks += 1
        if self.looks <= 2:
            raise FileNotFoundError(path)
        content: bytes = self._files.cat_file(path)
        return content


@pytest.mark.parametrize(("sent", "is_ours"), [(b"1", True), (b"2", False)])
def test_a_taken_name_is_polled_until_its_object_is_visible(
    tmp_path: Path, sent: bytes, is_ours: bool
) -> None:
    store = Late(fsspec.filesystem("memory"))
    store.pipe_file(f"/{tmp_path.name}/a", b"1")

    assert ObjectFiles(store).put_if_absent(f"/{tmp_path.name}/a", sent) is is_ours
    assert store.looks == 3


class Lying:
    """A store that reports a wrong result a number of times."""

    def __init__(self, name: str, *, times: int) -> None:
        self.files, self._lies = fsspec.filesystem("memory"), Counter({name: times})

    def __getattr__(self, name: str) -> Any:
        return getattr(self.files, name)

    def _lies_about(self, name: str) -> bool:
        self._lies[name] -= 1
        return self._lies[name] >= 0

    def pipe_file(self, path: str, content: bytes, **how: Any) -> None:
        if self._lies_about("taken"):
            raise FileExistsError(path)
        self.files.pipe_file(path, content, **how)

    def rm(self, path: str, *, recursive: bool) -> None:
        if not self._lies_about("deleted"):
            self.files.rm(path, recursive=recursive)


def test_a_taken_name_without_an_object_is_retried(tmp_path: Path) -> None:
    store, path = Lying("taken", times=1), f"/{tmp_path.name}/a"

    assert ObjectFiles(store).put_if_absent(path, b"1")
    assert store.files.cat_file(path) == b"1"


def test_a_permanently_taken_name_without_an_object_is_not_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.package.object_files.time.sleep", lambda _: None)
    files = ObjectFiles(Lying("taken", times=99))

    with pytest.raises(StorageNotReachable, match="shows no object"):
        FileStorage(f"memory://{tmp_path.name}", files=files).put_if_absent("a", b"1")


def test_an_object_that_survives_a_delete_is_deleted_again(tmp_path: Path) -> None:
    store, folder = Lying("deleted", times=2), f"/{tmp_path.name}/folder"
    store.files.pipe_file(f"{folder}/a", b"1")

    ObjectFiles(store).delete(folder)

    assert not store.files.exists(folder)


def test_an_object_that_cannot_be_deleted_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.package.object_files.time.sleep", lambda _: None)
    store, path = Lying("deleted", times=99), f"/{tmp_path.name}/a"
    store.files.pipe_file(path, b"1")

    with pytest.raises(StorageNotReachable, match="still exists"):
        ObjectFiles(store).delete(path)


class Refused(Exception):
    """An error with a response, as botocore raises it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"An error occurred ({status}) when calling the PutObject operation")
        self.response = {"ResponseMetadata": {"HTTPStatusCode": status}}


@pytest.mark.parametrize(
    ("status", "passes"), [(500, True), (503, True), (429, True), (409, True), (501, False), (400, False)]
)
def test_a_transient_reply_is_retryable(status: int, passes: bool) -> None:
    error = OSError(5, "what a client library makes of it")
    error.__cause__ = Refused(status)

    with (
        pytest.raises(StorageNotReachable if passes else OSError) as caught,
        translate_store_errors("lake/a"),
    ):
        raise error

    assert isinstance(caught.value, StorageNotReachable) is passes
    assert not passes or "PutObject" in caught.value.message  # type: ignore[attr-defined]


def test_a_put_without_a_reply_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[str] = []

    class Silent(AsyncFileSystem):  # type: ignore[misc]
        cachable = False

        async def _pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **_: Any) -> None:
            await asyncio.sleep(60)
            answered.append(path)

    monkeypatch.setattr("penstock.package.object_files.PUT_TIMEOUT", 0.1)

    with pytest.raises(StorageNotReachable):
        ObjectFiles(Silent()).put("lake/a", b"1")

    assert not answered


def test_an_open_file_reports_a_lost_connection(tmp_path: Path) -> None:
    class Gone(io.BytesIO):
        def close(self) -> None:
            if not self.closed:
                super().close()
                raise RuntimeError("Connection was closed before we received a valid response")

    class Going(ObjectFiles):
        def open_new(self, path: str) -> IO[bytes]:
            return Gone()

    store = FileStorage(f"memory://{tmp_path.name}", files=Going(None))

    with pytest.raises(StorageNotReachable) as caught, store.open_new("data/part") as stream:
        stream.write(b"rows")

    assert vars(caught.value)["path"] == f"memory://{tmp_path.name}/data/part"


@given(document=documents.filter(lambda document: document is not None))
def test_json_of_control_files_round_trips_in_the_order_of_keys(
    tmp_path_factory: pytest.TempPathFactory, document: object
) -> None:
    store = FileStorage(str(tmp_path_factory.getbasetemp() / "json"))

    store.put("document", as_json(document))

    read = store.read_json("document")
    assert read == document
    assert as_json(read) == as_json(document)


def test_a_local_path_is_made_absolute_and_an_address_is_unchanged() -> None:
    assert absolute_path("lake") == str(Path.cwd() / "lake")
    assert absolute_path("s3://bucket/lake") == "s3://bucket/lake"


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and folders that were synced, in order."""
    paths: list[str] = []
    fsync = os.fsync

    def record(handle: int) -> None:
        paths.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    return paths


def write_data(path: str) -> None:
    with LocalFiles().open_new(path) as stream:
        stream.write(b"rows")


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the names of open files are read there")
@pytest.mark.parametrize(
    ("change", "folders"),
    [
        (lambda at: LocalFiles().put(f"{at}/a", b"1"), [""]),
        (lambda at: LocalFiles().put(f"{at}/new/er/a", b"1"), ["", "/new", "/new/er"]),
        (lambda at: LocalFiles().put(f"{at}/a", b"1", durable=False), []),
        (lambda at: LocalFiles().put_if_absent(f"{at}/a", b"1"), [""]),
        (lambda at: LocalFiles().move(f"{at}/from/old", f"{at}/to/a"), ["", "/to"]),
        (lambda at: LocalFiles().copy(f"{at}/from/old", f"{at}/a"), [""]),
        (lambda at: LocalFiles().delete(f"{at}/from/old"), ["/from"]),
        (lambda at: LocalFiles().delete(f"{at}/from"), [""]),
        (lambda at: write_data(f"{at}/data/part"), ["", "/data"]),
    ],
    ids=[
        "put",
        "put in new folders",
        "put that only saves work",
        "put if absent",
        "move",
        "copy",
        "delete",
        "delete folder",
        "data file",
    ],
)
def test_names_are_durable_after_a_power_cut(
    tmp_path: Path, synced: list[str], change: Callable[[str], Any], folders: list[str]
) -> None:
    """A file's name is part of its folder: the folder is synced too, after its name has changed."""
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "old").write_bytes(b"0")

    change(str(tmp_path))

    assert [path for path in synced if Path(path).is_dir()] == [f"{tmp_path}{folder}" for folder in folders]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the names of open files are read there")
def test_folders_of_a_group_of_files_are_synced_once_before_a_later_file(
    tmp_path: Path, synced: list[str]
) -> None:
    storage = FileStorage(str(tmp_path))

    with storage.folders_synced_at_end():
        for name in ("jobs/a", "jobs/b", "data/1/part", "data/2/part"):
            storage.put(name, b"1")
        assert len(synced) == 4, "content is synced at once"
        assert not any(Path(path).is_dir() for path in synced)
    folders = [path.removeprefix(str(tmp_path)) for path in synced[4:]]
    assert sorted(folders) == ["", "/data", "/data/1", "/data/2", "/jobs"]

    storage.put("marker", b"")
    assert synced[9:] == [synced[9], str(tmp_path)]
    assert ".tmp-" in synced[9]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the names of open files are read there")
def test_folders_of_a_group_that_fails_are_synced_too(tmp_path: Path, synced: list[str]) -> None:
    storage = FileStorage(str(tmp_path))

    def write_group() -> None:
        with storage.folders_synced_at_end():
            storage.put("a", b"1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_group()

    assert synced[1:] == [str(tmp_path)]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the names of open files are read there")
def test_the_content_of_a_file_is_synced_before_it_has_its_name(tmp_path: Path, synced: list[str]) -> None:
    LocalFiles().put(f"{tmp_path}/a", b"1")
    LocalFiles().put_if_absent(f"{tmp_path}/b", b"1")
    LocalFiles().copy(f"{tmp_path}/b", f"{tmp_path}/c")
    write_data(f"{tmp_path}/d")

    content, folders = synced[::2], synced[1::2]
    assert [path.partition(".tmp-")[0] for path in content[:3]] == [f"{tmp_path}/"] * 3
    assert content[3] == f"{tmp_path}/d", "a data file counts once a marker is written"
    assert folders == [str(tmp_path)] * 4


def test_a_file_on_a_disk_that_fails_is_not_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slot that cannot be looked up must not look free."""

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EIO, "the disk fails")

    monkeypatch.setattr(os, "stat", fail)

    with pytest.raises(OSError, match="the disk fails"):
        LocalFiles().has_file(f"{tmp_path}/a")


@pytest.mark.parametrize("call", ["link", "utime"])
def test_a_file_that_cannot_be_linked_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError("the file of another user")

    (tmp_path / "a").write_bytes(b"rows")
    monkeypatch.setattr(os, call, refuse)

    LocalFiles().copy(f"{tmp_path}/a", f"{tmp_path}/b")

    assert (tmp_path / "b").read_bytes() == b"rows"
    assert not (tmp_path / "a").samefile(tmp_path / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_link_is_new_for_a_vacuum_that_deletes_old_files(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"rows")
    os.utime(tmp_path / "a", (1, 1))

    LocalFiles().copy(f"{tmp_path}/a", f"{tmp_path}/b")

    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert (tmp_path / "b").stat().st_mtime > 1
