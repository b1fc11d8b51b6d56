"""A planted secret does not show in anything that people print, log, raise or write."""

from __future__ import annotations

import copy
import dataclasses
import json
import logging
import pickle
import traceback
from pprint import pformat
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from penstock.config import (
    AwsCredentials,
    BaseConfiguration,
    ConnectionStringCredentials,
    RedactingFilter,
    SecretText,
    Settings,
    TSecretStrValue,
    TSecretValue,
    configspec,
    explain,
    redact,
    resolve_arguments,
    resolve_configuration,
    secrets_value,
)
from penstock.config.secret import as_secret
from penstock.config.signature import function_spec
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The sign in front is in no text of ours, so that what is found in one is the secret.
planted = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]),
    min_size=6,
    max_size=40,
).map(lambda text: f"~9{text.replace('*', '+')}")


@configspec
class Vaulted(BaseConfiguration):
    url: str = "https://example.com"
    key: TSecretStrValue
    anything: TSecretValue = None
    foreign: SecretStr | None = None
    keys: list[TSecretStrValue] | None = None
    credentials: ConnectionStringCredentials | None = None
    aws: AwsCredentials | None = None


def filled(secret: str) -> Vaulted:
    return Vaulted(
        key=secret,
        anything={"deep": [secret]},
        foreign=SecretStr(secret),
        keys=[secret],
        credentials=ConnectionStringCredentials(
            drivername="pg", username="ada", password=secret, host="db", query={"password": secret}
        ),
        aws=AwsCredentials(aws_access_key_id="id", aws_secret_access_key=secret, aws_session_token=secret),
    )


def printed(thing: Any) -> Iterator[str]:
    yield repr(thing)
    yield str(thing)
    yield f"{thing}"
    yield f"{thing!r:>10}"
    yield "%s %r" % (thing, thing)  # noqa: UP031 - one more way to print
    yield repr([thing]) + str({"it": thing}) + str((thing,))
    yield pformat({"it": thing})
    yield repr(ValueError("failed", thing))


@given(planted)
def test_a_spec_does_not_show_its_secrets(secret: str) -> None:
    spec = filled(secret)

    for text in printed(spec):
        assert secret not in text
    assert secret not in spec.model_dump_json()
    assert secret not in json.dumps(spec.model_dump(mode="json"))
    assert secret not in repr(spec.model_dump())
    assert secret not in repr(copy.deepcopy(spec))
    assert spec.key == secret


@given(planted)
def test_a_secret_in_a_public_field_is_masked(secret: str) -> None:
    SecretText(secret)

    for spec in (Vaulted(url=secret, key="k"), Vaulted(url=f"https://ada:{secret}@example.com", key="k")):
        for text in printed(spec):
            assert secret not in text


@given(planted)
def test_a_model_that_refuses_a_value_does_not_show_it(secret: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Vaulted(key=secret, aws=secret, nothing=secret)  # type: ignore[arg-type, call-arg]

    assert secret not in str(caught.value)
    assert secret not in repr(caught.value)


@given(planted)
def test_a_secret_in_a_container_does_not_show(secret: str) -> None:
    @dataclasses.dataclass
    class Holder:
        token: str

    token = SecretText(secret)

    for thing in ([token], {"token": token}, (token,), {token}, Holder(token), Holder([token])):  # type: ignore[arg-type]
        for text in printed(thing):
            assert secret not in text
    assert secret not in repr(token)
    assert secret not in repr(KeyError(token))


@given(planted)
def test_settings_and_their_values_are_masked(secret: str) -> None:
    settings = Settings(environment={"KEY": secret}, secrets={"aws": {"aws_secret_access_key": secret}})

    def source(key: str = secrets_value) -> None: ...

    arguments = resolve_arguments(function_spec(source), {}, settings=settings)

    for thing in (settings, settings.providers, arguments, explain(Vaulted, settings=settings)):
        for text in printed(thing):
            assert secret not in text
    for path in ("aws.aws_secret_access_key", "aws"):
        assert secret not in str(explain(path, settings=settings))


@given(planted)
def test_errors_do_not_show_values(secret: str) -> None:
    @configspec
    class Numbers(BaseConfiguration):
        pin: TSecretValue
        port: int

    tries: list[dict[str, Any]] = [
        {"environment": {"PORT": secret, "PIN": secret}},
        {"environment": {"PIN": secret}},
        {"document": {"pin": secret}},
    ]
    for told in tries:
        with pytest.raises(PenstockError) as caught:
            resolve_configuration(Numbers, settings=Settings(**told))
        shown = "".join(traceback.format_exception(caught.value))
        assert secret not in shown
        assert secret not in repr(vars(caught.value))


@given(planted, st.sampled_from(["pg://ada:{}@db:x/shop", "no url {}", "{}"]))
def test_a_connection_string_that_cannot_be_read_does_not_show(secret: str, form: str) -> None:
    assume(not {"/", "?"} & set(secret))  # these end a password that is not quoted
    with pytest.raises(PenstockError) as caught:
        resolve_configuration(
            ConnectionStringCredentials, settings=Settings(environment={"CREDENTIALS": form.format(secret)})
        )

    assert secret not in "".join(traceback.format_exception(caught.value))


@given(planted)
def test_logs_and_exceptions_with_the_plain_text_are_cleaned(secret: str) -> None:
    token = SecretText(secret)
    record = logging.makeLogRecord({"msg": f"Bearer {token} for", "args": (token,)})

    RedactingFilter().filter(record)

    assert secret not in record.getMessage()
    assert secret not in redact(str(ValueError(f"cannot use {token}")))


@given(planted)
def test_a_secret_text_works_as_the_text(secret: str) -> None:
    token = SecretText(secret)

    assert token == secret
    assert hash(token) == hash(secret)
    assert {secret: 1}[token] == 1
    assert f"Bearer {token}" == "Bearer " + token == f"Bearer {secret}"
    assert "Basic %s" % token == f"Basic {secret}"  # noqa: UP031 - what the test is about
    assert str(token) == secret
    assert token.encode() == secret.encode()
    assert "".join([token, token]) == secret * 2
    assert json.loads(json.dumps({"t": token})) == {"t": secret}
    assert orjson.loads(orjson.dumps({"t": token})) == {"t": secret}
    assert isinstance(token, str)


@given(planted)
def test_a_copy_stays_a_secret_and_a_pickle_is_plain_text(secret: str) -> None:
    token = SecretText(secret)

    assert copy.copy(token) is copy.deepcopy([token])[0] is token
    assert type(pickle.loads(pickle.dumps(token))) is str
    assert pickle.loads(pickle.dumps(token)) == secret


def test_texts_in_a_secret_object_are_secrets_and_numbers_stay() -> None:
    assert repr(as_secret({"a": "x", "b": ["y", 5], "c": None})) == "{'a': ***, 'b': [***, 5], 'c': None}"
    assert as_secret(SecretText("x")) == "x"


def test_a_missing_secret_is_shown_as_missing() -> None:
    assert repr(AwsCredentials()) == "AwsCredentials()"
    assert "password=None" in repr(ConnectionStringCredentials(drivername="pg")).replace("***", "None")
    assert json.loads(ConnectionStringCredentials(drivername="pg").model_dump_json())["password"] is None
