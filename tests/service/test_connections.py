"""`penstock conns` with the Postgres and the S3 gateway that `make up` starts."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from tests.doc_blocks import doc_blocks
from tests.restapi import Api
from tests.service.bucket import keys
from tests.service.postgres import URL
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.package import FileStorage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without settings."""
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".penstock").mkdir()
    return tmp_path


def result(project: Path, secrets: str) -> dict[str, str]:
    """Return the only result with these secrets."""
    path = project / ".penstock" / "secrets.toml"
    path.write_text(secrets)
    path.chmod(0o600)
    document: dict[str, str] = json.loads(
        CliRunner().invoke(app, ["conns", "--json", "--timeout", "60"]).stdout
    )
    return document


def test_a_login_at_postgres_works(project: Path) -> None:
    document = result(project, f'[sources.shop]\ncredentials = "{URL}"')

    assert document["verdict"] == "ok", document["fact"]
    assert f"logged in as {urlsplit(URL).username}, Postgres " in document["fact"]
    assert str(urlsplit(URL).password) not in str(document)


def test_a_wrong_password_is_a_failure(project: Path) -> None:
    wrong = URL.replace(str(urlsplit(URL).password), "not-the-password-77")

    document = result(project, f'[sources.shop]\ncredentials = "{wrong}"')

    assert document["verdict"] == "failure"
    assert "password authentication failed" in document["fact"]
    assert "not-the-password-77" not in str(document)


def bucket_settings(section: str, location: str, *, conditional_writes: bool = True) -> str:
    return f"""
        [{section}]
        bucket_url = "{location}"
        [{section}.credentials]
        aws_access_key_id = "{os.environ["PENSTOCK_TEST_S3_KEY"]}"
        aws_secret_access_key = "{os.environ["PENSTOCK_TEST_S3_SECRET"]}"
        endpoint_url = "{os.environ["PENSTOCK_TEST_S3_ENDPOINT"]}"
        conditional_writes = {str(conditional_writes).lower()}
    """


def test_a_bucket_is_written_to_and_keeps_nothing(project: Path, location: str) -> None:
    document = result(project, bucket_settings("destination.delta", location))

    assert document["fact"] == "listed, written to and deleted from; objects are created atomically"
    assert FileStorage(location, credentials=keys()).tree("") == []


def test_a_bucket_without_atomic_creates_is_a_failure(project: Path, location: str) -> None:
    document = result(project, bucket_settings("destination.delta", location, conditional_writes=False))

    assert document["verdict"] == "failure"
    assert "has no atomic create" in document["fact"]
    assert "conditional_writes" in document["fix"]


def test_a_bucket_of_a_source_is_only_listed(project: Path, location: str) -> None:
    FileStorage(location, credentials=keys()).put("a.csv", b"id")

    document = result(project, bucket_settings("sources.inbox", location))

    assert (document["verdict"], document["fact"]) == ("ok", "listed")
    assert FileStorage(location, credentials=keys()).tree("") == ["a.csv"]


def test_a_bucket_that_does_not_exist_is_a_failure(project: Path) -> None:
    document = result(project, bucket_settings("destination.delta", "s3://no-such-bucket-77/lake"))

    assert document["verdict"] == "failure"
    assert document["fix"].startswith("check the bucket")


def test_the_page_shows_the_output(project: Path, location: str) -> None:
    (block,) = (block for block in doc_blocks("docs/command-line.md") if "conns" in block.text)
    with Api() as api:
        crm = f"mysql://{urlsplit(api.url).netloc}"
        (project / ".penstock" / "secrets.toml").write_text(
            f"""
            {bucket_settings("destination.delta", location)}
            [sources.hub]
            base_url = "{api.url}/secure/bearer"
            auth = {{type = "bearer", token = "wrong-token-77"}}
            [sources.shop]
            credentials = "{URL}"
            [sources.crm]
            credentials = "{crm}/crm"
            """
        )
        done = CliRunner().invoke(app, [*block.commands[0][1:], "--timeout", "60"], env={"COLUMNS": "200"})

    addresses = {
        location: "s3://lake/raw",
        f"{api.url}/secure/bearer": "https://api.example.com/v1",
        crm: "mysql://crm.example.com",
        urlsplit(api.url).netloc: "crm.example.com:3306",
        f"{urlsplit(URL).hostname}:{urlsplit(URL).port}:": "db.example.com:5432:",
    }
    output = done.stdout
    for address, shown in addresses.items():
        output = output.replace(address, shown)
    assert done.exit_code == 1
    assert _settled(output) == _settled(block.text.partition("\n")[2])


def _settled(text: str) -> str:
    """Return a text without the account, the version and the TLS of a server."""
    text = re.sub(r"\(postgresql://.*\)", "(SERVER)", text)
    return re.sub(r"logged in as .*", "logged in", text)
