"""`penstock conns`: tests of databases, folders, buckets and APIs against servers on this machine."""

from __future__ import annotations

import re
import socket
import tomllib
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests.command_documents import read_documents
from tests.restapi import KEY, PASSWORD, TOKEN, USER, Api
from tests.unit.cli.golden import assert_output
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.cli.connections import find_connections
from penstock.config import Settings
from penstock.errors import UsageError
from penstock.package import FileStorage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from typer.testing import Result

SECRET = "hunter2-in-the-tree"
OAUTH = f"""
    [sources.hub.auth]
    type = "oauth2_client_credentials"
    access_token_url = "URL/token"
    client_id = "{USER}"
    client_secret = "{PASSWORD}"
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, disk: Path) -> Path:
    """A project without settings."""
    (tmp_path / ".penstock").mkdir()
    return tmp_path


@pytest.fixture
def server() -> Iterator[int]:
    """The port of a server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    """A port that no server listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture
def api() -> Iterator[Api]:
    """A REST API on this machine."""
    with Api() as server:
        yield server


def write_settings(project: Path, *, config: str = "", secrets: str = "") -> None:
    (project / ".penstock" / "config.toml").write_text(config)
    (project / ".penstock" / "secrets.toml").write_text(secrets)
    (project / ".penstock" / "secrets.toml").chmod(0o600)


def conns(*words: str, timeout: str = "60") -> Result:
    return CliRunner().invoke(app, ["conns", *words, "--timeout", timeout])


def results(*words: str, timeout: str = "60") -> dict[str, dict[str, str]]:
    done = conns(*words, "--json", timeout=timeout)
    documents = read_documents("conns", done.stdout)
    failed = any(document["verdict"] == "failure" for document in documents)
    assert done.exit_code == (1 if failed else 0), done.output
    return {document["name"]: document for document in documents}


def result(project: Path, **settings: str) -> dict[str, str]:
    """Return the only result with these settings."""
    write_settings(project, **settings)
    (document,) = results().values()
    return document


# --- which settings are connections


def names_and_kinds(**settings: Any) -> dict[str, str]:
    return {connection.name: connection.kind for connection in find_connections(Settings(**settings))}


def test_connections_are_in_the_order_of_the_settings() -> None:
    document = tomllib.loads("""
        [sources.hub.client]
        base_url = "https://api.example.com"
        [sources.hub]
        pages = 3
        [destination.delta]
        bucket_url = "s3://lake"
        package_storage = "/packages"
        [extract]
        package_storage = "/extracted"
        [shop.destination.iceberg.catalog_properties]
        uri = "thrift://hive:9083"
        [normalize]
        credentials = "postgresql://of-no-source/x"
    """)

    kinds = names_and_kinds(
        document=document,
        secrets={"sources": {"shop": {"warehouse_url": "mysql://db/shop"}, "vault": {"credentials": "t"}}},
        environment={
            "SOURCES__CRM__CREDENTIALS__HOST": "db",
            "SOURCES__CRM__CREDENTIALS__PASSWORD": SECRET,
            "DESTINATION__DELTA__CREDENTIALS__REGION_NAME": "eu-west-1",
            "HOME": "/root",
        },
    )

    assert list(kinds.items()) == [
        ("sources.hub.client.base_url", "api"),
        ("sources.shop.warehouse_url", "database"),
        ("sources.vault.credentials", "unknown"),
        ("sources.crm.credentials", "database"),
        ("destination.delta.bucket_url", "folder"),
        ("destination.delta.package_storage", "folder"),
        ("extract.package_storage", "folder"),
        ("shop.destination.iceberg.catalog_properties.uri", "server"),
    ]


def test_a_variable_and_a_mounted_secret_belong_to_the_section_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "sources--my-shop--credentials").write_text("postgresql://db/shop\n")

    connections = find_connections(
        Settings(
            document={"sources": {"Hub": {"auth": "bearer"}}},
            environment={"SOURCES__HUB__BASE_URL": "https://api.example.com"},
            secrets_folder=tmp_path,
        )
    )

    assert [connection.name for connection in connections] == [
        "sources.Hub.base_url",
        "sources.my_shop.credentials",
    ]
    assert connections[0].section["auth"] == "bearer"


@pytest.mark.parametrize(
    ("credentials", "address"),
    [
        ("postgresql://ada:12/34@db:5433/shop", "postgresql://db:5433"),
        ("jdbc:oracle:thin:ada/hush@//db:1521/shop", "jdbc:oracle:thin://db:1521"),
        ("jdbc:postgresql://ada:12/34@db/shop", ""),
        ({"drivername": "mysql", "host": "db", "password": SECRET}, "mysql://db"),
    ],
)
def test_an_address_has_no_login(credentials: Any, address: str) -> None:
    (connection,) = find_connections(Settings(secrets={"sources": {"shop": {"credentials": credentials}}}))

    assert connection.address == address


# --- the command


def test_results_are_printed_with_a_fix(project: Path, api: Api, server: int, closed_port: int) -> None:
    write_settings(
        project,
        config='[destination.delta]\nbucket_url = "lake"\n'
        f'[sources.hub]\nbase_url = "{api.url}/secure/bearer"',
        secrets=f"""
            [sources.shop]
            credentials = "mysql://ada:{SECRET}@127.0.0.1:{server}/shop"
            [sources.crm]
            credentials = "postgresql://ada:{SECRET}@127.0.0.1:{closed_port}/crm"
        """,
    )

    done = conns()

    text = done.stdout.replace(str(project), "PROJECT").replace(str(server), "OPEN")
    text = text.replace(str(closed_port), "CLOSED").replace(api.url, "http://127.0.0.1:API")
    assert_output("conns", re.sub(r"[\d.]+ GB", "N GB", text))
    assert done.exit_code == 1


def test_without_connections_the_searched_files_are_printed_and_nothing_fails(project: Path) -> None:
    done, done_json = conns(), conns("--json")

    assert done.exit_code == done_json.exit_code == 0
    assert done.stdout.startswith("No connections are configured")
    assert str(project / ".penstock") in done.stdout
    assert done_json.stdout == ""


def test_a_name_selects_a_setting_a_section_or_a_source(project: Path) -> None:
    write_settings(
        project,
        config='[destination.delta]\nbucket_url = "a"\n[sources.inbox]\nbucket_url = "."\n'
        '[sources.inbox_2]\nbucket_url = "."\n',
    )

    for name in ("inbox", "sources.inbox", "sources.inbox.bucket_url"):
        assert list(results(name)) == ["sources.inbox.bucket_url"]
    assert list(results("sources")) == ["sources.inbox.bucket_url", "sources.inbox_2.bucket_url"]


@pytest.mark.parametrize(
    ("name", "meant"), [("dleta", "'delta'"), ("destination.delta.bucket", "'destination.delta.bucket_url'")]
)
def test_an_unknown_name_is_an_error_with_the_one_that_was_meant(
    project: Path, name: str, meant: str
) -> None:
    write_settings(project, config='[destination.delta]\nbucket_url = "a"\n')

    done = conns(name)

    assert isinstance(done.exception, UsageError)
    assert f"did you mean {meant}?" in done.exception.hint
    assert done.exit_code == 1


def test_a_connection_that_never_responds_fails_at_the_time_limit(project: Path, server: int) -> None:
    write_settings(
        project,
        secrets=f"""
            [sources.hub]
            base_url = "http://127.0.0.1:{server}"
            [sources.crm]
            base_url = "http://127.0.0.1:{server}"
            [sources.crm.auth]
            type = "oauth2_client_credentials"
            access_token_url = "http://127.0.0.1:{server}"
            client_id = "ada"
            client_secret = "{SECRET}"
            [sources.shop]
            credentials = "postgresql://ada:{SECRET}@127.0.0.1:{server}/shop"
        """,
    )

    done = results(timeout="0.3")

    assert {name: document["fact"] for name, document in done.items()} == {
        "sources.hub.base_url": "no result within 0.3 s",
        "sources.crm.base_url": "no result within 0.3 s",
        "sources.shop.credentials": "no result within 0.3 s",
    }


def test_secrets_are_masked(project: Path, api: Api, closed_port: int) -> None:
    write_settings(
        project,
        secrets=f"""
            [sources.shop]
            credentials = "postgresql://ada:{SECRET}@127.0.0.1:{closed_port}/{SECRET}"
            [sources.bad]
            credentials = "postgresql://ada:{SECRET}@127.0.0.1:port/shop"
            [sources.hub]
            base_url = "{api.url}/secure/query?api_key={SECRET}"
            [sources.header]
            base_url = "{api.url}/secure/header"
            headers = {{X-Key = " {SECRET}"}}
            [sources.vault]
            credentials = "{SECRET}"
        """,
    )

    output = conns().output + conns("--json").output

    assert SECRET not in output
    assert "sources.vault.credentials" in output


# --- databases


def test_only_reachability_is_tested_for_a_database_that_spark_reads_by_jdbc(
    project: Path, server: int
) -> None:
    document = result(project, secrets=f'[sources.shop]\ncredentials = "mysql://ada@127.0.0.1:{server}/shop"')

    assert document["verdict"] == "warning"
    assert document["fact"] == (
        f"127.0.0.1:{server} accepts connections; only this was tested, not the login: "
        "Spark reads mysql by JDBC"
    )


@pytest.mark.parametrize("scheme", ["redis", "snowflake"])
def test_only_reachability_is_tested_for_other_servers(project: Path, server: int, scheme: str) -> None:
    document = result(
        project, secrets=f'[sources.x]\ncredentials = "{scheme}://ada:hush@127.0.0.1:{server}/0"'
    )

    assert (document["verdict"], document["fact"]) == (
        "warning",
        f"127.0.0.1:{server} accepts connections; only this was tested, not the login",
    )


def test_a_database_that_does_not_listen_fails(project: Path, closed_port: int) -> None:
    document = result(
        project, secrets=f'[sources.shop]\ncredentials = "jdbc:postgresql://127.0.0.1:{closed_port}/shop"'
    )

    assert document["verdict"] == "failure"
    assert f"cannot be reached: 127.0.0.1:{closed_port}: [Errno 111]" in document["fact"]
    assert document["fix"].startswith("check host and port of the credentials")


def test_a_password_in_the_file_without_secrets_is_a_failure(project: Path) -> None:
    document = result(
        project,
        config='[sources.shop.credentials]\ndrivername = "postgresql"\nhost = "db"\n'
        f'database = "shop"\npassword = "{SECRET}"',
    )

    assert document["verdict"] == "failure"
    assert "config.toml" in document["fact"]
    assert "secrets.toml" in document["fix"]


# --- folders and buckets


def test_a_folder_is_tested_without_a_trace(project: Path) -> None:
    (project / "lake").mkdir()

    document = result(project, config='[destination.delta]\nbucket_url = "lake"')

    assert document["verdict"] == "ok"
    assert re.fullmatch(rf"{project}/lake can be written to, [\d.]+ GB free", document["fact"])
    assert list((project / "lake").iterdir()) == []


def test_a_folder_that_does_not_exist_is_not_created(project: Path) -> None:
    document = result(project, config='[destination.delta]\nbucket_url = "new/lake"')

    assert document["verdict"] == "ok"
    assert f"{project}/new/lake is created by the first load" in document["fact"]
    assert not (project / "new").exists()


def test_a_file_of_duckdb_is_opened_or_will_be_created(project: Path) -> None:
    address = "duckdb:///shop.duckdb"
    before = result(project, config=f'[destination.duckdb]\ncredentials = "{address}"')
    duckdb.connect("shop.duckdb").close()
    after = result(project, config=f'[destination.duckdb]\ncredentials = "{address}"')

    assert (before["verdict"], before["kind"], before["address"]) == ("ok", "file", address)
    assert before["fact"].endswith("shop.duckdb is created by the first load")
    assert after["verdict"] == "ok"
    assert "shop.duckdb can be opened, DuckDB v" in after["fact"]


def test_the_fields_of_a_postgres_destination_need_no_driver(project: Path, closed_port: int) -> None:
    fields = f'host = "127.0.0.1"\nport = {closed_port}\ndatabase = "shop"\nusername = "ada"'
    tested = result(project, secrets=f"[destination.postgres.credentials]\n{fields}")

    assert tested["verdict"] == "failure"
    assert f"127.0.0.1:{closed_port}" in tested["fact"]


def test_a_file_in_place_of_a_folder_fails(project: Path) -> None:
    (project / "lake").write_text("a file")

    document = result(project, config='[destination.delta]\nbucket_url = "lake"')

    assert document["verdict"] == "failure"
    assert document["fact"] == f"{project}/lake cannot be written to: Not a directory"


def test_the_folder_of_a_source_must_exist(project: Path) -> None:
    (project / "inbox").mkdir()
    write_settings(
        project, config='[sources.a]\nbucket_url = "inbox"\n[sources.b]\nbucket_url = "file:///no/inbox"'
    )

    done = results()

    assert done["sources.a.bucket_url"]["fact"] == f"{project}/inbox can be read"
    assert done["sources.b.bucket_url"]["verdict"] == "failure"
    assert done["sources.b.bucket_url"]["fact"] == "/no/inbox is not a folder"


def test_a_bucket_is_listed_and_written_to_and_keeps_nothing(project: Path) -> None:
    document = result(project, config='[destination.delta]\nbucket_url = "memory://conns-lake"')

    assert document["verdict"] == "ok"
    assert document["fact"] == "listed, written to and deleted from; objects are created atomically"
    assert FileStorage("memory://conns-lake").tree("") == []


def test_the_bucket_of_a_source_is_only_listed(project: Path) -> None:
    FileStorage("memory://conns-inbox").put("a.csv", b"id")
    write_settings(
        project,
        config='[sources.a]\nbucket_url = "memory://conns-inbox"\n[sources.b]\nbucket_url = "memory://conns-no"',
    )

    done = results()

    assert done["sources.a.bucket_url"]["fact"] == "listed"
    assert done["sources.b.bucket_url"]["verdict"] == "failure"
    assert done["sources.b.bucket_url"]["fix"].endswith("sources.b.credentials")
    assert FileStorage("memory://conns-inbox").tree("") == ["a.csv"]


def test_a_bucket_that_cannot_be_reached_fails(project: Path, closed_port: int) -> None:
    document = result(
        project,
        config='[destination.delta]\nbucket_url = "s3://lake/raw"\n',
        secrets="[destination.delta.credentials]\n"
        f'endpoint_url = "http://127.0.0.1:{closed_port}"\naws_access_key_id = "AKEXAMPLEKEY"\n'
        f'aws_secret_access_key = "{SECRET}"',
    )

    assert document["verdict"] == "failure"
    assert "cannot be reached" in document["fact"]


# --- APIs


@pytest.mark.parametrize(
    ("path", "settings"),
    [
        ("secure/bearer", f'auth = {{type = "bearer", token = "{TOKEN}"}}'),
        ("secure/bearer", f'auth = "bearer"\ncredentials = {{token = "{TOKEN}"}}'),
        ("secure/basic", f'auth = {{type = "http_basic", username = "{USER}", password = "{PASSWORD}"}}'),
        ("secure/header", f'headers = {{X-Key = "{KEY}"}}'),
        ("secure/oauth", OAUTH),
    ],
)
def test_an_api_is_requested_with_the_auth_of_the_settings(
    project: Path, api: Api, path: str, settings: str
) -> None:
    document = result(
        project,
        secrets=f'[sources.hub]\nbase_url = "{api.url}/{path}"\n{settings.replace("URL", api.url)}',
    )

    assert document["verdict"] == "ok", document["fact"]
    assert document["fact"].startswith("responds with 200 OK")
    assert [seen[1] for seen in api.seen][-1] == "GET"


def test_a_client_of_a_source_is_an_api(project: Path, api: Api) -> None:
    document = result(
        project,
        secrets=f'[sources.hub.client]\nbase_url = "{api.url}/secure/bearer"\nauth = {{token = "{TOKEN}"}}',
    )

    assert (document["name"], document["verdict"]) == ("sources.hub.client.base_url", "ok")


def test_a_refused_request_names_the_auth(project: Path, api: Api) -> None:
    document = result(
        project,
        secrets=f'[sources.hub]\nbase_url = "{api.url}/secure/bearer"\nauth = {{token = "not-the-token"}}',
    )

    assert document["verdict"] == "failure"
    assert document["fact"] == "responds with 401 Unauthorized, auth bearer"
    assert document["fix"].startswith("check auth: ")


def test_a_refused_request_for_a_token_names_the_auth(project: Path, api: Api) -> None:
    document = result(
        project,
        secrets=f'[sources.hub]\nbase_url = "{api.url}/secure/oauth"\n'
        + OAUTH.replace("URL", api.url).replace(PASSWORD, SECRET),
    )

    assert document["verdict"] == "failure"
    assert document["fact"].startswith("no token: 401 Client Error")


def test_an_unknown_auth_is_a_failure_with_the_one_that_was_meant(project: Path, api: Api) -> None:
    document = result(project, secrets=f'[sources.hub]\nbase_url = "{api.url}"\nauth = {{type = "baerer"}}')

    assert document["verdict"] == "failure"
    assert "did you mean 'bearer'?" in document["fix"]


@pytest.mark.parametrize(
    ("path", "verdict", "fact"),
    [
        ("nothing", "warning", "responds with 404 Not Found, no auth; base_url alone"),
        ("flaky/x/503/9", "failure", "responds with 503 Service Unavailable"),
        ("moved/single", "ok", "responds with 30"),
    ],
)
def test_other_statuses_state_what_was_tested(
    project: Path, api: Api, path: str, verdict: str, fact: str
) -> None:
    document = result(project, config=f'[sources.hub]\nbase_url = "{api.url}/{path}"')

    assert document["verdict"] == verdict
    assert document["fact"].startswith(fact)
