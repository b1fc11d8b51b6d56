"""Tokens that expire while a request waits."""

from __future__ import annotations

from typing import Any

import requests
from tests.unit.sources.rest.fake_hosts import Answer, FakeHosts, session_to

from penstock.sources.rest import OAuth2ClientCredentials, RESTClient, RetrySession
from penstock.sources.rest.signers import CredentialsRequest, TokenSigner

API, OTHER = "https://api.test", "https://other.test"


class World:
    """A clock that only waiting moves, and hosts that give tokens of a minute."""

    def __init__(self, *, busy: int = 0, seconds: int = 60) -> None:
        self.now, self.tokens, self.busy, self.seconds = 0.0, 0, busy, seconds
        self.hosts, self.given = FakeHosts(self.answer), list[float]()

    def wait(self, seconds: float = 40) -> None:
        self.now += seconds

    def answer(self, request: requests.PreparedRequest) -> Answer:
        if str(request.url).endswith("token"):
            self.tokens += 1
            self.given.append(self.now)
            return 200, {"access_token": f"t{self.tokens}", "expires_in": self.seconds}, {}
        if self.busy:
            self.busy -= 1
            return 429, {}, {"Retry-After": "70"}
        if str(request.url).endswith("moved"):
            return 302, {}, {"Location": f"{OTHER}/x"}
        return 200, {"data": [{"id": 1}]}, {}

    def session(self, **how: Any) -> RetrySession:
        return session_to(self.hosts, sleep=self.wait, **how)

    def signer(self) -> TokenSigner:
        request = CredentialsRequest("us", "secret", {}, 60)
        return TokenSigner(
            url=f"{API}/token",
            build_request=request.build,
            parse_response=request.parse_response,
            clock=lambda: self.now,
        )

    def asked(self) -> list[tuple[str, str | None]]:
        return [(url.rpartition("/")[2], value) for url, value in self._both()]

    def _both(self) -> Any:
        return zip(self.hosts.urls, self.hosts.header_values("Authorization"), strict=True)


def test_a_token_that_expired_before_its_request_is_renewed() -> None:
    world = World()
    client = RESTClient(API, auth=world.signer(), session=world.session(pace=lambda: world.wait(70)))

    client.get("x")
    world.seconds = 600
    client.get("y")

    # The token for x is a new one: it took a turn itself, and the one before did not outlive the wait.
    assert world.asked() == [
        *(("token", None), ("token", None), ("x", "Bearer t2")),
        *(("token", None), ("y", "Bearer t3")),
    ]


def test_a_token_that_expired_during_retries_is_renewed() -> None:
    world = World(busy=2)
    client = RESTClient(API, auth=world.signer(), session=world.session())

    assert client.get("x").status_code == 200
    assert world.asked() == [
        *(("token", None), ("x", "Bearer t1")),
        *(("token", None), ("x", "Bearer t2")),
        *(("token", None), ("x", "Bearer t3")),
    ]


def test_a_valid_token_is_reused_for_retries() -> None:
    world = World(busy=2, seconds=600)
    client = RESTClient(API, auth=world.signer(), session=world.session())

    assert client.get("x").status_code == 200
    assert world.asked() == [("token", None), *[("x", "Bearer t1")] * 3]


def test_another_host_receives_no_renewed_token() -> None:
    world = World()
    client = RESTClient(API, auth=world.signer(), session=world.session(pace=lambda: world.wait(70)))

    client.get("moved")

    assert world.asked()[-2:] == [("moved", "Bearer t2"), ("x", None)]
    assert world.tokens == 2


def test_authentication_from_settings_is_renewed_too() -> None:
    world = World(busy=1)
    auth = OAuth2ClientCredentials(access_token_url=f"{API}/token", client_id="us", client_secret="secret-19")
    auth.signing()._clock = lambda: world.now
    client = RESTClient(API, auth=auth, session=world.session())

    client.get("x")

    assert world.asked()[-1] == ("x", "Bearer t2")
    assert auth.access_token == "t2"


def test_a_session_of_the_user_is_paced_before_signing() -> None:
    world = World()
    session = requests.Session()
    session.mount("https://", world.hosts)
    client = RESTClient(API, auth=world.signer(), session=session)
    client.paced_by(lambda: world.wait(70))

    client.get("x")
    client.get("y")

    assert world.asked() == [
        *(("token", None), ("x", "Bearer t1")),
        *(("token", None), ("y", "Bearer t2")),
    ]
    assert world.given == [70, 140]
