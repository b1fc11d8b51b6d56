"""What a trace keeps of the settings: those that counted, and never a secret."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

import pytest

from penstock.config import (
    AwsCredentials,
    BaseConfiguration,
    CustomLoaderDocProvider,
    ResolvedValue,
    ResolvedValues,
    Settings,
    TSecretStrValue,
    in_scope,
    resolve_arguments,
    resolve_configuration,
)
from penstock.config.signature import function_spec

HUSH = "hush-hush-hush"


class Api(BaseConfiguration):
    url: str = "https://example.com"
    pages: int = 10
    token: TSecretStrValue = None  # type: ignore[assignment]
    credentials: AwsCredentials | None = None


def found(settings: Settings, *sections: str, spec: type[BaseConfiguration] = Api) -> list[str]:
    resolved = ResolvedValues()
    with in_scope(resolved=resolved):
        resolve_configuration(spec, settings=settings, sections=sections)
    assert HUSH not in json.dumps([value.asdict() for value in resolved.values()])
    return [str(value) for value in resolved.values()]


def test_found_values_are_recorded_with_their_provider_without_secrets_and_defaults() -> None:
    settings = Settings(
        environment={"SOURCES__HUB__PAGES": "3", "SOURCES__HUB__TOKEN": HUSH},
        document={"sources": {"url": f"https://ada:{HUSH}@hub", "pages": 5}},
    )

    assert found(settings, "sources", "hub") == [
        "config.toml: sources.url = https://***@hub",
        "environment: SOURCES__HUB__PAGES = 3",
    ]


def test_no_value_of_a_provider_of_secrets_is_recorded() -> None:
    vault = CustomLoaderDocProvider("vault", lambda: {"pages": 7})
    credentials = {"aws_access_key_id": "AKIA", "aws_secret_access_key": HUSH, "region_name": "eu"}
    settings = Settings(
        environment={"TOKEN": HUSH},
        secrets={"url": "https://inside", "credentials": credentials},
        extra_providers=(vault,),
    )

    assert found(settings) == []


def test_credentials_in_the_environment_are_not_kept_in_part() -> None:
    settings = Settings(
        environment={
            "TOKEN": HUSH,
            "CREDENTIALS__AWS_ACCESS_KEY_ID": "abc",
            "CREDENTIALS__AWS_SECRET_ACCESS_KEY": HUSH,
            "CREDENTIALS__REGION_NAME": "eu-1",
        }
    )

    assert found(settings) == []


def test_of_a_whole_section_the_names_are_kept() -> None:
    settings = Settings(document={"spark": {"conf": {"spark.x": HUSH, "spark.a": 1}}})
    resolved = ResolvedValues()

    with in_scope(resolved=resolved):
        settings.section("spark", "conf")

    assert [value.value for value in resolved.values()] == ["a table with spark.a, spark.x"]


def test_lookups_by_hand_and_arguments_of_functions_count_too() -> None:
    def hub(pages: int = 3, secret: TSecretStrValue = None) -> None:  # type: ignore[assignment]
        """A function of a user."""

    settings = Settings(environment={"PAGES": "8", "SECRET": HUSH, "SPARK__MASTER": "local[2]"})
    resolved = ResolvedValues()

    with in_scope(resolved=resolved):
        settings.spark("master")
        resolve_arguments(function_spec(hub), {}, settings=settings)

    assert [value.key for value in resolved.values()] == ["PAGES", "SPARK__MASTER"]


def test_outside_of_a_run_nothing_is_recorded() -> None:
    resolved = ResolvedValues()
    settings = Settings(environment={"PAGES": "8", "TOKEN": HUSH})

    with in_scope(resolved=resolved):
        pass
    resolve_configuration(Api, settings=settings)

    assert resolved.values() == ()


def test_threads_of_a_run_are_heard_and_a_setting_is_kept_once() -> None:
    resolved = ResolvedValues()
    settings = Settings(environment={"PAGES": "8", "TOKEN": HUSH})

    def look(_: Any) -> None:
        resolve_configuration(Api, settings=settings)

    with in_scope(resolved=resolved), ThreadPoolExecutor(4) as pool:
        for number in range(8):
            pool.submit(copy_context().run, look, number).result()

    assert resolved.values() == (ResolvedValue(provider="environment", key="PAGES", value="8"),)


@pytest.mark.parametrize("value", [True, 7, 2.5, ["a", "b"], "x"])
def test_every_value_is_a_text(value: Any) -> None:
    resolved = ResolvedValues()

    resolved.record("config.toml", "x", value)

    assert [type(one.value) for one in resolved.values()] == [str]
