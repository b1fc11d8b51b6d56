"""Credentials of clouds and servers: from files, the environment and native values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.restapi import PASSWORD, TOKEN, USER, Api

from penstock.config import (
    AwsCredentials,
    AwsCredentialsWithoutDefaults,
    AzureCredentials,
    AzureCredentialsWithoutDefaults,
    AzureServicePrincipalCredentials,
    AzureServicePrincipalCredentialsWithoutDefaults,
    BaseConfiguration,
    CredentialsConfiguration,
    GcpOAuthCredentials,
    GcpOAuthCredentialsWithoutDefaults,
    GcpServiceAccountCredentials,
    GcpServiceAccountCredentialsWithoutDefaults,
    OAuth2Credentials,
    Settings,
    SFTPCredentials,
    configspec,
    read_settings,
    resolve_configuration,
)
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced, UsageError

if TYPE_CHECKING:
    from pathlib import Path

KEY = "-----BEGIN PRIVATE KEY-----\nsecret-7\n-----END PRIVATE KEY-----\n"
ACCOUNT = {
    "type": "service_account",
    "project_id": "shop",
    "private_key_id": "k1",
    "private_key": KEY,
    "client_email": "reader@shop.test",
    "client_x509_cert_url": "https://id.test/cert",
}
LOGIN = {"client_id": "us", "client_secret": "secret-8", "refresh_token": "secret-9", "project_id": "shop"}

FIELDS: dict[type[CredentialsConfiguration], dict[str, str]] = {
    GcpServiceAccountCredentialsWithoutDefaults: {
        "project_id": "shop",
        "private_key": KEY,
        "client_email": "reader@shop.test",
    },
    GcpOAuthCredentialsWithoutDefaults: LOGIN,
    OAuth2Credentials: {"client_id": "us", "client_secret": "secret-8"},
    AzureCredentialsWithoutDefaults: {
        "azure_storage_account_name": "shop",
        "azure_storage_sas_token": "secret-6",
    },
    AzureServicePrincipalCredentialsWithoutDefaults: {
        "azure_storage_account_name": "shop",
        "azure_tenant_id": "t1",
        "azure_client_id": "c1",
        "azure_client_secret": "secret-5",
    },
    AwsCredentialsWithoutDefaults: {"aws_access_key_id": "AK1", "aws_secret_access_key": "secret-4"},
}
SPECS = pytest.mark.parametrize("spec", FIELDS, ids=lambda spec: spec.__name__)


def resolve(spec: type[Any], environment: dict[str, str]) -> Any:
    return resolve_configuration(spec, settings=Settings(environment=environment))


def parsed(spec: Any, native: Any) -> Any:
    return spec(native)


@SPECS
def test_fields_come_from_the_environment(spec: type[CredentialsConfiguration]) -> None:
    environment = {f"CREDENTIALS__{name.upper()}": value for name, value in FIELDS[spec].items()}

    credentials = resolve(spec, environment)

    assert {name: getattr(credentials, name) for name in FIELDS[spec]} == FIELDS[spec]
    assert "secret-" not in repr(credentials)
    assert "secret-" not in str(credentials)


@SPECS
def test_fields_come_from_a_file(
    spec: type[CredentialsConfiguration], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (f"{name} = {json.dumps(value)}" for name, value in FIELDS[spec].items())
    (tmp_path / ".penstock").mkdir()
    (tmp_path / ".penstock" / "secrets.toml").write_text("\n".join(("[sources.hub.credentials]", *lines)))
    monkeypatch.chdir(tmp_path)

    credentials = resolve_configuration(spec, settings=read_settings(), sections=("sources", "hub"))

    assert {name: getattr(credentials, name) for name in FIELDS[spec]} == FIELDS[spec]


@SPECS
def test_a_json_text_sets_all_fields(spec: type[CredentialsConfiguration]) -> None:
    credentials = resolve(spec, {"CREDENTIALS": json.dumps(FIELDS[spec])})

    assert {name: getattr(credentials, name) for name in FIELDS[spec]} == FIELDS[spec]
    assert spec(FIELDS[spec]) == spec(json.dumps(FIELDS[spec]))


@SPECS
def test_missing_fields_are_named_with_their_places(spec: type[CredentialsConfiguration]) -> None:
    with pytest.raises(ConfigFieldMissing) as failure:
        resolve(spec, {})

    for name in FIELDS[spec]:
        assert f"CREDENTIALS__{name.upper()}" in str(failure.value)


@pytest.mark.parametrize("native", [ACCOUNT, json.dumps(ACCOUNT)])
def test_a_key_file_of_a_service_account_may_have_more_keys(native: Any) -> None:
    account = parsed(GcpServiceAccountCredentials, native)
    by_method = GcpServiceAccountCredentials()
    by_method.parse_native_representation(native)

    assert account == by_method
    assert (account.project_id, account.private_key, str(account)) == (
        "shop",
        KEY,
        "reader@shop.test@shop",
    )
    assert repr(account.private_key) == "***"
    assert json.loads(account.to_native_representation())["private_key"] == KEY
    assert account.to_gcs_credentials()["token"]["type"] == "service_account"


def test_escaped_line_breaks_of_a_key_are_restored() -> None:
    escaped = {**ACCOUNT, "private_key": KEY.rstrip().replace("\n", "\\n")}

    assert resolve(GcpServiceAccountCredentials, {"CREDENTIALS": json.dumps(escaped)}).private_key == KEY


@pytest.mark.parametrize("kind", ["installed", "plain"])
def test_a_client_file_of_oauth_is_parsed(kind: str) -> None:
    content: Any = {"installed": LOGIN} if kind == "installed" else {**LOGIN, "type": "authorized_user"}

    login = parsed(GcpOAuthCredentials, content)

    assert (login.client_id, login.refresh_token, str(login)) == ("us", "secret-9", "us@shop")
    assert parsed(GcpOAuthCredentials, login.to_native_representation()) == login


@configspec
class AnyLogin(BaseConfiguration):
    credentials: GcpServiceAccountCredentials | GcpOAuthCredentials


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (ACCOUNT, GcpServiceAccountCredentials),
        ({**LOGIN, "type": "authorized_user"}, GcpOAuthCredentials),
        ({"installed": LOGIN}, GcpOAuthCredentials),
    ],
)
def test_the_content_decides_which_member_of_a_union_it_is(content: Any, expected: type) -> None:
    resolved = resolve(AnyLogin, {"CREDENTIALS": json.dumps(content)})

    assert type(resolved.credentials) is expected


@pytest.mark.parametrize("native", ["no json", 5, {"type": "authorized_user"}])
def test_another_value_is_refused(native: Any) -> None:
    with pytest.raises(ValueError, match="credentials"):
        parsed(GcpServiceAccountCredentials, native)


def test_a_refused_text_is_not_shown() -> None:
    with pytest.raises(ConfigValueCannotBeCoerced) as failure:
        resolve(GcpServiceAccountCredentials, {"CREDENTIALS": "hush-hush-7"})

    assert "hush-hush" not in str(failure.value)


def test_a_token_is_requested_with_the_refresh_token() -> None:
    with Api() as api:
        login = parsed(GcpOAuthCredentials, {**LOGIN, "client_id": USER, "client_secret": PASSWORD})
        login.token_uri = f"{api.url}/token"

        login.auth(["read", "write"])

    assert (login.token, login.scopes) == (f"{TOKEN}-1", ["read", "write"])
    assert api.seen[0][3]["grant_type"] == "refresh_token"
    assert repr(login.token) == "***"


def test_a_token_without_a_refresh_token_is_refused() -> None:
    login = GcpOAuthCredentials(client_id="us", client_secret="secret-8", project_id="shop")

    with pytest.raises(UsageError, match="no refresh token"):
        login.auth("read")


@pytest.mark.parametrize(
    ("credentials", "package"),
    [
        (parsed(GcpServiceAccountCredentialsWithoutDefaults, ACCOUNT), "google-auth"),
        (parsed(GcpOAuthCredentials, LOGIN), "google-auth"),
    ],
)
def test_a_missing_client_library_is_named(
    credentials: Any, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("google.oauth2.service_account", "google.oauth2.credentials"):
        monkeypatch.setitem(__import__("sys").modules, module, None)

    with pytest.raises(UsageError, match=f"pip install {package}"):
        credentials.to_native_credentials()


def test_the_key_of_an_azure_account_replaces_its_token() -> None:
    environment = {
        "CREDENTIALS__AZURE_STORAGE_ACCOUNT_NAME": "shop",
        "CREDENTIALS__AZURE_STORAGE_ACCOUNT_KEY": "secret-3",
    }

    for spec in (AzureCredentials, AzureCredentialsWithoutDefaults):
        assert resolve(spec, environment).to_adlfs_credentials() == {
            "account_name": "shop",
            "account_host": None,
            "account_key": "secret-3",
            "sas_token": None,
        }


def test_an_azure_principal_is_passed_to_adlfs() -> None:
    fields: Any = FIELDS[AzureServicePrincipalCredentialsWithoutDefaults]

    assert AzureServicePrincipalCredentials(**fields).to_adlfs_credentials() == {
        "account_name": "shop",
        "account_host": None,
        "tenant_id": "t1",
        "client_id": "c1",
        "client_secret": "secret-5",
    }


def test_sftp_fields_become_arguments_of_the_file_system() -> None:
    environment = {"CREDENTIALS__SFTP_USERNAME": "ada", "CREDENTIALS__SFTP_KEY_PASSPHRASE": "secret-2"}

    arguments = resolve(SFTPCredentials, environment).to_fsspec_credentials()

    assert (arguments["username"], arguments["passphrase"], arguments["port"]) == ("ada", "secret-2", 22)
    assert resolve(SFTPCredentials, {}).sftp_allow_agent is True


def test_aws_keys_are_exchanged_with_a_session_of_botocore() -> None:
    pytest.importorskip("botocore")
    keys = AwsCredentials(aws_access_key_id="AK1", aws_secret_access_key="secret-4", region_name="eu-west-1")

    session = keys.to_botocore_session()

    assert session.get_credentials().secret_key == "secret-4"
    assert session.get_config_variable("region") == "eu-west-1"
    assert parsed(AwsCredentials, session) == keys
    assert keys.to_s3fs_credentials()["client_kwargs"] == {"region_name": "eu-west-1"}


@configspec
class Derived(CredentialsConfiguration):
    host: str = None  # type: ignore[assignment]
    port: int = None  # type: ignore[assignment]
    note: str = "none"

    def on_partial(self) -> bool | None:
        self.port = self.port or 22
        return None


def test_a_spec_completes_fields_that_no_provider_has() -> None:
    derived = resolve(Derived, {"CREDENTIALS__HOST": "db"})

    assert (derived.host, derived.port, derived.is_partial()) == ("db", 22, False)
    with pytest.raises(ConfigFieldMissing, match="host"):
        resolve(Derived, {})
