"""Files that functions read themselves: file systems, patterns and rows of files."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import fsspec
import pytest

import penstock
from penstock.config import (
    AzureCredentials,
    FileSystemCredentials,
    GcpServiceAccountCredentials,
    SFTPCredentials,
    in_scope,
)
from penstock.errors import MissingExtra, UsageError
from penstock.sources import filesystem as files_module
from penstock.sources import sql_database
from penstock.sources.filesystem import (
    FileItem,
    FileItemDict,
    FilesystemConfigurationResource,
    fsspec_filesystem,
    glob_files,
)
from penstock.sources.filesystem.helpers import fsspec_from_resource
from penstock.sources.filesystem.location import FolderLocation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOGINS: list[tuple[FileSystemCredentials, str, dict[str, Any]]] = [
    (
        AzureCredentials(azure_storage_account_name="shop", azure_storage_sas_token="secret-6"),
        "abfs://data/x",
        {"account_name": "shop", "sas_token": "secret-6"},
    ),
    (
        SFTPCredentials(sftp_username="ada", sftp_password="secret-5"),
        "sftp://files.test/x",
        {"username": "ada", "password": "secret-5", "port": 22},
    ),
    (
        GcpServiceAccountCredentials(project_id="shop", private_key="secret-4", client_email="a@b"),
        "gs://data/x",
        {"project": "shop"},
    ),
]


def item_of(path: Path) -> FileItem:
    return {
        "file_url": path.as_uri(),
        "file_name": path.name,
        "relative_path": path.name,
        "mime_type": "text/csv",
        "modification_date": datetime(2026, 1, 1, tzinfo=UTC),
    }


def test_files_are_found_by_a_pattern_and_opened(tmp_path: Path) -> None:
    (tmp_path / "2026").mkdir()
    (tmp_path / "2026" / "a b.csv").write_text("id\n1\n")
    (tmp_path / "2026" / "c.txt").write_text("")
    file_system, _ = fsspec_filesystem("file")

    found = [FileItemDict(item, file_system) for item in glob_files(file_system, str(tmp_path), "**/*.csv")]

    assert [item["relative_path"] for item in found] == ["2026/a b.csv"]
    assert found[0].read_bytes() == b"id\n1\n"
    with found[0].open("r") as stream:
        assert stream.read() == "id\n1\n"
    assert found[0].local_file_path == str(tmp_path / "2026" / "a b.csv")


def test_a_row_without_a_file_system_opens_the_file_of_its_url(tmp_path: Path) -> None:
    path = tmp_path / "a b.csv"
    path.write_text("id")

    item = FileItemDict(item_of(path))

    assert item.read_bytes() == b"id"
    assert item.fsspec.protocol == ("file", "local")


def test_files_of_another_file_system_are_listed() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/shop/a.csv", b"id")

    assert [item["file_name"] for item in glob_files(memory, "memory://shop", "*.csv")] == ["a.csv"]
    memory.rm("/shop", recursive=True)


@pytest.mark.parametrize(("credentials", "url", "expected"), LOGINS, ids=lambda value: type(value).__name__)
def test_credentials_become_arguments_of_the_file_system(
    credentials: Any, url: str, expected: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    used: dict[str, Any] = {}

    def record_arguments(root: str, **options: Any) -> Any:
        used.update(options)
        raise ImportError("the library of the cloud is not installed")

    monkeypatch.setattr("fsspec.core.url_to_fs", record_arguments)
    with pytest.raises(MissingExtra):
        FolderLocation.of(url, credentials)

    assert expected.items() <= used.items()


def test_the_settings_of_a_listing_resolve(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCES__BUCKET_URL", str(tmp_path))

    @penstock.resource(spec=FilesystemConfigurationResource)
    def listing(
        bucket_url: str = penstock.secrets.value, file_glob: str | None = None, files_per_page: int = 1
    ) -> Iterator[Any]:
        yield {"url": bucket_url, "glob": file_glob}

    with in_scope():
        assert list(listing()) == [{"url": str(tmp_path), "glob": "*"}]


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("TableLoader", "query="),
        ("engine_from_credentials", "sql_table"),
        ("remove_nullability_adapter", "apply_hints"),
    ],
)
def test_names_of_sqlalchemy_are_refused_with_what_replaces_them(name: str, replacement: str) -> None:
    with pytest.raises(UsageError, match=name) as failure:
        getattr(sql_database, name)

    assert replacement in str(failure.value.hint)
    for module in (sql_database, files_module):
        assert not hasattr(module, "a_name_that_never_was")


def test_the_file_system_of_a_listing_has_the_credentials_of_the_listing(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    listing = penstock.sources.filesystem.filesystem("memory://data", credentials=memory).with_name("orders")

    assert fsspec_from_resource(listing) is memory
    with pytest.raises(UsageError, match="rows is not a listing of files"):
        fsspec_from_resource(penstock.resource([{"path": str(tmp_path)}], name="rows"))
