"""Which storages may decide a load: what the table says, and how a trial lowers it."""

from __future__ import annotations

import errno
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import StorageNotReachable, StorageNotTrusted
from penstock.package.local import LocalFiles
from penstock.package.storage import FileStorage
from penstock.package.trust import TRUSTED, known_trust, require_trust, tried_trust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Server:
    """A real HTTP server that answers every request alike and keeps what it was asked."""

    def __init__(self, name: str, status: int = 200) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Answers(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                asked.append(f"HEAD {self.path}")
                self.send_response_only(status)
                if name:
                    self.send_header("Server", name)
                self.send_header("Content-Length", "0")
                self.send_header("Connection", "close")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    found = Server(**request.param)
    yield found
    found.close()


def s3(endpoint: str | None, **options: Any) -> FileStorage:
    return FileStorage(
        "s3://bucket/packages",
        key="k",
        secret="s",
        endpoint_url=endpoint,
        config_kwargs={"retries": {"max_attempts": 1}, "connect_timeout": 2, "read_timeout": 2},
        skip_instance_cache=True,
        **options,
    )


class CreatesTwice(LocalFiles):
    """Says that it made the file, whoever asks."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        self.put(path, content)
        return True


class NeverCreates(LocalFiles):
    """Says that it is there already, whoever asks."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        return False


class Raises(LocalFiles):
    """Fails before or after the file is there."""

    def __init__(self, error: Exception, *, leaves: bool = False) -> None:
        self._error, self._leaves = error, leaves

    def put_if_absent(self, path: str, content: bytes) -> bool:
        if self._leaves:
            self.put(path, content)
        raise self._error


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path != folder / "packages"]


@pytest.mark.parametrize("address", ["{folder}", "file://{folder}", "memory://{name}"])
def test_disks_and_memory_are_trusted_and_keep_nothing_of_a_trial(address: str, tmp_path: Path) -> None:
    storage = FileStorage(address.format(folder=tmp_path / "packages", name=tmp_path.name))
    protocol = "memory" if address.startswith("memory") else "file"

    known, tried = known_trust(storage), tried_trust(storage)
    require_trust(storage)

    assert known.trusted
    assert known == tried
    assert known.reason == TRUSTED[protocol]
    assert storage.names("") == []
    assert left(tmp_path) == []


def test_the_table_is_read_without_writing(tmp_path: Path) -> None:
    assert known_trust(FileStorage(str(tmp_path / "packages"))).trusted
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "endpoint",
    [
        None,
        "https://s3.amazonaws.com",
        "https://s3.eu-central-1.amazonaws.com",
        "https://bucket.vpce-1a2b.s3.us-east-1.vpce.amazonaws.com",
        "https://s3.cn-north-1.amazonaws.com.cn",
    ],
)
def test_amazon_is_known_by_its_address_and_is_not_asked(endpoint: str | None) -> None:
    found = known_trust(s3(endpoint))

    assert (found.trusted, found.reason) == (True, TRUSTED["s3"])


def test_the_address_may_stand_among_the_options_of_the_client() -> None:
    options = {"client_kwargs": {"endpoint_url": "https://s3.eu-west-1.amazonaws.com"}}

    assert known_trust(s3(None, **options)).trusted


@pytest.mark.parametrize(
    "server", [{"name": "VERSITYGW"}, {"name": "versitygw/1.0"}, {"name": "AmazonS3"}], indirect=True, ids=str
)
def test_another_server_is_known_by_its_name(server: Server) -> None:
    found = known_trust(s3(server.address))

    assert found.trusted
    assert "keeps If-None-Match in one step" in found.reason
    assert server.asked == ["HEAD /bucket"]


@pytest.mark.parametrize(
    "server", [{"name": "MinIO"}, {"name": "Ceph"}, {"name": ""}], indirect=True, ids=str
)
def test_a_server_that_nobody_has_looked_at_is_not_trusted_and_not_written_to(server: Server) -> None:
    storage = s3(server.address)

    found = tried_trust(storage)

    assert not found.trusted
    assert "at 127.0.0.1 is not a known one" in found.reason
    assert {asked.split()[0] for asked in server.asked} == {"HEAD"}


@pytest.mark.parametrize("host", ["amazonaws.com.example.org", "notamazonaws.com", "s3.amazonaws.com.evil"])
@pytest.mark.parametrize("server", [{"name": "MinIO"}], indirect=True, ids=str)
def test_an_address_that_only_looks_like_amazons_is_asked(
    server: Server, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = s3(server.address)
    storage.system.connect()
    monkeypatch.setattr(storage.system, "endpoint_url", f"https://{host}")

    found = known_trust(storage)

    assert not found.trusted
    assert f"at {host} is not a known one" in found.reason
    assert server.asked == ["HEAD /bucket"]


@pytest.mark.parametrize(
    "server",
    [{"name": "VERSITYGW", "status": 403}, {"name": "VERSITYGW", "status": 404}],
    indirect=True,
    ids=str,
)
def test_a_server_that_refuses_the_question_is_not_trusted(server: Server) -> None:
    found = known_trust(s3(server.address))

    assert not found.trusted
    assert "the server at 127.0.0.1 did not answer" in found.reason


def test_a_server_that_is_not_there_is_asked_again_by_the_next_run() -> None:
    server = Server("VERSITYGW")
    storage = s3(server.address)
    server.close()
    storage.system.retries = 1

    with pytest.raises(StorageNotReachable, match="s3://bucket/packages cannot be reached"):
        require_trust(storage)


def test_a_trial_that_does_not_reach_the_storage_says_nothing_about_it(tmp_path: Path) -> None:
    gone = StorageNotReachable(path="x", reason="timeout")

    with pytest.raises(StorageNotReachable, match="timeout"):
        require_trust(FileStorage(str(tmp_path), files=Raises(gone)))


def test_a_protocol_that_nobody_has_looked_at_is_not_trusted_and_not_written_to(tmp_path: Path) -> None:
    storage = FileStorage(f"simplecache::memory://{tmp_path.name}")

    found = tried_trust(storage)

    assert not found.trusted
    assert found.reason.startswith("nothing is known about ")


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (CreatesTwice(), "a trial wrote the same name twice"),
        (NeverCreates(), "a trial could not make a file"),
        (
            Raises(OSError(errno.EPERM, "Operation not permitted")),
            "a trial failed: .*Operation not permitted",
        ),
        (Raises(OSError(errno.ENOTSUP, "no hard links"), leaves=True), "a trial failed: .*no hard links"),
        (Raises(NotImplementedError("mode=create")), "a trial failed: mode=create"),
        (Raises(TypeError("unexpected keyword")), "a trial failed: unexpected keyword"),
        (Raises(ValueError("mode")), "a trial failed: mode"),
    ],
    ids=[
        "creates_twice",
        "never_creates",
        "no_hard_links",
        "leaves_a_file",
        "not_implemented",
        "type",
        "value",
    ],
)
def test_a_trial_lowers_the_trust_and_leaves_nothing(files: LocalFiles, says: str, tmp_path: Path) -> None:
    storage = FileStorage(str(tmp_path / "packages"), files=files)

    assert known_trust(storage).trusted
    with pytest.raises(StorageNotTrusted, match=says) as caught:
        require_trust(storage)

    assert vars(caught.value)["path"] == str(tmp_path / "packages")
    assert "set package_storage to a local or shared disk" in caught.value.hint
    assert left(tmp_path) == []


@pytest.mark.parametrize("server", [{"name": "MinIO"}], indirect=True, ids=str)
def test_a_trial_never_raises_the_trust(server: Server) -> None:
    class Perfect(LocalFiles):
        """Would pass every trial."""

        def put_if_absent(self, path: str, content: bytes) -> bool:
            raise AssertionError(path)

    storage = FileStorage(
        "s3://bucket/x",
        key="k",
        secret="s",
        endpoint_url=server.address,
        files=Perfect(),
        skip_instance_cache=True,
    )

    with pytest.raises(StorageNotTrusted, match=r"'MinIO' at 127.0.0.1 is not a known one"):
        require_trust(storage)
