"""Finds the connections in the settings: databases, folders, buckets and APIs. Nothing is opened here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from penstock.config import ConnectionStringCredentials, known_sections, redact
from penstock.config.coerce import infer_value
from penstock.config.settings import merge_trees
from penstock.errors import PenstockError, UsageError, suggestion
from penstock.sources.sql_database.dialects import dialect_of
from penstock.sources.sql_database.jdbc import parse_jdbc_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from penstock.config import Settings

ConnectionKind = Literal["database", "file", "folder", "api", "server", "unknown"]
SettingPath = tuple[str, ...]

_ROOTS: Final = (known_sections.SOURCES, known_sections.DESTINATION, known_sections.EXTRACT)
_BUCKET: Final = "bucket_url"
_API: Final = "base_url"
_ADDRESSES: Final = frozenset((_BUCKET, _API, "client"))
"""Settings beside which credentials belong to the connection that these name."""
_PACKAGES: Final = "package_storage"
_CREDENTIALS: Final = "credentials"
_CATALOG: Final = "catalog_properties"
_DATABASE_FIELDS: Final = frozenset(("drivername", "host", "jdbc_url"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A setting that names a connection, with its value and the settings beside it."""

    path: SettingPath
    """The path of the setting; the name of a pipeline, if it is for one, is the first part."""
    kind: ConnectionKind
    value: Any = field(repr=False)
    section: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """The path of the setting as text."""
        return ".".join(self.path)

    @property
    def address(self) -> str:
        """The address without its login; empty if it is not known."""
        if self.kind in {"file", "folder", "api"}:
            return redact(self.value)
        return "" if self.kind == "unknown" else _server_address(infer_value(self.value))

    @property
    def pipeline_name(self) -> str | None:
        """The pipeline whose settings it belongs to; None for those of all pipelines."""
        return None if self.path[0] in _ROOTS else self.path[0]

    @property
    def sections(self) -> SettingPath:
        """The sections of the setting, without the pipeline."""
        return self.path[:-1] if self.pipeline_name is None else self.path[1:-1]

    @property
    def is_read_only(self) -> bool:
        """Whether it is the connection of a source, to which nothing is written."""
        return self.sections[0] == known_sections.SOURCES

    @property
    def holds_packages(self) -> bool:
        """Whether load packages are in this folder: in that of the tables, if no other is set."""
        return self.path[-1] == _PACKAGES or (not self.is_read_only and _PACKAGES not in self.section)


def find_connections(settings: Settings) -> tuple[Connection, ...]:
    """Return the connections in the order of the settings: `config.toml`, `secrets.toml`, the environment.

    >>> from penstock.config import Settings
    >>> settings = Settings(
    ...     document={"destination": {"delta": {"bucket_url": "/lake"}}},
    ...     environment={"SOURCES__SHOP__CREDENTIALS": "postgresql://ada@db/shop"},
    ... )
    >>> [(connection.name, connection.kind) for connection in find_connections(settings)]
    [('destination.delta.bucket_url', 'folder'), ('sources.shop.credentials', 'database')]
    """
    connections: list[Connection] = []
    for name, tree in _settings_tree(settings).items():
        if not isinstance(tree, Mapping):
            continue
        if name in _ROOTS:
            connections += _iter_connections((name,), tree)
        else:
            for root in (root for root in tree if root in _ROOTS and isinstance(tree[root], Mapping)):
                connections += _iter_connections((name, root), tree[root])
    return tuple(connections)


def select_connections(connections: Sequence[Connection], name: str) -> list[Connection]:
    """Return the connections of a setting, of a section, or of the source or destination of that name."""
    selected = [
        connection
        for connection in connections
        if f"{connection.name}.".startswith(f"{name}.") or name in connection.sections[1:]
    ]
    if not selected:
        short_names = [part for connection in connections for part in connection.sections[1:]]
        names = (
            [connection.name for connection in connections] if "." in name else [*dict.fromkeys(short_names)]
        )
        raise UsageError(f"no connection {name!r} is configured", hint=suggestion(name, names))
    return selected


def _settings_tree(settings: Settings) -> dict[str, Any]:
    """Return the settings of both files and the environment as one tree."""
    tree = merge_trees(settings.document, settings.secrets)
    variables = {tuple(name.lower().split("__")): value for name, value in settings.environment.items()}
    for path, value in {**variables, **_mounted_secrets(settings.secrets_folder)}.items():
        if all(path) and any(root in path[:2] for root in _ROOTS):
            tree = merge_trees(tree, _nest(tree, path, value))
    return tree


def _mounted_secrets(folder: Path | None) -> dict[SettingPath, str]:
    """Return the secrets that are mounted as files by their paths."""
    secrets: dict[SettingPath, str] = {}
    if folder is not None and folder.is_dir():
        for file in sorted(folder.iterdir()):
            path = tuple(part.replace("-", "_") for part in file.name.split("--"))
            with suppress(OSError, UnicodeDecodeError):
                secrets[path] = file.read_text(encoding="utf-8").rstrip("\r\n")
    return secrets


def _nest(tree: Mapping[str, Any], path: SettingPath, value: Any) -> dict[str, Any]:
    """Return a tree with one value; its keys are written as in the other tree.

    >>> _nest({"sources": {"Hub": {}}}, ("sources", "hub", "base_url"), "x")
    {'sources': {'Hub': {'base_url': 'x'}}}
    """
    name, *rest = path
    key = next((key for key in tree if key.lower() == name), name)
    if not rest:
        return {key: value}
    subtree = tree.get(key)
    return {key: _nest(subtree if isinstance(subtree, Mapping) else {}, tuple(rest), value)}


def _iter_connections(path: SettingPath, section: Mapping[str, Any]) -> Iterator[Connection]:
    for key, value in section.items():
        kind = _kind_of((*path, key), value, section)
        if kind is not None:
            yield Connection(path=(*path, key), kind=kind, value=value, section=section)
        elif isinstance(value, Mapping):
            yield from _iter_connections((*path, key), value)


def _kind_of(path: SettingPath, value: Any, section: Mapping[str, Any]) -> ConnectionKind | None:
    """Return the kind of the connection that a setting names; None if it names none."""
    *_, parent, key = path
    is_text = isinstance(value, str)
    if key in {_BUCKET, _PACKAGES}:
        return "folder" if is_text else None
    if key == _API and is_text:
        return "api"
    if key == "uri" and parent == _CATALOG and is_text:
        return "server"
    if key == _CREDENTIALS or key.endswith(f"_{_CREDENTIALS}"):
        if is_text and (parent == "duckdb" or value.startswith("duckdb:") or value.endswith(".duckdb")):
            return "file"
        if _is_database(value):
            return "database"
        return "unknown" if _ADDRESSES.isdisjoint(section) else None
    return "database" if is_text and _is_database_url(value) else None


def _is_database(value: Any) -> bool:
    """Return whether credentials are those of a server: a URL, or fields with a host."""
    fields = infer_value(value)
    if isinstance(fields, Mapping):
        return not _DATABASE_FIELDS.isdisjoint(fields)
    return isinstance(value, str) and (_is_database_url(value) or "://" in value)


def _is_database_url(text: str) -> bool:
    scheme, separator, _ = text.partition("://")
    return text.startswith("jdbc:") or (bool(separator) and dialect_of(scheme) is not None)


def _server_address(value: Any) -> str:
    """Return the scheme, the host and the port of a server.

    >>> _server_address("postgresql://ada:12/34@db/shop"), _server_address({"host": "db", "port": 1})
    ('postgresql://db', 'db:1')
    """
    if isinstance(value, Mapping):
        scheme, host, port = (value.get(name) for name in ("drivername", "host", "port"))
    elif value.startswith("jdbc:"):
        url = parse_jdbc_url(value).url
        scheme, (host, port) = url.partition("//")[0].rstrip(":@"), host_and_port(url) or (None, None)
    else:
        try:
            credentials = ConnectionStringCredentials(value)
        except (ValueError, PenstockError):
            return ""  # the test reports it
        scheme, host, port = credentials.drivername, credentials.host, credentials.port
    prefix = f"{scheme}://" if scheme else ""
    return f"{prefix}{host}" + (f":{port}" if port else "") if host else ""


def host_and_port(url: str) -> tuple[str, int | None] | None:
    """Return the host and the port of a URL, also of a JDBC URL; None if it has no host.

    >>> host_and_port("jdbc:sqlserver://db:1433;databaseName=shop"), host_and_port("https://api.example.com")
    (('db', 1433), ('api.example.com', 443))
    >>> host_and_port("jdbc:sqlite:catalog.db")
    """
    _, separator, rest = url.partition("//")
    if not separator or "@" in rest.partition("/")[2]:
        return None  # a password with a slash would be read as a port
    try:
        parts = urlsplit("//" + rest.replace(";", "/").replace(",", "/"))
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    default = {"http": 80, "https": 443}.get(urlsplit(url).scheme)
    return None if host is None else (host, port or default)
