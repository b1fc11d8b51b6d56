"""Providers of others, found by a real entry point of a package that stands on the path."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROVIDER = """
from penstock.config import ConfigProvider

class Vault(ConfigProvider):
    @property
    def name(self):
        return "vault"

    def get_value(self, key, hint, pipeline_name, *sections):
        full = "/".join([*sections, key])
        return {"sources/token": "from the vault"}.get(full), full

def made():
    return Vault()

vault = Vault()
number = 5

def broken():
    raise RuntimeError("no key")
"""


def installed(folder: Path, target: str) -> Path:
    """A package with one entry point, as an installer leaves it behind."""
    (folder / "vaultlib.py").write_text(PROVIDER)
    facts = folder / "vaultlib-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: vaultlib\nVersion: 1.0\n")
    (facts / "RECORD").write_text("")
    (facts / "entry_points.txt").write_text(f"[penstock.config_providers]\nvault = {target}\n")
    return folder


def run(program: str, path: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(path), "PENSTOCK_HOME": str(path / "home")}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=path, timeout=300
    )


@pytest.mark.parametrize("target", ["vaultlib:Vault", "vaultlib:made", "vaultlib:vault"])
def test_an_installed_provider_is_asked_after_the_files(tmp_path: Path, target: str) -> None:
    done = run(
        """
        import penstock
        from penstock.config import with_config, secrets_value

        @with_config(sections=("sources", "hub"))
        def token_of(token: str = secrets_value):
            return str(token)

        print(token_of(), "|", penstock.secrets["sources.token"] == "from the vault", "|")
        print(penstock.config.explain("sources.token"))
        """,
        installed(tmp_path, target),
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("from the vault | True |")
    assert "> vault: sources/token" in done.stdout
    assert done.stdout.count("from the vault") == 1, "the explanation does not show a secret of a vault"


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("vaultlib:broken", "RuntimeError"),
        ("vaultlib:nothing", "AttributeError"),
        ("nolib:Vault", "ModuleNotFoundError"),
        ("vaultlib:number", "vaultlib:number is not a ConfigProvider"),
    ],
)
def test_a_provider_that_cannot_be_loaded_is_an_error_and_not_a_missing_value(
    tmp_path: Path, target: str, reason: str
) -> None:
    done = run("import penstock; penstock.config.get('a')", installed(tmp_path, target))

    assert f"ConfigProviderFailed: the config provider vault failed: {reason}" in done.stderr
