from __future__ import annotations

import inspect
import json
import subprocess
import sys
import textwrap
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, get_origin

from tests.architecture.source_tree import PACKAGE, ROOT
from tests.rule_assertions import assert_no_offenders

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPLAINED_BY = {
    "current": "source_state",
    "destinations": "delta",
    "gates": "row_count",
    "mark": "with_table_name",
    "progress": "log",
    "retry": "retry_load",
    "sources": "Resource",
}
"""For public names that are modules, a function or class in them."""

PROGRAM = """
    import importlib, json, pkgutil, sys
    import penstock
    facts = {"loaded": sorted({name.partition(".")[0] for name in sys.modules})}
    destinations = [penstock.destinations.delta(bucket_url=url) for url in ("first", "second")]
    facts["bucket_urls"] = [destination.arguments["bucket_url"] for destination in destinations]
    packages = pkgutil.walk_packages(penstock.__path__, "penstock.")
    facts["modules"] = [importlib.import_module(module.name).__name__ for module in packages]
    public = {name: getattr(penstock, name) for name in penstock.__all__}
    facts["public"] = {
        name: "type" if isinstance(value, type) else type(value).__name__ for name, value in public.items()
    }
    print(json.dumps(facts))
"""


@cache
def fresh_interpreter() -> dict[str, Any]:
    """Import penstock, build destinations, then import every module, all in a new process."""
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    facts: dict[str, Any] = json.loads(process.stdout)
    return facts


def test_importing_penstock_loads_nothing_heavy() -> None:
    loaded = fresh_interpreter()["loaded"]

    assert "penstock" in loaded
    assert {"pyspark", "pyarrow", "sqlglot", "fsspec", "pandas"} & set(loaded) == set()


def test_a_destination_can_be_built_twice() -> None:
    assert fresh_interpreter()["bucket_urls"] == ["first", "second"]


def test_public_names_keep_their_types_after_every_module_was_imported() -> None:
    modules, public = fresh_interpreter()["modules"], fresh_interpreter()["public"]

    files = [path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert {f"penstock.{path.parent.name}.{path.stem}" for path in files if path.parent.name == "cli"} <= set(
        modules
    )
    assert len(modules) > len(files)
    assert public == {
        "Dataset": "type",
        "PenstockError": "type",
        "Pipeline": "type",
        "Relation": "type",
        "RunHooks": "type",
        "Schema": "type",
        "TCredentials": "type",
        "TSecretStrValue": "_AnnotatedAlias",
        "TSecretValue": "_AnnotatedAlias",
        "__version__": "str",
        "as_dlt": "function",
        "attach": "function",
        "config": "ConfigAccessor",
        "current": "module",
        "dataset": "function",
        "defer": "function",
        "destination": "function",
        "destinations": "module",
        "expect": "function",
        "gates": "module",
        "mark": "module",
        "pipeline": "function",
        "progress": "module",
        "resource": "function",
        "retry": "module",
        "run": "function",
        "secrets": "SecretsAccessor",
        "source": "function",
        "sources": "module",
        "transformer": "function",
    }


def test_every_public_name_exists() -> None:
    assert [name for name in penstock.__all__ if not hasattr(penstock, name)] == []
    assert list(penstock.__all__) == sorted(penstock.__all__)


def docstring_faults(name: str) -> Iterator[str]:
    """Yield what the docstring of a public name lacks."""
    value = getattr(penstock, name)
    documented = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    if inspect.ismodule(value):
        documented = getattr(value, EXPLAINED_BY[name])
    if get_origin(value) is Annotated:
        documented = type(value.__metadata__[0])
    text = inspect.getdoc(documented) or ""
    if not text.partition("\n")[0].endswith((".", ":")):
        yield f"penstock.{name}: the first line must end with a full stop or a colon"
    if ">>>" not in text:
        yield f"penstock.{name}: there is no example"


def test_every_public_name_is_documented_with_an_example() -> None:
    assert_no_offenders(
        (fault for name in penstock.__all__ if name != "__version__" for fault in docstring_faults(name)),
        "complete the docstring",
    )


def test_the_version_is_the_one_in_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert penstock.__version__ == project["version"]
