"""Messages of requests, with masked secrets."""

from __future__ import annotations

from typing import Any

import pytest
import requests
from tests.unit.sources.rest.fake_hosts import FakeHosts, session_to

from penstock.errors import InvalidSourceConfig, UsageError
from penstock.sources.rest import APIKeyAuth, AuthConfigBase, BearerTokenAuth, RESTClient
from penstock.sources.rest.retry import retry_after_seconds, retry_delay
from penstock.sources.rest.signers import CredentialsRequest, TokenSigner
from penstock.sources.rest.urls import masked_text, masked_url
from penstock.sources.rest_api import rest_api_source

API, SECRET = "https://api.test", "secret-of-the-tests-13"


def token_signer(hosts: FakeHosts) -> TokenSigner:
    request = CredentialsRequest("us", "x", {}, 60)
    signer = TokenSigner(
        url=f"{API}/token", build_request=request.build, parse_response=request.parse_response
    )
    signer.session = session_to(hosts)
    return signer


@pytest.mark.parametrize("end", ["\n", "\r\n", "\x00", "\x7f", "\n more"])
@pytest.mark.parametrize(
    ("kind", "header"),
    [("bearer", "Authorization"), ("X-Key", "X-Key"), ("cookie", "Cookie"), ("oauth", "Authorization")],
)
def test_an_invalid_header_value_is_rejected_with_the_header_name(kind: str, header: str, end: str) -> None:
    secret_text = SECRET + end
    hosts = FakeHosts(lambda _: (200, {"access_token": secret_text}, {}))
    auths: dict[str, Any] = {
        "bearer": lambda: BearerTokenAuth(secret_text),
        "X-Key": lambda: APIKeyAuth(name="X-Key", api_key=secret_text),
        "cookie": lambda: APIKeyAuth(name="k", api_key=secret_text, location="cookie"),
        "oauth": lambda: token_signer(hosts),
    }
    client = RESTClient(API, auth=auths[kind](), session=session_to(hosts))

    with pytest.raises(UsageError, match=f"the header {header} has control characters") as refused:
        client.get("x")
    assert SECRET not in f"{refused.value!r} {refused.value}"


@pytest.mark.parametrize("auth", [SECRET, {"type": SECRET}], ids=["text", "type"])
def test_an_invalid_authentication_is_not_shown(auth: Any) -> None:
    config: Any = {"client": {"base_url": API, "auth": auth}, "resources": []}

    with pytest.raises(InvalidSourceConfig, match="not a known authentication") as refused:
        rest_api_source(config)
    assert SECRET not in str(refused.value)
    assert "bearer, api_key, http_basic, oauth2_client_credentials" in refused.value.hint


def test_a_client_shows_no_secret() -> None:
    shown = repr(RESTClient(f"https://ada:{SECRET}@api.test/v1?private_token={SECRET}"))

    assert shown == "RESTClient('https://***@api.test/v1?private_token=***')"


SECRETS = [
    *("token", "private_token", "refresh_token", "access-token", "accessToken", "api_tokens"),
    *("key", "apikey", "api_key", "API-KEY", "subscription-key", "keys", "client_secret", "password", "pwd"),
    *("X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "sig", "auth", "oauth", "credentials"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_parameter_named_like_a_secret_is_masked(name: str) -> None:
    url = f"{API}/x?{name}={SECRET}&page=2"

    assert masked_url(url) == f"{API}/x?{name}=***&page=2"
    assert masked_text(f"cannot ask {url}", url) == f"cannot ask {API}/x?{name}=***&page=2"


@pytest.mark.parametrize("name", ["page", "keyword", "tokenize", "secretary", "author", "since"])
def test_other_parameters_are_shown(name: str) -> None:
    url = f"{API}/x?{name}=value"

    assert masked_url(url) == url
    assert masked_text(url, url) == url


def test_a_short_secret_is_masked_only_after_its_name() -> None:
    url = f"{API}/x?sort_key=a"

    assert masked_text(f"cannot ask {url}", url) == f"cannot ask {API}/x?sort_key=***"


class Odd(requests.ConnectionError):
    def __init__(self, number: int, more: str) -> None:
        super().__init__(f"{number} {more}")


class Missing(Odd):
    def __init__(self, *args: Any, **how: Any) -> None:
        super().__init__(how["number"], how["more"])


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (lambda text: Odd(1, text), requests.ConnectionError),
        (lambda text: Missing(number=1, more=text), requests.ConnectionError),
        (lambda text: requests.JSONDecodeError(text, "{", 0), requests.exceptions.InvalidJSONError),
        (requests.exceptions.ReadTimeout, requests.exceptions.ReadTimeout),
        (requests.RequestException, requests.RequestException),
    ],
)
def test_every_error_of_a_request_is_raised_without_secrets(error: Any, kind: type[Exception]) -> None:
    def answer(request: requests.PreparedRequest) -> Any:
        raise error(f"no way to {request.url}")

    client = RESTClient(API, session=session_to(FakeHosts(answer), attempts=1))

    with pytest.raises(requests.RequestException, match=r"no way to .*token=\*\*\*") as raised:
        client.get("x", params={"token": SECRET})
    assert type(raised.value) is kind
    assert raised.value.__context__ is None


@pytest.mark.parametrize(
    "secret_text",
    ["0", "00", " 0 ", "Fri, 31 Dec 99999999999999999999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 +2300"],
)
def test_an_invalid_retry_after_does_not_change_the_backoff(secret_text: str) -> None:
    assert retry_after_seconds(secret_text) is None
    assert retry_delay(3, secret_text) == 4.0


def test_the_base_of_authentication_has_no_signer() -> None:
    assert AuthConfigBase().signer() is None
