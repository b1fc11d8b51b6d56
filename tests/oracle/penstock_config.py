"""The cases of `config_cases.py`, resolved by penstock."""

from __future__ import annotations

import math
import tomllib
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from tests.oracle.config_cases import CONFIG, ENVIRONMENT, SECRETS

from penstock.config import (
    BaseConfiguration,
    ConnectionStringCredentials,
    CredentialsConfiguration,
    Settings,
    TSecretStrValue,
    TSecretValue,
    config_value,
    configspec,
    in_scope,
    resolve_arguments,
    resolve_configuration,
    resource_sections,
    secrets_value,
)
from penstock.config.signature import function_spec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.oracle.config_cases import Order

HINTS: dict[str, Any] = {
    "int": int,
    "bool": bool,
    "float": float,
    "str": str,
    "Decimal": Decimal,
    "bytes": bytes,
    "list": list,
    "dict": dict,
    "Any": Any,
    "Optional[int]": int | None,
    "Literal": Literal["a", "b"],
    "datetime": datetime,
    "date": date,
    "TSecretValue": TSecretValue,
    "TSecretStrValue": TSecretStrValue,
}


@configspec
class Login(CredentialsConfiguration):
    user: str = None  # type: ignore[assignment]
    password: TSecretStrValue = None  # type: ignore[assignment]

    def parse_native_representation(self, native_value: Any) -> None:
        if not isinstance(native_value, str) or ":" not in native_value:
            raise ValueError("no")
        self.user, self.password = native_value.split(":")


@configspec
class Three(BaseConfiguration):
    a: str | None = None


@configspec
class Two(BaseConfiguration):
    three: Three = None  # type: ignore[assignment]


@configspec
class Outer(BaseConfiguration):
    __section__: ClassVar[str | None] = "outer"
    two: Two = None  # type: ignore[assignment]


@configspec
class Extract(BaseConfiguration):
    __section__: ClassVar[str | None] = "extract"
    workers: str | None = None


@configspec
class Filesystem(BaseConfiguration):
    bucket_url: str | None = None


@configspec
class PostgresCredentials(ConnectionStringCredentials):
    drivername: str = "postgresql"


@configspec
class Postgres(BaseConfiguration):
    credentials: PostgresCredentials | None = None


def source(org: str = "-", api_key: str | None = secrets_value, login: Login | None = None) -> None:
    """A source with arguments and no data."""


def call(  # noqa: PLR0913, PLR0917 - as many kinds of arguments as there are
    a: Any,
    b: Any = config_value,
    c: int = 3,
    d: Any = None,
    e: int = None,  # type: ignore[assignment]  # noqa: RUF013 - as people write it
    g: str = "x",
    h: str = "text",
    i: int = 5,
    j: float = 1.5,
    k: bool = True,
    l: dict[str, Any] = None,  # type: ignore[assignment]  # noqa: E741, RUF013 - as above
) -> list[Any]:
    """The function of `CALLS`."""
    return [a, b, c, d, e, g, h, i, j, k, l]


def given(
    x: str = secrets_value,
    o: str | None = secrets_value,
    u: Any = secrets_value,
    c: Login = secrets_value,
    oc: Login | None = None,
) -> list[Any]:
    """The function of `GIVEN`."""
    return [x, o, u, c, oc]


def settings(values: Iterable[Iterable[str]], also: dict[str, str]) -> Settings:
    """Return settings with these values: provider, key, value."""
    environment: dict[str, str] = dict(also)
    trees: dict[str, dict[str, Any]] = {SECRETS: {}, CONFIG: {}}
    for provider, key, value in values:
        if provider == ENVIRONMENT:
            environment[key] = value
            continue
        *above, last = key.split(".")
        below = trees[provider]
        for section in above:
            below = below.setdefault(section, {})
        below[last] = value
    return Settings(environment=environment, secrets=trees[SECRETS], document=trees[CONFIG])


def winner(order: Order, values: Iterable[Iterable[str]]) -> Any:
    """Return the result with these values set; of credentials the password, which names the place."""
    result: Any = _resolve_value(order, settings(values, order.also))
    for part in order.field.split("."):
        result = result.get(part) if isinstance(result, dict) else getattr(result, part, None)
    return result.password if isinstance(result, (Login, ConnectionStringCredentials)) else result


def _resolve_value(order: Order, output: Settings) -> Any:
    where = order.where
    with in_scope(pipeline_name=order.pipeline):
        match order.kind:
            case "source":
                return _resolve_arguments(output, ("sources", *where))
            case "resource" if len(where) == 2:
                return _resolve_arguments(output, ("sources", *where))
            case "resource":
                with in_scope(sections=("sources", *where[:2])):
                    return _resolve_arguments(output, resource_sections("sources", "any", where[2]))
            case "section":
                return {"extract": _resolve_spec(order, Extract, output, ("sources", *where))}
            case "nested":
                return _resolve_spec(order, Outer, output, where[1:])
            case _:
                spec = Filesystem if where == ("filesystem",) else Postgres
                return _resolve_spec(order, spec, output, ("destination", *where))


def _resolve_arguments(output: Settings, sections: tuple[str, ...]) -> dict[str, Any]:
    return resolve_arguments(function_spec(source), {}, settings=output, sections=sections)


def _resolve_spec(order: Order, spec: type[Any], output: Settings, sections: tuple[str, ...]) -> Any:
    return resolve_configuration(spec, settings=output, sections=sections, pipeline_name=order.pipeline)


def coerced_text(hint: str, text: str) -> Any:
    """Return a text of the environment, coerced to its type."""
    return _field(hint, Settings(environment={"V": text}))


def coerced_toml(hint: str, text: str) -> Any:
    """Return a value of a file, coerced to its type."""
    return _field(hint, Settings(document=tomllib.loads(f"v = {text}")))


def _field(hint: str, output: Settings) -> Any:
    space = {"__annotations__": {"v": HINTS[hint]}, "v": None, "__module__": __name__}
    created: Any = resolve_configuration(
        configspec(type("Spec", (BaseConfiguration,), space)), settings=output
    )
    return created.v


def encode(value: Any) -> Any:
    """Return a value in the format of the bridge."""
    if isinstance(value, BaseConfiguration):
        return {name: encode(item) for name, item in value}
    if isinstance(value, (date, Decimal, bytes)):
        return f"{'datetime' if isinstance(value, datetime) else 'other'} {value!s}"
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value
