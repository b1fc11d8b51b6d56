"""Decides the files of `penstock init`: a project with a program, settings and a test. Pure functions."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.cli.load_plan import DATABASES, LoadOptions, LoadProgram, has_secret, plan_load, plan_python
from penstock.errors import UsageError, suggestion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from penstock.cli.load_plan import SourceKind

SETTINGS_FOLDER: Final = ".penstock"
SECRETS_FILE: Final = f"{SETTINGS_FOLDER}/secrets.toml"
_PYTHON: Final = "python"
_WORDS: Final[Mapping[str, str]] = {
    "files": "data/orders.jsonl",
    "rest": "https://api.example.com/items",
    "sql": "postgresql://reader@db/shop",
}
"""Kinds of sources that need an address, with an example."""
_ORIGINS: Final[Mapping[SourceKind, str]] = {
    "files": "files",
    "rest": "an API",
    "sql": "a database",
    "python": "a generator",
}
_RESERVED_NAMES: Final = frozenset((*sys.stdlib_module_names, "penstock", "pytest", "dlt"))
_EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "delta": ("delta",),
    "iceberg": ("iceberg",),
    "duckdb": ("duckdb",),
    "postgres": ("postgres", "spark"),
}
"""The extras of destinations; `spark` for others."""
_TEST_URL: Final = "TEST_DATABASE_URL"
_URL: Final = re.compile(r"[A-Za-z][\w+.-]*:")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectPlan:
    """The name of a project, and its files by path with their contents."""

    name: str
    files: Mapping[str, str]
    secrets: tuple[str, ...] = ()
    """The paths of the secrets in the settings."""


def plan_project(source: str, destination: str, options: LoadOptions, *, folder: Path | None) -> ProjectPlan:
    """Return the files of a project; raise for arguments that cannot be combined.

    A relative path of files starts at the current folder. The project is in `folder`, by default in a folder
    with the name of the pipeline.

    >>> plan = plan_project("python", "./lake", LoadOptions(), folder=None)
    >>> plan.name, ".penstock/config.toml" in plan.files
    ('people_to_lake', True)
    """
    if source in _WORDS:
        raise UsageError(
            f"source {source!r} needs an address",
            hint=f"name it: penstock init {_WORDS[source]} {destination}",
        )
    plan = _plan(source, destination, options)
    if options.pipeline_name is None and not plan.pipeline_name.isidentifier():
        # A program can be imported by a name that begins with a letter.
        plan = _plan(source, destination, replace(options, pipeline_name=f"load_{plan.pipeline_name}"))
    if not _URL.match(source) and source != _PYTHON:
        base = folder or Path(plan.pipeline_name)
        source = Path(os.path.relpath(source, base)).as_posix()
        plan = _plan(source, destination, replace(options, pipeline_name=plan.pipeline_name))
    name = plan.pipeline_name
    if name in _RESERVED_NAMES or not name.isidentifier():
        raise UsageError(f"{name!r} cannot be the name of the program", hint="pass another: --name shop")
    setting = _setting_of(plan)
    secrets = {f"{plan.secrets_section}.{key}": value for key, value in plan.secrets.items()}
    config = {setting: plan.location} if plan.location else {}
    if has_secret(plan.location):
        secrets, config = {**secrets, **config}, {}
    return ProjectPlan(
        name=name,
        files={
            f"{name}.py": _program(plan),
            f"test_{name}.py": _test(plan, setting),
            f"{SETTINGS_FOLDER}/config.toml": _toml("Settings. Secrets are in secrets.toml.", config),
            SECRETS_FILE: _toml("Secrets: this file is not for version control.", secrets),
            ".gitignore": _gitignore(plan),
            "pyproject.toml": _pyproject(plan),
            "README.md": _readme(plan, tuple(secrets)),
        },
        secrets=tuple(secrets),
    )


def _plan(source: str, destination: str, options: LoadOptions) -> LoadProgram:
    options = replace(options, with_location=False)
    if source == _PYTHON:
        return plan_python(destination, options)
    if source.isidentifier():
        words = (_PYTHON, *_WORDS)
        raise UsageError(
            f"{source!r} is no source", hint=f"{suggestion(source, words)}, or an address or path"
        )
    return plan_load(source, destination, options)


def _setting_of(plan: LoadProgram) -> str:
    return f"destination.{plan.factory}.{plan.location_argument}"


def _target_of(plan: LoadProgram) -> str:
    return {"duckdb": "DuckDB", "postgres": "Postgres"}.get(plan.factory, f"{plan.factory} tables")


def _program(plan: LoadProgram) -> str:
    declarations = ["", "", *plan.declarations] if plan.declarations else []
    body = (*plan.setting_lines, *plan.body, "return info")
    return _text(
        f'"""Loads a table from {_ORIGINS[plan.kind]} to {_target_of(plan)}."""',
        "",
        *plan.imports,
        *declarations,
        "",
        "",
        "def run():",
        '    """Load what is new, and return the result."""',
        *(f"    {line}" for line in body),
        "",
        "",
        'if __name__ == "__main__":',
        "    print(run())",
    )


def _test(plan: LoadProgram, setting: str) -> str:
    variable = setting.upper().replace(".", "__")
    if plan.factory == "postgres":
        place, needs = "a database for tests, which TEST_DATABASE_URL names", f'os.environ["{_TEST_URL}"]'
    else:
        name = "test.duckdb" if plan.factory == "duckdb" else "lake"
        place, needs = "a folder that pytest deletes", f'str(tmp_path / "{name}")'
    is_skipped = plan.factory == "postgres"
    return _text(
        f'"""The load, into {place}."""',
        "",
        *(("import os",) if is_skipped else ()),
        "from pathlib import Path",
        "",
        f"import {plan.pipeline_name}",
        *(("import pytest",) if is_skipped else ()),
        "",
        "",
        *(
            (f'@pytest.mark.skipif("{_TEST_URL}" not in os.environ, reason="needs {_TEST_URL}")',)
            if is_skipped
            else ()
        ),
        "def test_rows_are_loaded(tmp_path, monkeypatch):",
        "    monkeypatch.chdir(Path(__file__).parent)",
        '    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))',
        f'    monkeypatch.setenv("{variable}", {needs})',
        "",
        f"    info = {plan.pipeline_name}.run()",
        "",
        "    assert not info.has_failed_jobs",
        "    assert sum(table.rows or 0 for package in info.packages for table in package.tables) > 0",
    )


def _toml(comment: str, values: Mapping[str, str]) -> str:
    lines = [f"# {comment}"]
    for section in dict.fromkeys(path.rpartition(".")[0] for path in values):
        own = {
            path.rpartition(".")[2]: value for path, value in values.items() if path.startswith(f"{section}.")
        }
        lines += ["", f"[{section}]", *(f"{key} = {_toml_text(value)}" for key, value in own.items())]
    return _text(*lines)


def _toml_text(value: str) -> str:
    r"""Return a basic string of TOML: that of JSON, but one more character is escaped.

    >>> print(_toml_text('a"b'))
    "a\"b"
    """
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _gitignore(plan: LoadProgram) -> str:
    location = plan.location.removeprefix("./").strip("/")
    is_local = not plan.location.startswith(("/", "..", "~")) and not _URL.match(plan.location)
    tables = [f"/{location}/"] if is_local and location not in {"", "."} else []
    if plan.factory in DATABASES:
        tables = ["*.duckdb"] if plan.factory == "duckdb" else []
    return _text("secrets.toml", "__pycache__/", ".pytest_cache/", ".venv/", *tables)


def _pyproject(plan: LoadProgram) -> str:
    extras = ["cli", *_EXTRAS.get(plan.factory, ("spark",))]
    drivers = ', "psycopg[binary]"' if plan.factory == "postgres" else ""
    extras += {"rest": ["rest"], "files": ["spark"], "sql": ["spark"]}.get(plan.kind, [])
    extras += ["s3"] if plan.location.startswith(("s3:", "s3a:")) else []
    return _text(
        "[project]",
        f'name = "{plan.pipeline_name.replace("_", "-")}"',
        'version = "0.1.0"',
        'requires-python = ">=3.11"',
        f'dependencies = ["penstock[{",".join(dict.fromkeys(extras))}]"{drivers}]',
        "",
        "[dependency-groups]",
        'dev = ["pytest"]',
        "",
        "[tool.pytest.ini_options]",
        'pythonpath = ["."]',
    )


def _readme(plan: LoadProgram, secrets: tuple[str, ...]) -> str:
    name = plan.pipeline_name
    where = [f"Secrets, in `{SECRETS_FILE}` or in the environment:", ""]
    where += [f"- `{path}`: `{path.upper().replace('.', '__')}`" for path in secrets] + [""]
    return _text(
        f"# {name}",
        "",
        *(where if secrets else []),
        "```console",
        f"$ penstock run {name}.py",
        f"$ penstock pipeline {name} info",
        "$ pytest",
        "```",
    )


def _text(*lines: str) -> str:
    return "\n".join(lines) + "\n"
