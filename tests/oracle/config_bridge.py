"""Answers of dlt about settings; a program for a Python that has dlt and no penstock.

One JSON document `{"ask": ..., ...}` comes on standard input, one goes to standard output.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, Optional

os.environ |= {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "CRITICAL"}

import dlt
from dlt.common.configuration import configspec, resolve_configuration, with_config
from dlt.common.configuration.container import Container
from dlt.common.configuration.resolve import inject_section
from dlt.common.configuration.specs import (
    BaseConfiguration,
    ConnectionStringCredentials,
    CredentialsConfiguration,
)
from dlt.common.configuration.specs.config_section_context import ConfigSectionContext
from dlt.common.configuration.specs.pluggable_run_context import PluggableRunContext
from dlt.common.typing import TSecretStrValue, TSecretValue

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
    "Optional[int]": Optional[int],
    "Literal": Literal["a", "b"],
    "datetime": datetime,
    "date": date,
    "TSecretValue": TSecretValue,
    "TSecretStrValue": TSecretStrValue,
}


@configspec
class Login(CredentialsConfiguration):
    user: str = None
    password: TSecretStrValue = None

    def parse_native_representation(self, native_value: Any) -> None:
        if not isinstance(native_value, str) or ":" not in native_value:
            raise ValueError("no")
        self.user, self.password = native_value.split(":")


@configspec
class Three(BaseConfiguration):
    a: str = None


@configspec
class Two(BaseConfiguration):
    three: Three = None


@configspec
class Outer(BaseConfiguration):
    __section__ = "outer"
    two: Two = None


@configspec
class Extract(BaseConfiguration):
    __section__ = "extract"
    workers: str = None


class with_settings:  # noqa: N801 - reads as a word in `with told(...)`
    """Set the environment and the files during a block."""

    def __init__(self, environment: dict[str, str], secrets: str = "", config: str = "") -> None:
        self.environment, self.files = environment, {"secrets.toml": secrets, "config.toml": config}

    def __enter__(self) -> None:
        self.before = dict(os.environ)
        os.environ.update(self.environment)
        Path(".dlt").mkdir(exist_ok=True)
        for name, text in self.files.items():
            (Path(".dlt") / name).write_text(text)
        Container()[PluggableRunContext].reload_providers()

    def __exit__(self, *_: object) -> None:
        os.environ.clear()
        os.environ.update(self.before)


def toml(places: dict[str, str]) -> str:
    """Return a TOML file with these values, short paths first: later ones would belong to another table."""
    tree: dict[str, Any] = {}
    for path, value in places.items():
        *above, key = path.split(".")
        below = tree
        for section in above:
            below = below.setdefault(section, {})
        below[key] = value
    return _table(tree, ())


def _table(tree: dict[str, Any], path: tuple[str, ...]) -> str:
    lines = [f"[{'.'.join(path)}]"] if path else []
    lines += [f"{key} = {json.dumps(value)}" for key, value in tree.items() if not isinstance(value, dict)]
    below = [_table(value, (*path, key)) for key, value in tree.items() if isinstance(value, dict)]
    return "\n".join([*lines, *below]) + "\n"


def _encode(value: Any) -> Any:
    if isinstance(value, BaseConfiguration):
        return {name: _encode(item) for name, item in dict(value).items()}
    if isinstance(value, (date, Decimal, bytes)):
        return f"{'datetime' if isinstance(value, datetime) else 'other'} {value!s}"
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return value


def _try(function: Any) -> Any:
    try:
        return _encode(function())
    except Exception as error:
        return {"error": type(error).__name__}


def _source(section: str, name: str) -> Any:
    @dlt.source(name=name, section=section)
    def source(org: str = "-", api_key: str | None = dlt.secrets.value, login: Login = None) -> Any:
        seen.append({"org": org, "api_key": api_key, "login": login})
        return []

    return source


seen: list[dict[str, Any]] = []


def _resolve_source(section: str, name: str) -> dict[str, Any]:
    seen.clear()
    _source(section, name)()
    return seen[-1]


def _resolve_resource(*where: str) -> dict[str, Any]:
    *_, name = where
    seen.clear()

    def resource(org: str = "-", api_key: str | None = dlt.secrets.value) -> Any:
        seen.append({"org": org, "api_key": api_key})
        yield 1

    if len(where) == 2:
        list(dlt.resource(resource, name=name, section=where[0])())
    else:
        list(dlt.source(lambda: dlt.resource(resource, name=name), name=where[1], section=where[0])())
    return seen[-1]


def _resolve_destination(name: str) -> dict[str, Any]:
    created = getattr(dlt.destinations, name)()
    config = created.spec()._bind_dataset_name("d")
    return dict(created.configuration(config, accept_partial=True))


def _asked(order: dict[str, Any]) -> Any:
    where = order["where"]
    if order["kind"] == "source":
        result: Any = _resolve_source(*where)
    elif order["kind"] == "resource":
        result = _resolve_resource(*where)
    elif order["kind"] == "destination":
        result = _resolve_destination(*where)
    elif order["kind"] == "section":
        result = {"extract": resolve_configuration(Extract(), sections=("sources", *where))}
    else:
        result = resolve_configuration(Outer(), sections=tuple(where[1:]))
    for part in order["field"].split("."):
        result = None if result is None else dict(result).get(part)
    # Credentials from one text: the password identifies it.
    return result.password if isinstance(result, CredentialsConfiguration) else result


def lookups(question: dict[str, Any]) -> list[list[Any]]:
    """Return for each order the winner when all places are set, then all but the first one, ..."""
    return [_winners(order) for order in question["orders"]]


def _winners(order: dict[str, Any]) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        if order["pipeline"]:
            dlt.pipeline(order["pipeline"], destination="dummy", pipelines_dir=folder)
        # As a pipeline resolves its own settings; a source finds the pipeline by itself.
        with inject_section(ConfigSectionContext(pipeline_name=order["pipeline"])):
            result = [_winner(order, order["places"][at:]) for at in range(len(order["places"]))]
        if order["pipeline"]:
            dlt.pipeline().deactivate()
        return result


def _winner(order: dict[str, Any], places: list[list[str]]) -> Any:
    by_provider: dict[str, dict[str, str]] = {"environment": {}, "secrets.toml": {}, "config.toml": {}}
    for provider, key, value in places:
        by_provider[provider][key] = value
    also = order["also"]
    with with_settings(
        {**by_provider["environment"], **also},
        toml(by_provider["secrets.toml"]),
        toml(by_provider["config.toml"]),
    ):
        return _try(lambda: _asked(order))


def nowhere(question: dict[str, Any]) -> list[Any]:
    """Return the result when only a place is set that is not read."""
    return [_winner(order, [["environment", key, "wrong"]]) for order, key in question["orders"]]


def coercions(question: dict[str, Any]) -> dict[str, Any]:
    return {
        **{
            f"{hint} {text!r}": _as(hint, {"V": text})
            for hint, texts in question["texts"].items()
            for text in texts
        },
        **{
            f"{hint} toml {text}": _as(hint, {}, f"v = {text}")
            for hint, texts in question["toml"].items()
            for text in texts
        },
    }


def _as(hint: str, environment: dict[str, str], config: str = "") -> Any:
    space = {"__annotations__": {"v": HINTS[hint]}, "v": None, "__module__": __name__}
    spec = configspec(type("Spec", (BaseConfiguration,), space))
    with with_settings(environment, config=config):
        return _try(lambda: resolve_configuration(spec()).v)


def guesses(question: dict[str, Any]) -> list[Any]:
    result = []
    for text in question["texts"]:
        with with_settings({"A__B": text}):
            result.append(_try(lambda: dlt.config["a.b"]))
    return result


def urls(question: dict[str, Any]) -> list[Any]:
    return [_try(lambda url=url: _url(url)) for url in question["urls"]]


def _url(url: str) -> list[Any]:
    credentials = ConnectionStringCredentials()
    credentials.parse_native_representation(url)
    return [_encode(credentials), str(credentials)]


def calls(question: dict[str, Any]) -> list[Any]:
    @with_config(sections=("s",))
    def f(
        a,
        b=dlt.config.value,
        c: int = 3,
        d=None,
        e: int = None,
        g: str = "x",
        h="text",
        i=5,
        j=1.5,
        k=True,
        l: dict = None,
    ) -> Any:
        return [a, b, c, d, e, g, h, i, j, k, l]

    return [_called(f, *call) for call in question["calls"]]


def given(question: dict[str, Any]) -> list[Any]:
    @with_config(sections=("s",))
    def g(
        x: str = dlt.secrets.value,
        o: str | None = dlt.secrets.value,
        u=dlt.secrets.value,
        c: Login = dlt.secrets.value,
        oc: Login | None = None,
    ) -> Any:
        return [_encode(item) for item in (x, o, u, c, oc)]

    return [_called(g, *call) for call in question["calls"]]


def _called(function: Any, _: str, arguments: dict[str, Any], environment: dict[str, str]) -> Any:
    with with_settings(environment):
        return _try(lambda: function(**arguments))


ANSWERS = {
    "lookups": lookups,
    "nowhere": nowhere,
    "coercions": coercions,
    "guesses": guesses,
    "urls": urls,
    "calls": calls,
    "given": given,
}

if __name__ == "__main__":
    asked = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as project:
        os.chdir(project)
        answer = ANSWERS[asked["ask"]](asked)
        os.chdir("/")
    sys.stdout.write(json.dumps(answer))
