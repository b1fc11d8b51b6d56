"""Trust in the put-if-absent of storages."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from penstock.config import AwsCredentials
from penstock.errors import StorageNotReachable, StorageNotTrusted
from penstock.package import FileStorage
from penstock.package.local_files import LocalFiles
from penstock.package.object_files import ObjectFiles
from penstock.package.trust import TRUSTED_PROTOCOLS, known_trust, probed_trust, require_trust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("s3fs")


class System(MemoryFileSystem):  # type: ignore[misc]
    """A store under any protocol."""

    cachable = False

    def __init__(self, protocol: str | tuple[str, ...]) -> None:
        super().__init__()
        self.protocol = protocol


def storage_of(protocol: str | tuple[str, ...], files: Any = None) -> FileStorage:
    storage = FileStorage("memory://trust", files=files)
    storage.file_system = System(protocol)
    return storage


@pytest.mark.parametrize("protocol", ["file", "local", ("gs", "gcs"), "gcs", "abfs", "abfss", "az", "memory"])
def test_a_store_with_atomic_creation_is_trusted_with_a_reason(
    protocol: str | tuple[str, ...],
) -> None:
    found = known_trust(storage_of(protocol))

    assert found.trusted
    assert found.reason in TRUSTED_PROTOCOLS.values()


@pytest.mark.parametrize("protocol", ["ftp", "sftp", "http", "hdfs", "dbfs", "webhdfs", "dropbox", "zip", ""])
def test_an_unknown_store_is_not_trusted(protocol: str) -> None:
    found = known_trust(storage_of(protocol))

    assert not found.trusted
    assert repr(protocol) in found.reason


def test_a_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    for storage in (FileStorage(str(tmp_path)), FileStorage(f"memory://{tmp_path.name}")):
        assert probed_trust(storage).trusted
        assert storage.names("trial") == []
        require_trust(storage)


class Liar(LocalFiles):
    """Says that it made a file that was there, as a store does that overwrites."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.put(path, content)
        return True


class Refuser(LocalFiles):
    """Never creates a file, as if another process always were first."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        return False


class WithoutLinks(LocalFiles):
    """A disk such as that of a camera."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        raise PermissionError(1, "Operation not permitted", path)


class WithoutCreate:
    """A file system of fsspec that knows no mode for new files only."""

    def __init__(self, error: Exception) -> None:
        self._system, self._error = MemoryFileSystem(), error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def pipe_file(self, path: str, content: bytes, mode: str = "overwrite") -> None:
        if mode == "create":
            raise self._error
        self._system.pipe_file(path, content)


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (Liar(), "a trial wrote the same name twice"),
        (Refuser(), "a trial wrote the same name twice"),
        (WithoutLinks(), "a trial failed: .*not permitted"),
        (ObjectFiles(WithoutCreate(NotImplementedError("no create"))), "a trial failed: no create"),
        (ObjectFiles(WithoutCreate(TypeError("unexpected 'mode'"))), "a trial failed: unexpected"),
        (ObjectFiles(WithoutCreate(ValueError("mode"))), "a trial failed: mode"),
    ],
    ids=["liar", "refuser", "no links", "not implemented", "no mode", "bad mode"],
)
def test_a_failed_trial_refutes_the_trust(tmp_path: Path, files: Any, reason: str) -> None:
    storage = FileStorage(str(tmp_path), files=files)

    assert known_trust(storage).trusted
    with pytest.raises(StorageNotTrusted, match=reason) as caught:
        require_trust(storage)
    assert vars(caught.value)["path"] == str(tmp_path)


def test_an_unreachable_store_is_retryable(tmp_path: Path) -> None:
    storage = FileStorage(str(tmp_path), files=ObjectFiles(WithoutCreate(RuntimeError("gone"))))

    with pytest.raises(StorageNotReachable, match="RuntimeError: gone"):
        require_trust(storage)


def test_a_trial_never_makes_an_unknown_store_trusted() -> None:
    storage = storage_of("sftp")

    assert storage.put_if_absent("trial/by hand", b"")
    assert not probed_trust(storage).trusted
    storage.delete("")


# --- S3 and what calls itself so


@contextmanager
def s3_server(name: str | None) -> Iterator[str]:
    """A server that answers every request with its name and nothing else."""

    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_response_only(200)
            if name is not None:
                self.send_header("Server", name)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def s3_storage(endpoint: str | None) -> FileStorage:
    more: dict[str, Any] = {"client_kwargs": {"endpoint_url": endpoint}} if endpoint else {}
    return FileStorage("s3://bucket/lake", key="k", secret="s", skip_instance_cache=True, **more)


@pytest.mark.parametrize("name", ["VERSITYGW", "AmazonS3", "MinIO", None])
def test_an_s3_server_is_not_trusted_by_its_server_header(name: str | None) -> None:
    with s3_server(name) as endpoint:
        found = known_trust(s3_storage(endpoint))

    assert not found.trusted
    assert "127.0.0.1" in found.reason


def test_an_s3_server_is_trusted_when_the_user_declares_its_conditional_writes() -> None:
    declared = AwsCredentials(endpoint_url="http://127.0.0.1:1", conditional_writes=True)
    silent = AwsCredentials(endpoint_url="http://127.0.0.1:1")

    assert known_trust(FileStorage("s3://bucket/lake", credentials=declared)).trusted
    with pytest.raises(StorageNotTrusted) as refused:
        require_trust(FileStorage("s3://bucket/lake", credentials=silent))
    assert "credentials.conditional_writes to true" in refused.value.hint


@pytest.mark.parametrize(
    "endpoint",
    [
        None,
        "https://s3.eu-central-1.amazonaws.com",
        "https://bucket.vpce-1a2b3c4d.s3.us-east-1.vpce.amazonaws.com",
        "https://s3.cn-north-1.amazonaws.com.cn",
    ],
)
def test_amazon_is_trusted_by_its_address(endpoint: str | None) -> None:
    assert known_trust(s3_storage(endpoint)).trusted


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"])
def test_an_endpoint_in_the_environment_is_not_trusted_as_amazon(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_server("MinIO") as endpoint:
        monkeypatch.setenv(variable, endpoint)
        found = known_trust(s3_storage(None))

    assert not found.trusted
    assert "127.0.0.1" in found.reason


@pytest.mark.parametrize("endpoint", ["http://amazonaws.com.evil.invalid:9", "http://notamazonaws.com"])
def test_an_address_similar_to_amazons_is_not_trusted(endpoint: str) -> None:
    assert not known_trust(s3_storage(endpoint)).trusted
