"""A client and its parts after pickling and serialization by value."""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any

import pytest
import requests
from pyspark import cloudpickle

from penstock.sources.rest import BearerTokenAuth, OAuth2ClientCredentials, RESTClient, RetrySession
from penstock.sources.rest.signers import HeaderSigner, TokenSigner

if TYPE_CHECKING:
    from collections.abc import Callable

API, SECRET = "https://api.test/v1", "secret-of-the-tests-12"


class Tenant(BearerTokenAuth):
    """As users write their own."""

    tenant: str = "one"

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        signed = super().__call__(request)
        signed.headers["X-Tenant"] = self.tenant
        return signed


class Named(OAuth2ClientCredentials):
    def parse_access_token(self, response_json: Any) -> str:
        return str(response_json["name"])


class Short(BearerTokenAuth):
    def signer(self) -> HeaderSigner:
        return HeaderSigner("X-Short", str(self.token))


def by_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


def by_value(thing: Any) -> Any:
    packing: Any = cloudpickle
    return packing.loads(packing.dumps(thing))


WAYS = pytest.mark.parametrize("journey", [by_pickle, by_value])


def signed(auth: Any) -> requests.PreparedRequest:
    return requests.Request("GET", API, auth=auth).prepare()


@WAYS
def test_custom_authentication_signs_equally_when_unpickled(journey: Callable[[Any], Any]) -> None:
    headers = signed(journey(Tenant(token=SECRET, tenant="two"))).headers

    assert headers["X-Tenant"] == "two"
    assert headers["Authorization"] == f"Bearer {SECRET}"


@WAYS
def test_authentication_is_pickled_as_plain_signers(journey: Callable[[Any], Any]) -> None:
    oauth = OAuth2ClientCredentials(access_token_url=API, client_id="us", client_secret=SECRET)
    named = Named(access_token_url=API, client_id="us", client_secret=SECRET)

    assert type(journey(BearerTokenAuth(SECRET))) is HeaderSigner
    assert type(journey(oauth)) is TokenSigner
    assert journey(named).parse_access_token({"name": "x"}) == "x"
    assert signed(journey(Short(token=SECRET))).headers["X-Short"] == SECRET


@WAYS
def test_a_session_is_pickled_with_its_settings(journey: Callable[[Any], Any]) -> None:
    session = RetrySession(
        timeout=7,
        attempts=3,
        backoff=0.5,
        max_delay=9,
        retried=(429,),
        pace=lambda: None,
        sleep=lambda _: None,
    )
    session.headers["X-Said"] = "hello"
    session.cookies.set("c", "d")
    session.verify, session.cert = "ca.pem", ("us.pem", "us.key")
    session.proxies = {"https": "http://proxy.test"}
    session.auth = ("ada", SECRET)
    client = RESTClient(API, session=session, headers={"Accept": "x"})

    copy = journey(client)

    assert copy.headers == client.headers
    assert isinstance(copy.session, RetrySession)
    assert copy.session.settings() == session.settings()
    for name in ("headers", "verify", "cert", "proxies", "auth"):
        assert getattr(copy.session, name) == getattr(session, name)
    assert copy.session.cookies.get("c") == "d"
    assert sorted(copy.session.adapters) == sorted(session.adapters)
    assert (copy.session.pace, copy.session._sleep) == (None, time.sleep)
    assert 429 in copy.session.retried


@WAYS
def test_tokens_are_requested_through_the_configured_session(journey: Callable[[Any], Any]) -> None:
    session = RetrySession()
    session.verify = "ca.pem"
    auth = OAuth2ClientCredentials(
        access_token_url=API, client_id="us", client_secret=SECRET, session=session
    )

    copy = journey(auth)
    copy.use_session(RetrySession())

    assert copy.session.verify == "ca.pem"
    assert (
        journey(OAuth2ClientCredentials(access_token_url=API, client_id="us", client_secret=SECRET)).session
        is None
    )
