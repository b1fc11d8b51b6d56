from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fsspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PackageDamaged
from penstock.package.objects import ObjectFiles
from penstock.package.storage import FileStorage, absolute, as_json

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet=st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abö\n"), inner),
)


def test_what_is_put_is_read_back(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    store.put("deep/er/a.json", b'{"a": 1}')
    store.put("deep/er/a.json", b'{"a": 2}')

    assert store.read("deep/er/a.json") == b'{"a": 2}'
    assert store.read_json("deep/er/a.json") == {"a": 2}
    assert store.exists("deep/er/a.json")
    assert store.exists("deep")


def test_what_is_not_there_is_none(tmp_path: Path) -> None:
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


def test_what_must_be_absent_is_not_overwritten(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    took = [store.put_if_absent("slots/1", content) for content in (b"first", b"second")]

    assert took == [True, False]
    assert store.read("slots/1") == b"first"


def test_of_many_who_race_for_a_file_exactly_one_gets_it(tmp_path: Path) -> None:
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


def test_names_see_what_another_process_wrote_since(tmp_path: Path) -> None:
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


def test_deleting_nothing_in_particular_deletes_the_whole_store(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path / "root"))
    store.put("a", b"1")

    store.delete("")

    assert list(tmp_path.iterdir()) == []


def test_a_data_file_is_complete_when_closed(tmp_path: Path) -> None:
    store = FileStorage(str(tmp_path))

    with store.open_new("data/part") as stream:
        stream.write(b"rows")

    assert store.read("data/part") == b"rows"


def test_files_can_be_read_by_whom_the_umask_allows(tmp_path: Path) -> None:
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


def test_a_store_without_a_disk_does_the_same(tmp_path: Path) -> None:
    store = FileStorage(f"memory://{tmp_path.name}")

    took = [store.put_if_absent("folder/a", content) for content in (b"1", b"2")]
    store.put("folder/b", b"3")

    assert took == [True, False]
    assert (store.names("folder"), store.read("folder/a")) == (["a", "b"], b"1")
    assert not store.is_local
    store.delete("")
    assert store.names("folder") == []


class Late:
    """A store that knows a name is taken before it shows what stands there."""

    def __init__(self, files: AbstractFileSystem) -> None:
        self._files, self.looks = files, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def exists(self, path: str) -> bool:
        self.looks += 1
        return self.looks > 2 and bool(self._files.exists(path))


@pytest.mark.parametrize(("sent", "is_ours"), [(b"1", True), (b"2", False)])
def test_a_name_that_is_taken_is_waited_for(tmp_path: Path, sent: bytes, is_ours: bool) -> None:
    store = Late(fsspec.filesystem("memory"))
    store.pipe_file(f"/{tmp_path.name}/a", b"1")

    assert ObjectFiles(store).put_if_absent(f"/{tmp_path.name}/a", sent) is is_ours
    assert store.looks == 3


@given(document=documents.filter(lambda document: document is not None))
def test_json_of_control_files_reads_back_and_keeps_the_order_of_keys(
    tmp_path_factory: pytest.TempPathFactory, document: object
) -> None:
    store = FileStorage(str(tmp_path_factory.getbasetemp() / "json"))

    store.put("document", as_json(document))

    read = store.read_json("document")
    assert read == document
    assert as_json(read) == as_json(document)


def test_a_local_location_is_made_absolute_and_an_address_is_left_alone() -> None:
    assert absolute("lake") == str(Path.cwd() / "lake")
    assert absolute("s3://bucket/lake") == "s3://bucket/lake"
