"""Tokens that are requested with signed claims."""

from __future__ import annotations

import base64
import json
import pickle
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.sources.rest.fake_hosts import Answer, FakeHosts, session_to

from penstock.config import Settings, resolve_configuration
from penstock.errors import ConfigFieldMissing, MissingExtra, UsageError
from penstock.sources.helpers.rest_client.auth import OAuthJWTAuth
from penstock.sources.rest import RESTClient
from penstock.sources.rest.jwt_assertion import AssertionRequest, PrivateKey

if TYPE_CHECKING:
    import requests

API = "https://api.test"


def request_of(key: PrivateKey) -> AssertionRequest:
    return AssertionRequest(
        issuer="us",
        audience=f"{API}/token",
        scope="read write",
        headers={"X-Org": "1"},
        private_key=key,
        default_lifetime=60,
        clock=lambda: 1000.5,
    )


def generate_key(password: str | None = None) -> tuple[Any, str]:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    encryption: Any = (
        serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    ).decode()
    return key, pem


def decoded(part: str) -> Any:
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_the_claims_have_the_times_of_one_hour() -> None:
    assert request_of(PrivateKey("x")).claims() == {
        "iss": "us",
        "sub": "us",
        "aud": f"{API}/token",
        "exp": 4600,
        "iat": 1000,
        "scope": "read write",
    }


@pytest.mark.parametrize("scopes", ["read write", ["read", "write"]])
def test_scopes_are_a_text_or_a_list(scopes: Any) -> None:
    auth = OAuthJWTAuth(client_id="us", private_key="x7", auth_endpoint=API, scopes=scopes)

    assert auth.create_jwt_payload()["scope"] == "read write"
    assert (
        "scope" not in OAuthJWTAuth(client_id="us", private_key="x7", auth_endpoint=API).create_jwt_payload()
    )


def test_a_missing_library_is_reported_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hashes", None)

    with pytest.raises(MissingExtra, match=r"penstock\[jwt\]"):
        PrivateKey("x").sign(b"message")


def test_the_fields_come_from_settings() -> None:
    environment = {
        "CREDENTIALS__CLIENT_ID": "us",
        "CREDENTIALS__PRIVATE_KEY": "key-7-of-settings",
        "CREDENTIALS__AUTH_ENDPOINT": API,
        "CREDENTIALS__SCOPES": "read write",
    }

    auth = resolve_configuration(OAuthJWTAuth, settings=Settings(environment=environment))

    assert (auth.private_key, auth.scopes) == ("key-7-of-settings", "read write")
    assert "key-7" not in repr(auth)
    with pytest.raises(ConfigFieldMissing, match="auth_endpoint"):
        resolve_configuration(OAuthJWTAuth, settings=Settings(environment={}))


@pytest.mark.parametrize("password", [None, "hush-7"])
def test_the_signature_is_verified_by_the_public_key(password: str | None) -> None:
    key, pem = generate_key(password)
    hashes = pytest.importorskip("cryptography.hazmat.primitives.hashes")
    padding = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.padding")
    request = request_of(PrivateKey(pem, password))
    message, _, signature = request.assertion().rpartition(".")
    raw = base64.urlsafe_b64decode(signature + "==")

    key.public_key().verify(raw, message.encode(), padding.PKCS1v15(), hashes.SHA256())
    header, claims = message.split(".")
    assert decoded(header) == {"alg": "RS256", "typ": "JWT"}
    assert decoded(claims) == request.claims()


def test_a_text_that_is_not_a_key_is_reported_without_it() -> None:
    pytest.importorskip("cryptography")

    with pytest.raises(UsageError, match="private key cannot be read") as failure:
        PrivateKey("-----BEGIN hush-hush-7").load()

    assert "hush-hush" not in str(failure.value)


def test_a_token_is_requested_once_and_again_after_it_expired() -> None:
    _, pem = generate_key()
    requested: list[str] = []

    def answer(request: requests.PreparedRequest) -> Answer:
        if str(request.url).endswith("token"):
            requested.append(str(request.body))
            return 200, {"access_token": f"t{len(requested)}", "expires_in": 60}, {}
        return 200, [{"id": 1}], {}

    hosts = FakeHosts(answer)
    auth = OAuthJWTAuth(client_id="us", private_key=pem, auth_endpoint=f"{API}/token", headers={"X-Org": "1"})
    client = RESTClient(API, auth=auth, session=session_to(hosts))

    for _ in range(2):
        assert client.get("rows").status_code == 200
    assert auth.token == "t1"
    assert not auth.is_token_expired()
    auth.signing()._expires_at = 0
    client.get("rows")

    assert hosts.header_values("Authorization") == [None, "Bearer t1", "Bearer t1", None, "Bearer t2"]
    assert hosts.seen[0].headers["X-Org"] == "1"
    assert "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=" in requested[0]


def test_the_signer_is_pickled_without_the_configuration() -> None:
    auth = OAuthJWTAuth(client_id="us", private_key="x7", auth_endpoint=API)

    signer = pickle.loads(pickle.dumps(auth))

    assert type(signer).__name__ == "TokenSigner"
    assert signer.url == API
