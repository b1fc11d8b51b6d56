"""Tests of connections: a login, a probe object, a request. Each test has a time limit; none needs Spark."""

from __future__ import annotations

import shutil
import socket
import ssl
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass
from http import HTTPStatus
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, assert_never
from urllib.parse import parse_qsl, urlsplit

from penstock.cli.connections import host_and_port
from penstock.config import (
    ConfigAccessor,
    in_scope,
    known_sections,
    read_settings,
    redact,
    remember_secret,
    resolve_configuration,
)
from penstock.config.coerce import infer_value
from penstock.config.credentials import AwsCredentials, ConnectionStringCredentials
from penstock.destinations.duckdb.database import duckdb_library, translated_errors
from penstock.destinations.duckdb.settings import DuckDbCredentials
from penstock.destinations.lake.settings import LakeConfiguration
from penstock.destinations.postgres.settings import PostgresCredentials
from penstock.errors import (
    DatabaseNotReachable,
    DatabaseQueryFailed,
    MissingExtra,
    PenstockError,
    RequestRefused,
    StorageAccessDenied,
    UsageError,
    suggestion,
)
from penstock.package.object_files import ObjectFiles
from penstock.package.storage import FileStorage
from penstock.package.trust import require_trust
from penstock.sources.filesystem.access import FilesystemConfigurationResource
from penstock.sources.filesystem.location import FolderLocation
from penstock.sources.sql_database.dialects import dialect_of
from penstock.sources.sql_database.jdbc import SqlCredentials, jdbc_config
from penstock.spark.paths import local_path
from penstock.spark.s3 import s3_bucket, s3fs_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.cli.connections import Connection
    from penstock.cli.doctor import Verdict
    from penstock.sources.sql_database.jdbc import JdbcConfig

_PROBE_FOLDER: Final = "trial"
_PROBE: Final = b"written and deleted by penstock conns"
_JOIN_SECONDS: Final = 0.5
"""The time beyond the limit in which a test reports its own timeout, which names the step."""
_SYSTEM_CA_LIBPQ: Final = 160000
_JAVA_TRUST_STORE: Final = "sslfactory"
_LIBPQ_PROPERTIES: Final = ("sslmode", "sslrootcert", "sslcert", "sslkey", "user", "password")
_ONLY_REACHABLE: Final = "accepts connections; only this was tested, not the login"
_GIGABYTE: Final = 1_000_000_000
_REFUSED: Final = frozenset((HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionResult:
    """The result of a test; `warning` is a connection of which a part was not tested."""

    name: str
    kind: str
    address: str
    verdict: Verdict
    fact: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    fact: str
    verdict: Verdict = "ok"
    fix: str = ""


def check_connections(connections: Sequence[Connection], *, timeout: float) -> list[ConnectionResult]:
    """Test all connections at the same time; return the results in their order.

    A test that has not ended after `timeout` seconds is a failure. Its thread does not keep the process.
    """
    outcomes: dict[str, _Outcome] = {}

    def check(connection: Connection) -> None:
        outcomes[connection.name] = _check(connection, timeout=timeout)

    threads = [threading.Thread(target=check, args=(each,), daemon=True) for each in connections]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + timeout + _JOIN_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    late = _late_outcome(timeout)
    return [_result(connection, outcomes.get(connection.name, late)) for connection in connections]


def _late_outcome(timeout: float) -> _Outcome:
    return _Outcome(
        verdict="failure",
        fact=f"no result within {timeout:g} s",
        fix="check the address and the network, or allow more time: --timeout 30",
    )


def _result(connection: Connection, outcome: _Outcome) -> ConnectionResult:
    return ConnectionResult(
        name=connection.name,
        kind=connection.kind,
        address=connection.address,
        verdict=outcome.verdict,
        fact=redact(outcome.fact),
        fix=redact(outcome.fix),
    )


def _check(connection: Connection, *, timeout: float) -> _Outcome:
    """Test one connection; an error is its outcome."""
    try:
        match connection.kind:
            case "database":
                return _check_database(connection, timeout)
            case "file":
                return _check_duckdb(connection)
            case "folder":
                return _check_folder(connection, timeout)
            case "api":
                return _check_api(connection, timeout)
            case "server":
                return _check_server(connection.value, timeout)
            case "unknown":
                return _Outcome(
                    verdict="warning",
                    fact="not tested: neither an address of a database nor a bucket_url beside it",
                )
            case _:
                assert_never(connection.kind)
    except PenstockError as error:
        return _Outcome(verdict="failure", fact=error.message, fix=error.hint)
    except Exception as error:  # of any library: it is the result of the test
        return _Outcome(
            verdict="failure",
            fact=f"{type(error).__name__}: {error}",
            fix=f"check the value: penstock config explain {connection.name}",
        )


# --- databases


def _check_database(connection: Connection, timeout: float) -> _Outcome:
    settings = ConfigAccessor()
    credentials = settings.get(connection.name, SqlCredentials)
    if credentials is None:
        # Fields without a driver are those of a Postgres destination.
        credentials = SqlCredentials(settings.get(connection.name, PostgresCredentials).to_url())
    if not credentials.jdbc_url and dialect_of(credentials.drivername or "") is None:
        return _check_server(ConnectionStringCredentials.__str__(credentials), timeout)
    config = jdbc_config(credentials)
    database = config.dialect.name
    target = host_and_port(config.url)
    if target is None:
        return _Outcome(verdict="warning", fact=f"not tested: the URL of {database} has no host")
    host, port = target[0], target[1] or config.dialect.port
    try:
        _connect(host, port, timeout)
    except OSError as error:
        reason = f"{host}:{port}: {_reason(error, timeout)}"
        raise DatabaseNotReachable(database=database, reason=reason) from error
    if database == "postgresql" and find_spec("psycopg") is not None:
        return _log_in(config, host, port, timeout)
    fix = "pip install 'penstock[postgres]' to test the login too" if database == "postgresql" else ""
    why = "" if fix else f": Spark reads {database} by JDBC"
    return _Outcome(verdict="warning", fact=f"{host}:{port} {_ONLY_REACHABLE}{why}", fix=fix)


def _log_in(config: JdbcConfig, host: str, port: int, timeout: float) -> _Outcome:
    """Log in to Postgres with the TLS properties that Spark's driver gets."""
    psycopg = import_module("psycopg")
    # A JDBC URL keeps its properties that are no secrets.
    properties = {**dict(parse_qsl(urlsplit(config.url).query)), **config.properties}
    options: dict[str, str] = {name: properties[name] for name in _LIBPQ_PROPERTIES if name in properties}
    if _JAVA_TRUST_STORE in properties and "sslrootcert" not in options:
        authorities = ssl.get_default_verify_paths().cafile
        system = "system" if psycopg.pq.version() >= _SYSTEM_CA_LIBPQ else None
        if root_certificates := authorities or system:
            options["sslrootcert"] = root_certificates
    login = {"host": host, "port": port, "dbname": config.database, **options}
    try:
        with psycopg.connect(**login, connect_timeout=max(2, round(timeout))) as opened:
            opened.execute("SELECT 1")
            version = opened.execute("SHOW server_version").fetchone()[0]
            mode = options.get("sslmode", "prefer")
            tls = f"with TLS (sslmode={mode})" if opened.pgconn.ssl_in_use else "without TLS"
    except psycopg.Error as error:
        raise DatabaseQueryFailed(database="postgresql", reason=str(error).partition("\n")[0]) from error
    user = properties.get("user", "the user of this process")
    return _Outcome(fact=f"{host}:{port}: logged in as {user}, Postgres {version}, {tls}")


def _check_duckdb(connection: Connection) -> _Outcome:
    """Open a file of DuckDB for reading, or test the folder in which the first load creates it."""
    path = Path(str(DuckDbCredentials(connection.value).database)).absolute()
    if path.exists():
        with translated_errors(path=str(path)), duckdb_library().connect(str(path), read_only=True) as opened:
            ((version,),) = opened.execute("SELECT version()").fetchall()
        return _Outcome(fact=f"{path} can be opened, DuckDB {version}")
    folder = _check_disk(path.parent)
    return folder if folder.verdict != "ok" else _Outcome(fact=f"{path} is created by the first load")


def _check_server(url: str, timeout: float) -> _Outcome:
    """Test only whether a server accepts connections."""
    target = host_and_port(url)
    host, port = target or (None, None)
    if host is None or port is None:
        return _Outcome(verdict="warning", fact="not tested: the address has no host and port")
    try:
        _connect(host, port, timeout)
    except OSError as error:
        return _Outcome(
            verdict="failure",
            fact=f"{host}:{port} cannot be reached: {_reason(error, timeout)}",
            fix="check host and port, and the network",
        )
    return _Outcome(verdict="warning", fact=f"{host}:{port} {_ONLY_REACHABLE}")


def _connect(host: str, port: int, timeout: float) -> None:
    socket.create_connection((host, port), timeout=timeout).close()


def _reason(error: OSError, timeout: float) -> str:
    return f"no response within {timeout:g} s" if isinstance(error, TimeoutError) else str(error)


# --- folders and buckets


def _check_folder(connection: Connection, timeout: float) -> _Outcome:
    location = str(connection.value)
    path = local_path(location)
    if path is not None:
        return _check_read(path) if connection.is_read_only else _check_disk(path)
    try:
        if connection.is_read_only:
            return _check_source_bucket(connection, timeout)
        return _check_bucket(connection, timeout)
    except ImportError as error:
        if s3_bucket(location) is not None:
            raise MissingExtra(extra="s3", needed_for="a bucket of S3") from error
        raise UsageError(str(error), hint="install the package that the message names") from error


def _check_read(path: Path) -> _Outcome:
    if not path.is_dir():
        fix = "create it, or correct bucket_url; a relative path starts at the current folder"
        return _Outcome(verdict="failure", fact=f"{path.absolute()} is not a folder", fix=fix)
    next(path.iterdir(), None)
    return _Outcome(fact=f"{path.absolute()} can be read")


def _check_disk(path: Path) -> _Outcome:
    """Write a file that is deleted at once: into the folder, or where the first load creates it."""
    folder = path.absolute()
    parent = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
    try:
        with tempfile.TemporaryFile(dir=parent) as file:
            file.write(_PROBE)
    except OSError as error:
        fix = f"grant write access to {parent}, or set another folder"
        return _Outcome(verdict="failure", fact=f"{parent} cannot be written to: {error.strerror}", fix=fix)
    free = f"{shutil.disk_usage(parent).free / _GIGABYTE:.1f} GB free"
    if parent != folder:
        return _Outcome(fact=f"{folder} is created by the first load, {free}")
    return _Outcome(fact=f"{folder} can be written to, {free}")


def _check_bucket(connection: Connection, timeout: float) -> _Outcome:
    """List, write and delete a probe object; a bucket with packages also needs an atomic create."""
    location, credentials = str(connection.value), _lake_credentials(connection)
    storage = FileStorage(location, credentials=credentials, **_limits(location, credentials, timeout))
    storage.names("", limit=1)
    probe = f"{_PROBE_FOLDER}/{uuid.uuid4().hex}"
    storage.put(probe, _PROBE)
    storage.delete_file(probe)
    if not connection.holds_packages:
        return _Outcome(fact="listed, written to and deleted from")
    require_trust(storage)
    return _Outcome(fact="listed, written to and deleted from; objects are created atomically")


def _lake_credentials(connection: Connection) -> AwsCredentials | None:
    if connection.sections[0] != known_sections.DESTINATION:
        return None  # packages without a destination are stored with the keys of the machine
    configuration = resolve_configuration(
        LakeConfiguration,
        settings=read_settings(),
        sections=connection.sections,
        pipeline_name=connection.pipeline_name,
    )
    return configuration.credentials


def _check_source_bucket(connection: Connection, timeout: float) -> _Outcome:
    """List a bucket of a source; nothing is written."""
    settings = resolve_configuration(
        FilesystemConfigurationResource,
        settings=read_settings(),
        sections=connection.sections,
        pipeline_name=connection.pipeline_name,
        explicit={"bucket_url": str(connection.value)},
    )
    credentials = settings.credentials
    keys = credentials if isinstance(credentials, AwsCredentials) else None
    limits = _limits(settings.bucket_url, keys, timeout)
    location = FolderLocation.of(
        settings.bucket_url,
        credentials,
        kwargs={**limits, **(settings.kwargs or {})},
        client_kwargs=settings.client_kwargs,
    )
    names = ObjectFiles(location.file_system).names
    try:
        listed = names(location.fs_root, prefix="", after="", limit=1)
    except (FileNotFoundError, StorageAccessDenied) as error:
        reason = getattr(error, "message", f"{location.root} does not exist")
        hint = f"check the bucket, its region, and {'.'.join(connection.path[:-1])}.credentials"
        raise UsageError(reason, hint=hint) from error
    return _Outcome(fact="listed" if listed else "listed; no files in it")


def _limits(location: str, credentials: AwsCredentials | None, timeout: float) -> dict[str, Any]:
    """Return the options by which the client of S3 waits only so long, and does not try again."""
    if s3_bucket(location) is None:
        return {}
    style = s3fs_options(location, credentials).get("config_kwargs", {})
    limits = {"connect_timeout": timeout, "read_timeout": timeout, "retries": {"max_attempts": 0}}
    return {"config_kwargs": {**style, **limits}}


# --- APIs


def _check_api(connection: Connection, timeout: float) -> _Outcome:
    """Request base_url with the auth of the settings; a redirection is not followed."""
    if find_spec("requests") is None:
        raise MissingExtra(extra="rest", needed_for="an API")
    requests, registry = import_module("requests"), import_module("penstock.sources.rest_api.registry")
    url, section = str(connection.value), connection.section
    auth = infer_value(section.get("auth"))
    kind = auth.get("type", "bearer") if isinstance(auth, dict) else auth
    if kind is not None and kind not in registry.AUTHS:
        raise UsageError(f"auth {kind!r} is unknown", hint=suggestion(kind, registry.AUTHS))
    with in_scope(sections=connection.sections, pipeline_name=connection.pipeline_name):
        signer = registry.build_auth(auth)
    headers = infer_value(section.get("headers")) or {}
    for value in headers.values():
        remember_secret(str(value))
    try:
        with requests.get(
            url, auth=signer, headers=headers, timeout=timeout, allow_redirects=False, stream=True
        ) as response:
            status = response.status_code
    except requests.Timeout:
        return _late_outcome(timeout)
    except requests.HTTPError as error:
        fix = "check auth: the credentials of the client, and the address for tokens"
        return _Outcome(verdict="failure", fact=f"no token: {error}", fix=fix)
    except requests.RequestException as error:
        return _Outcome(
            verdict="failure",
            fact=f"no response: {_root_cause(error)}",
            fix="check base_url and the network",
        )
    return _status_outcome(connection, status, auth_kind=kind)


def _root_cause(error: BaseException) -> str:
    """Return the message of the first error: the library wraps it several times."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return str(error) or type(error).__name__


def _status_outcome(connection: Connection, status: int, *, auth_kind: str | None) -> _Outcome:
    phrase = f"{status} {HTTPStatus(status).phrase}" if status in set(HTTPStatus) else str(status)
    auth = f"auth {auth_kind}" if auth_kind else "no auth"
    fact = f"responds with {phrase}, {auth}"
    if status in _REFUSED:
        refused = RequestRefused(
            resource=connection.name, item=0, url=str(connection.value), status=status, cause=""
        )
        return _Outcome(verdict="failure", fact=fact, fix=refused.hint)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _Outcome(verdict="failure", fact=fact, fix="run again later, or check base_url")
    if status >= HTTPStatus.BAD_REQUEST:
        return _Outcome(
            verdict="warning", fact=f"{fact}; base_url alone does not show whether paths and auth work"
        )
    return _Outcome(fact=fact)
