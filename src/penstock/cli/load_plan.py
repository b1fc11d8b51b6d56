"""Decides what `load` and `init` do: from their arguments to a program. Pure functions, without Spark."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from keyword import iskeyword
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.errors import UsageError, suggestion
from penstock.redaction import is_secret_name, redact

SourceKind = Literal["files", "sql", "rest", "python"]
Disposition = Literal["append", "replace", "merge"]

DATASET_NAME: Final = "raw"
"""The dataset of loads without `--dataset`."""
_DESTINATIONS: Final[Mapping[str, str]] = {
    "delta": "delta",
    "iceberg": "iceberg",
    "files": "filesystem",
    "duckdb": "duckdb",
    "postgres": "postgres",
}
"""The factories of destinations, by the words before their locations."""
DATABASES: Final = frozenset(("duckdb", "postgres"))
"""The factories of databases, whose locations are credentials."""
_DUCKDB_SUFFIX: Final = ".duckdb"
_DUCKDB_URL: Final = "duckdb:///"
_POSTGRES_URL: Final = re.compile(r"postgres(ql)?(\+\w+)?://")
_REST_SCHEMES: Final = ("http", "https")
_FILE_SCHEMES: Final = ("file", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "sftp")
_LAKE_SCHEMES: Final = (*_FILE_SCHEMES, "hdfs", "dbfs", "adl", "wasb", "wasbs")
_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][\w+.-]*)://")
_PREFIX: Final = re.compile(r"(?P<name>[A-Za-z]{2,}):(?!//)(?P<location>.+)", re.DOTALL)
_WILDCARD: Final = re.compile(r"[*?\[]")
_NOT_IN_NAME: Final = re.compile(r"\W+", re.ASCII)

_PROGRAM_NAMES: Final = frozenset(
    (
        *("bucket_url", "credentials", "database", "database_url", "files", "info", "lake", "penstock"),
        *("pipeline", "print", "rest_api_source", "source_url", "sql_table"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """The options of `penstock load`."""

    table: str | None = None
    incremental: str | None = None
    primary_key: tuple[str, ...] = ()
    disposition: Disposition = "append"
    dataset: str | None = None
    pipeline_name: str | None = None
    with_location: bool = True
    """Whether the program has the location of the destination; else it is a setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadProgram:
    """A load as a program, whose secrets are settings."""

    kind: SourceKind
    pipeline_name: str
    factory: str
    """The factory of the destination."""
    location: str = field(repr=False)
    imports: tuple[str, ...]
    declarations: tuple[str, ...] = ()
    """Functions, before the body."""
    body: tuple[str, ...]
    """The statements; they assign the result of the run to `info`."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of variables of the body that are secret."""

    @property
    def location_argument(self) -> str:
        """The argument of the factory that has the location, which is its setting too."""
        return _location_argument(self.factory)

    @property
    def script(self) -> str:
        """The whole program, which reads secrets from the settings and prints the result."""
        return "\n".join([*self.imports, "", *self.setting_lines, *self.body, "print(info)"]) + "\n"

    @property
    def executed_script(self) -> str:
        """The program without the lines that the command replaces: those of secrets and the last one."""
        return "\n".join([*self.imports, *self.body])

    @property
    def setting_lines(self) -> tuple[str, ...]:
        """The statements that read the secrets."""
        paths = {name: f"{self.secrets_section}.{name}" for name in self.secrets}
        return tuple(
            line
            for name, path in paths.items()
            for line in (
                "# The secret is in secrets.toml, or in the environment: " + path.upper().replace(".", "__"),
                f"{name} = penstock.secrets[{_literal(path)}]",
            )
        )

    @property
    def secrets_section(self) -> str:
        """The section of the settings that has the secrets."""
        return f"sources.{self.pipeline_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _SourceCode:
    """The part of a program that declares the source."""

    kind: SourceKind
    table: str
    statements: tuple[str, ...] = ()
    imports: str | None = None
    declarations: tuple[str, ...] = ()
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)


class _Name(str):
    """A text that is code already: the name of a variable."""

    __slots__ = ()


def plan_load(source: str, destination: str, options: LoadOptions) -> LoadProgram:
    """Return the program of a load; raise for arguments that cannot be combined.

    >>> plan = plan_load("orders.jsonl", "lake", LoadOptions())
    >>> plan.kind, plan.pipeline_name
    ('files', 'orders_to_lake')
    >>> print(plan.body[-1])
    info = pipeline.run(orders)
    """
    _check_options(options)
    return _plan(_source_code(source, options), destination, options)


def plan_python(destination: str, options: LoadOptions) -> LoadProgram:
    """Return the program of a load from a generator with example rows."""
    _check_options(options)
    return _plan(_python_code(options), destination, options)


def _plan(code: _SourceCode, destination: str, options: LoadOptions) -> LoadProgram:
    factory, location = destination_of(destination)
    secrets = dict(code.secrets)
    variable, url_variable = ("database", "database_url") if factory in DATABASES else ("lake", "bucket_url")
    url: str | None = (location or None) if options.with_location else None
    if url is not None and has_secret(url):
        secrets[url_variable], url = url, _Name(url_variable)
    target = _last_part(location).removesuffix(_DUCKDB_SUFFIX) or (
        factory if factory in DATABASES else variable
    )
    name = options.pipeline_name or _identifier(f"{code.table}_to_{target}")
    run_arguments = {
        "write_disposition": None if options.disposition == "append" else options.disposition,
        "primary_key": _one_or_list(options.primary_key),
    }
    rows = _variable(code.table)
    dataset = options.dataset or DATASET_NAME
    return LoadProgram(
        kind=code.kind,
        pipeline_name=name,
        factory=factory,
        location=location,
        imports=tuple(filter(None, ("import penstock", code.imports))),
        declarations=code.declarations,
        body=(
            *code.statements,
            _statement(variable, f"penstock.destinations.{factory}", **{_location_argument(factory): url}),
            _statement(
                "pipeline", "penstock.pipeline", name, destination=_Name(variable), dataset_name=dataset
            ),
            _statement("info", "pipeline.run", _Name(rows), **run_arguments),
        ),
        secrets=secrets,
    )


def _check_options(options: LoadOptions) -> None:
    if options.disposition == "merge" and not options.primary_key:
        raise UsageError("a merge needs a key", hint="name its columns: --primary-key id")


def _source_code(source: str, options: LoadOptions) -> _SourceCode:
    """Return the code for a source, by the scheme of its address."""
    match = _SCHEME.match(source)
    scheme = match["scheme"].lower() if match else None
    if scheme is None and not source.lower().startswith("jdbc:"):
        return _file_code(source, options)
    if scheme in _FILE_SCHEMES:
        return _file_code(source, options)
    if scheme in _REST_SCHEMES:
        return _rest_code(source, options)
    # Only this command needs the packages of sources that Spark reads.
    from penstock.sources.sql_database.dialects import DIALECTS, dialect_of  # noqa: PLC0415 - needs pyspark

    if scheme is None or dialect_of(scheme) is not None:
        return _sql_code(source, options)
    schemes = sorted((*_FILE_SCHEMES, *_REST_SCHEMES, *DIALECTS))
    raise UsageError(f"no source reads {scheme}:// addresses", hint=suggestion(scheme, schemes))


def _file_code(source: str, options: LoadOptions) -> _SourceCode:
    from penstock.sources.filesystem.plan import format_of  # noqa: PLC0415 - needs pyspark

    folder, pattern = _split_files(source)
    if format_of(pattern) is None:
        raise UsageError(
            f"the format of {source} is unknown",
            hint="name files that end in .csv, .jsonl or .parquet, such as 'data/*.csv'",
        )
    table = options.table or _table_of_files(folder, pattern)
    variable = _variable(table)
    secrets = {"source_url": folder} if has_secret(folder) else {}
    url = _Name("source_url") if secrets else folder
    statements = [_statement(variable, "files", url, file_glob=pattern, name=table)]
    if options.incremental:
        statements.append(f"{variable}.apply_hints(incremental={_incremental(options.incremental)})")
    return _SourceCode(
        kind="files",
        table=table,
        imports="from penstock.sources.filesystem import files",
        statements=tuple(statements),
        secrets=secrets,
    )


def _python_code(options: LoadOptions) -> _SourceCode:
    table = options.table or "people"
    variable = _variable(table)
    return _SourceCode(
        kind="python",
        table=table,
        declarations=(
            f"@penstock.resource(name={_literal(table)})",
            f"def {variable}():",
            '    """Yield rows: dictionaries, which may have objects and lists."""',
            '    yield {"id": 1, "name": "Ada", "address": {"city": "London"}, "languages": ["en", "fr"]}',
            '    yield {"id": 2, "name": "Grace", "address": {"city": "New York"}, "languages": ["en"]}',
        ),
    )


def _split_files(source: str) -> tuple[str, str]:
    """Return the folder before the first wildcard, or of a file, and the rest as a pattern.

    >>> _split_files("data/2026/*.csv"), _split_files("orders.csv"), _split_files("s3://raw/a/**/b.csv")
    (('data/2026', '*.csv'), ('.', 'orders.csv'), ('s3://raw/a', '**/b.csv'))
    """
    parts = source.split("/")
    first = next((number for number, part in enumerate(parts) if _WILDCARD.search(part)), len(parts) - 1)
    folder = "/".join(parts[:first])
    return folder or ("/" if source.startswith("/") else "."), "/".join(parts[first:])


def _table_of_files(folder: str, pattern: str) -> str:
    """Return the name of the table: of the file, or of the folder of several files.

    >>> _table_of_files("raw", "Orders.csv.gz"), _table_of_files("raw/orders", "*.csv")
    ('Orders', 'orders')
    """
    stem = pattern.rpartition("/")[2].partition(".")[0]
    return _identifier(_last_part(folder) if _WILDCARD.search(pattern) else stem)


def _sql_code(source: str, options: LoadOptions) -> _SourceCode:
    if options.table is None:
        raise UsageError("a load from a database needs the name of a table", hint="name it: --table orders")
    secrets = {"credentials": source} if has_secret(source) else {}
    credentials = _Name("credentials") if secrets else source
    arguments = {"incremental": _incremental(options.incremental) if options.incremental else None}
    return _SourceCode(
        kind="sql",
        table=options.table,
        imports="from penstock.sources.sql_database import sql_table",
        statements=(
            _statement(_variable(options.table), "sql_table", credentials, options.table, **arguments),
        ),
        secrets=secrets,
    )


def _rest_code(source: str, options: LoadOptions) -> _SourceCode:
    url = urlsplit(source)
    path = url.path.strip("/")
    table = options.table or _identifier(path.rpartition("/")[2] or url.hostname or "")
    secrets: dict[str, str] = {}
    params: dict[str, list[str]] = {}
    for name, value in parse_qsl(url.query, keep_blank_values=True):
        is_secret = is_secret_name(name) or has_secret(f"{name}={value}")
        params.setdefault(name, []).append(_keep_secret(secrets, name, value) if is_secret else value)
    client: dict[str, Any] = {"base_url": f"{url.scheme}://{url.netloc.rpartition('@')[2]}"}
    if url.username is not None:
        client["auth"] = {
            "type": "http_basic",
            "username": _keep_secret(secrets, "username", unquote(url.username)),
            "password": _keep_secret(secrets, "password", unquote(url.password or "")),
        }
    endpoint: dict[str, Any] = {"path": path or "/"}
    if params:
        endpoint["params"] = {name: _one_or_list(values) for name, values in params.items()}
    resource = {"name": table, "endpoint": endpoint}
    variable = _variable(table)
    statements = [
        f"{variable} = rest_api_source({{",
        f'    "client": {_literal(client)},',
        f'    "resources": [{_literal(resource)}],',
        "})",
    ]
    if options.incremental:
        cursor = _incremental(options.incremental)
        statements.append(f"{variable}.resources[{_literal(table)}].apply_hints(incremental={cursor})")
    return _SourceCode(
        kind="rest",
        table=table,
        imports="from penstock.sources.rest_api import rest_api_source",
        statements=tuple(statements),
        secrets=secrets,
    )


def _keep_secret(secrets: dict[str, str], name: str, value: str) -> _Name:
    """Add a secret, and return the variable that has its value."""
    variable = _variable(name)
    while variable in secrets:
        variable += "_"
    secrets[variable] = value
    return _Name(variable)


def has_secret(text: str) -> bool:
    """Return whether a text contains a secret, such as the password of a URL; a user alone is none.

    >>> has_secret("postgresql://ada@db/shop"), has_secret("postgresql://ada:hush@db/shop")
    (False, True)
    """
    try:
        url = urlsplit(text)
    except ValueError:
        return redact(text) != text
    address = text.replace(f"{url.username}@", "", 1) if url.username and url.password is None else text
    return redact(address) != address


def destination_of(text: str) -> tuple[str, str]:
    """Return the factory and the location of a destination; a location alone is one of Delta tables.

    DuckDB has a default location, which is the empty one.

    >>> destination_of("./lake"), destination_of("files:./out"), destination_of("s3://lake/raw")
    (('delta', './lake'), ('filesystem', './out'), ('delta', 's3://lake/raw'))
    >>> destination_of("duckdb:///shop.duckdb"), destination_of("shop.duckdb"), destination_of("duckdb")
    (('duckdb', 'shop.duckdb'), ('duckdb', 'shop.duckdb'), ('duckdb', ''))
    >>> destination_of("postgresql://ada@db/shop")
    ('postgres', 'postgresql://ada@db/shop')
    """
    if text == "duckdb" or (text.startswith(_DUCKDB_URL) or text.endswith(_DUCKDB_SUFFIX)):
        path = text.removeprefix(_DUCKDB_URL).removeprefix("duckdb:")
        return "duckdb", "" if text == "duckdb" else path
    if _POSTGRES_URL.match(text):
        return "postgres", text
    match = _PREFIX.fullmatch(text)
    if match is None:
        location = text
        factory = _DESTINATIONS["delta"]
        if (scheme := _SCHEME.match(text)) and scheme["scheme"].lower() not in _LAKE_SCHEMES:
            raise UsageError(
                f"no destination of the command writes to {scheme['scheme']}:// addresses",
                hint=suggestion(scheme["scheme"], ("duckdb", "postgresql", *_LAKE_SCHEMES)),
            )
    elif match["name"] in _DESTINATIONS:
        location, factory = match["location"], _DESTINATIONS[match["name"]]
    else:
        raise UsageError(
            f"{match['name']!r} is not a destination of the command",
            hint=suggestion(match["name"], _DESTINATIONS),
        )
    if location in _DESTINATIONS:
        example = "postgresql://host/database" if location == "postgres" else f"{location}:./lake"
        raise UsageError(f"destination {location!r} has no location", hint=f"add a folder or URL: {example}")
    return factory, location


def _location_argument(factory: str) -> str:
    return "credentials" if factory in DATABASES else "bucket_url"


def _incremental(column: str) -> _Name:
    return _Name(f"penstock.sources.incremental({_literal(column)})")


def _statement(variable: str, function: str, *positional: Any, **named: Any) -> str:
    """Return an assignment of a call; arguments that are None are omitted."""
    arguments = [
        *map(_literal, positional),
        *(f"{name}={_literal(value)}" for name, value in named.items() if value is not None),
    ]
    return f"{variable} = {function}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    """Return a value as Python code.

    >>> print(_literal({"name": "it's", "keys": ["id", _Name("key")]}))
    {"name": "it's", "keys": ["id", key]}
    """
    match value:
        case _Name():
            return str(value)
        case Mapping():
            return "{" + ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()) + "}"
        case list():
            return f"[{', '.join(map(_literal, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _one_or_list(names: Sequence[str]) -> str | list[str] | None:
    if not names:
        return None
    return names[0] if len(names) == 1 else [*names]


def _last_part(location: str) -> str:
    """Return the last part of a path or URL, without what may be a login."""
    path = urlsplit(location).path if _SCHEME.match(location) else location
    parts = [part for part in path.split("/") if part not in {"", ".", ".."}]
    return parts[-1] if parts else ""


def _identifier(text: str) -> str:
    """Return a name of a table or a pipeline.

    >>> _identifier("New orders-2026"), _identifier("...")
    ('New_orders_2026', 'rows')
    """
    return _NOT_IN_NAME.sub("_", text).strip("_") or "rows"


def _variable(text: str) -> str:
    """Return a name of a variable, which is no name that the program has.

    >>> _variable("Orders"), _variable("1st"), _variable("info"), _variable("class")
    ('orders', 'rows_1st', 'rows_info', 'rows_class')
    """
    name = _identifier(text).lower()
    is_free = name.isidentifier() and not iskeyword(name) and name not in _PROGRAM_NAMES
    return name if is_free else f"rows_{name}"
