from __future__ import annotations

import inspect
import json
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Annotated, Any, get_origin

import pytest

import penstock

ROOT = Path(__file__).parents[2]
EXPLAINED_BY = {
    "current": "source_state",
    "destinations": "delta",
    "mark": "with_table_name",
    "progress": "log",
    "retry": "retry_load",
    "sources": "Resource",
}
"""For public names that are modules, one of the things in them."""


def told(program: str) -> Any:
    """What a fresh interpreter prints as JSON."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_penstock_loads_nothing_heavy() -> None:
    loaded = told(
        """
        import json, sys
        import penstock
        print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
        """
    )

    assert "penstock" in loaded
    assert {"pyspark", "pyarrow", "sqlglot", "fsspec", "pandas"} & set(loaded) == set()


def test_public_names_stay_what_they_are_after_every_module_was_imported() -> None:
    kinds = told(
        """
        import importlib, json, pkgutil
        import penstock
        walked = pkgutil.walk_packages(penstock.__path__, "penstock.")
        modules = [importlib.import_module(found.name).__name__ for found in walked]
        public = {name: type(getattr(penstock, name)).__name__ for name in penstock.__all__}
        print(json.dumps({"modules": modules, "public": public}))
        """
    )

    files = [path for path in (ROOT / "src" / "penstock").rglob("*.py") if path.name != "__init__.py"]
    assert {f"penstock.{path.parent.name}.{path.stem}" for path in files if path.parent.name == "cli"} <= set(
        kinds["modules"]
    )
    assert len(kinds["modules"]) > len(files)
    assert kinds["public"] == {
        "PenstockError": "type",
        "Pipeline": "type",
        "RunHooks": "type",
        "Schema": "type",
        "TCredentials": "ModelMetaclass",
        "TSecretStrValue": "_AnnotatedAlias",
        "TSecretValue": "_AnnotatedAlias",
        "__version__": "str",
        "attach": "function",
        "config": "ConfigAccessor",
        "current": "module",
        "dataset": "function",
        "defer": "function",
        "destinations": "module",
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


def test_a_destination_can_be_made_twice() -> None:
    names = told(
        """
        import json
        import penstock
        made = [penstock.destinations.delta(bucket_url=url) for url in ("one", "two")]
        print(json.dumps([destination.arguments["bucket_url"] for destination in made]))
        """
    )

    assert names == ["one", "two"]


def test_what_is_not_there_is_not_promised() -> None:
    assert [name for name in penstock.__all__ if not hasattr(penstock, name)] == []
    assert list(penstock.__all__) == sorted(penstock.__all__)


@pytest.mark.parametrize("name", [name for name in penstock.__all__ if name != "__version__"])
def test_every_public_name_is_explained_with_an_example(name: str) -> None:
    thing = getattr(penstock, name)
    explained = thing if inspect.isclass(thing) or inspect.isroutine(thing) else type(thing)
    if inspect.ismodule(thing):
        explained = getattr(thing, EXPLAINED_BY[name])
    if get_origin(thing) is Annotated:
        explained = type(thing.__metadata__[0])

    text = inspect.getdoc(explained) or ""

    assert text.splitlines()[0].endswith((".", ":"))
    assert ">>>" in text


def test_the_version_is_the_one_in_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert penstock.__version__ == project["version"]
