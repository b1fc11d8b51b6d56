"""The workflows, the issue forms and the release files: they are valid, and what they start exists."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from dev.release_check import SMOKE_PROGRAMS
from tests.architecture.source_tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FORGE = ROOT / ".github"
WORKFLOWS = sorted(FORGE.glob("workflows/*.yml"))
FORMS = [path for path in sorted(FORGE.glob("ISSUE_TEMPLATE/*.yml")) if path.name != "config.yml"]
FIELD_KEYS = {
    "markdown": {"value"},
    "textarea": {"label", "description", "render"},
    "dropdown": {"label", "description", "options"},
}
WRITABLE = {
    "docs.yml": {"publish": {"pages", "id-token"}},
    "release.yml": {"publish": {"id-token"}, "announce": {"contents"}},
}
"""The permissions to write, by workflow and job; all others only read."""


def document(path: Path) -> dict[Any, Any]:
    """Read a YAML file; YAML 1.1 reads the key `on` as a truth value."""
    content: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {("on" if key is True else key): value for key, value in content.items()}


def write_permissions(permissions: dict[str, str]) -> set[str]:
    return {name for name, access in permissions.items() if access == "write"}


def test_the_files_exist() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "gate", "lint", "release"]
    assert [path.stem for path in FORMS] == ["bug", "feature"]
    assert document(FORGE / "ISSUE_TEMPLATE" / "config.yml")["blank_issues_enabled"] in {True, False}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_each_job_has_steps_a_time_limit_and_few_permissions(path: Path) -> None:
    workflow = document(path)

    assert set(workflow) <= {"name", "on", "permissions", "concurrency", "jobs"}
    assert workflow["permissions"] == {"contents": "read"}
    jobs = workflow["jobs"]
    for name, job in jobs.items():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= set(jobs)
        assert 0 < job["timeout-minutes"] <= 120
        assert write_permissions(job.get("permissions", {})) == WRITABLE.get(path.name, {}).get(name, set())
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step.get("uses", "a/b@v1"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_targets_that_steps_make_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    used = set(re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8")))

    assert used
    assert used <= targets


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_has_fields_with_labels(path: Path) -> None:
    form = document(path)

    assert set(form) <= {"name", "description", "labels", "body"}
    ids = [field["id"] for field in form["body"] if field["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    for field in form["body"]:
        assert set(field["attributes"]) <= FIELD_KEYS[field["type"]]
        assert field["attributes"].get("label") or field["type"] == "markdown"


def test_the_release_check_tries_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert set(SMOKE_PROGRAMS) == {"", *project["optional-dependencies"]}


def test_the_sbom_covers_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    listed = (
        re.findall(r"--extra (\w+)", makefile)
        + re.findall(r"addprefix --extra ,([\w ]+)", makefile)[0].split()
    )

    # The extra `spark` is part of `delta`.
    assert {*listed, "spark"} >= set(project["optional-dependencies"])
