from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.config import ConnectionStringCredentials, SecretText, config_value, secrets_value
from penstock.errors import ConfigFieldMissing, ConfigValueCannotBeCoerced

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project" / ".penstock"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder.parent)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return folder


def told(program: str) -> Any:
    """What a fresh interpreter prints as JSON: what is told to a process stays in it."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_path_is_exact_no_section_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGES", "3")

    assert penstock.config.get("sources.pages") is None
    assert penstock.config["pages"] == 3


def test_a_type_can_be_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A__B", "5")

    assert penstock.config.get("a.b", str) == "5"
    assert penstock.config.get("a.b", float) == 5.0
    with pytest.raises(ConfigValueCannotBeCoerced):
        penstock.config.get("a.b", list)


def test_a_missing_setting_is_an_error_with_its_places() -> None:
    with pytest.raises(ConfigFieldMissing) as caught:
        penstock.config["a.b"]

    assert caught.value.fields == {"a.b": ("environment: A__B", "secrets.toml: a.b", "config.toml: a.b")}, (
        "every place, and no other"
    )


def test_config_sees_secrets_but_secrets_do_not_see_config(project: Path) -> None:
    (project / "config.toml").write_text("[a]\nb = 1")
    (project / "secrets.toml").write_text("[a]\nc = 'hunter2'")
    (project / "secrets.toml").chmod(0o600)

    assert penstock.config["a.c"] == "hunter2"
    assert penstock.secrets.get("a.b") is None
    assert "a.b" in penstock.config
    assert "a.b" not in penstock.secrets


def test_a_secret_does_not_show_and_works(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A__KEY", "hunter2hunter2")

    found = penstock.secrets["a.key"]

    assert isinstance(found, SecretText)
    assert (repr(found), found) == ("***", "hunter2hunter2")


def test_credentials_can_be_asked_for_by_path(project: Path) -> None:
    (project / "secrets.toml").write_text(
        "one = 'pg://ada:x@db/shop'\n[two]\ndrivername = 'pg'\nusername = 'ada'\n[username]\nx = 1"
    )
    (project / "secrets.toml").chmod(0o600)

    one = penstock.secrets.get("one", ConnectionStringCredentials)
    two = penstock.secrets.get("two", ConnectionStringCredentials)

    assert (one.username, one.host) == ("ada", "db")
    assert (two.username, two.host) == ("ada", None)


def test_a_written_value_lasts_for_the_process_and_the_environment_wins() -> None:
    answer = told(
        """
        import json, os, penstock
        penstock.config["q.w"] = 5
        penstock.config["q.deep.er"] = [1]
        penstock.secrets["q.key"] = "hunter2hunter2"
        before = penstock.config["q.w"]
        os.environ["Q__W"] = "7"
        found = [penstock.config["q.w"], penstock.config["q.deep"], penstock.secrets["q.key"]]
        print(json.dumps([before, *found, repr(penstock.secrets["q"]), "q.key" in penstock.config]))
        """
    )

    assert answer == [5, 7, {"er": [1]}, "hunter2hunter2", "{'key': ***}", True]


def test_a_registered_provider_is_asked_last_and_a_second_of_its_name_replaces_it() -> None:
    answer = told(
        """
        import json, os, penstock
        from penstock.config import CustomLoaderDocProvider
        os.environ["A"] = "environment"
        for number in (1, 2):
            tree = {"a": "vault", "b": f"vault {number}"}
            penstock.config.register_provider(CustomLoaderDocProvider("vault", lambda tree=tree: tree))
        print(json.dumps([penstock.config["a"], penstock.secrets["b"], penstock.config.get("c")]))
        """
    )

    assert answer == ["environment", "vault 2", None]


def test_markers_are_the_same_wherever_they_go() -> None:
    assert penstock.config.value is config_value
    assert penstock.secrets.value is secrets_value
    for marker in (config_value, secrets_value):
        assert copy.deepcopy(marker) is copy.copy(marker) is marker
        assert pickle.loads(pickle.dumps(marker)) is marker
    assert repr(secrets_value) == "penstock.secrets.value"


def test_the_accessors_name_themselves() -> None:
    assert (repr(penstock.config), repr(penstock.secrets)) == ("penstock.config", "penstock.secrets")


def test_an_explanation_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCES__PAGES", "3")

    assert "> environment: SOURCES__PAGES" in str(penstock.config.explain("sources.hub.pages"))
