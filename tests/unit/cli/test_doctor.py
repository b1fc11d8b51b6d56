from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.command_documents import read_documents
from typer.testing import CliRunner

from penstock.cli import doctor
from penstock.cli.app import app
from penstock.config import Settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove Java from the machine."""
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    for name in ("SPARK__REMOTE", "REMOTE", "SPARK__JARS", "JARS"):
        monkeypatch.delenv(name, raising=False)


def install_java(folder: Path, says: str) -> None:
    """Install a program that prints a version like `java -version`."""
    (folder / "bin").mkdir(parents=True)
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    java.chmod(0o755)


def install_pyspark(folder: Path, version: str) -> None:
    """Install the metadata of a pyspark version without the package."""
    info = folder / f"pyspark-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pyspark\nVersion: {version}\n")


def test_without_java_the_fix_is_shown_and_spark_is_not_checked(no_java: None) -> None:
    found = list(doctor.examine(Settings(), location=None))

    assert [(finding.check, finding.verdict) for finding in found] == [
        ("Python", "ok"),
        ("Java", "failure"),
        ("Spark", "ok"),
    ]
    assert found[1].fact == "java is not on the PATH"
    assert "openjdk-17" in found[1].fix


def test_a_java_home_without_java_is_a_failure(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    found = doctor._check_java()

    assert found.verdict == "failure"
    assert found.fact == f"JAVA_HOME is {tmp_path / 'nowhere'}, which has no bin/java"
    assert "openjdk-17" in found.fix


def test_a_java_home_without_java_fails_although_java_is_on_the_path(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_java(tmp_path / "jdk", 'openjdk version "17.0.14" 2025-01-21')
    monkeypatch.setenv("PATH", str(tmp_path / "jdk" / "bin"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    assert doctor._check_java().verdict == "failure"


@pytest.mark.parametrize(
    ("says", "verdict", "fact"),
    [
        ('openjdk version "17.0.14" 2025-01-21', "ok", "17.0.14 at "),
        ('openjdk version "21" 2023-09-19', "ok", "21 at "),
        ('java version "1.8.0_402"', "failure", "Java 8 does not run Spark 4"),
        ('openjdk version "11.0.2" 2019-01-15', "failure", "Java 11 does not run Spark 4"),
        ("Error: could not find libjvm", "failure", "does not print its version"),
    ],
)
def test_the_java_version_is_read_from_its_output(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, verdict: str, fact: str
) -> None:
    install_java(tmp_path / "jdk", says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))

    found = doctor._check_java()

    assert found.verdict == verdict
    assert fact in found.fact


def test_java_is_found_on_the_path_too(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_java(tmp_path / "jdk", 'openjdk version "17.0.14" 2025-01-21')
    monkeypatch.setenv("PATH", str(tmp_path / "jdk" / "bin"))

    assert doctor._check_java().fact == f"17.0.14 at {tmp_path / 'jdk' / 'bin' / 'java'}"


@pytest.mark.parametrize("version", ["4.0.0", "4.1.4"])
def test_a_supported_spark_passes(version: str) -> None:
    assert doctor._check_pyspark(version).verdict == "ok"


@pytest.mark.parametrize("version", ["3.5.6", "4.2.0", "5.0.0.dev1"])
def test_an_unsupported_spark_fails_with_an_install_command(version: str) -> None:
    found = doctor._check_pyspark(version)

    assert found.verdict == "failure"
    assert found.fact == f"pyspark {version} is not supported, only 4.0 and 4.1"
    assert found.fix == "pip install 'pyspark~=4.1.0'"


def test_without_spark_the_install_command_is_shown() -> None:
    found = doctor._check_pyspark(None)

    assert (found.verdict, found.fix) == ("failure", "pip install 'penstock[spark]'")


def test_with_an_unsupported_spark_the_checks_stop(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_java(tmp_path / "jdk", 'openjdk version "17.0.14" 2025-01-21')
    install_pyspark(tmp_path, "3.5.6")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    monkeypatch.syspath_prepend(tmp_path)

    found = list(doctor.examine(Settings(), location=None))

    assert [finding.check for finding in found] == ["Python", "Java", "Spark"]
    assert found[-1].verdict == "failure"


def test_with_an_unsupported_client_a_spark_server_is_not_checked(
    no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install_pyspark(tmp_path, "3.5.6")
    monkeypatch.syspath_prepend(tmp_path)
    settings = Settings(environment={"SPARK__REMOTE": "sc://nowhere"})

    found = list(doctor.examine(settings, location=None))

    assert [(finding.check, finding.verdict) for finding in found] == [("Python", "ok"), ("Spark", "failure")]


def test_configured_jars_must_exist(tmp_path: Path) -> None:
    jar, missing = tmp_path / "delta.jar", tmp_path / "gone.jar"
    jar.touch()

    fine = doctor._check_jars("4.1.4", Settings(environment={"SPARK__JARS": str(jar)}))
    bad = doctor._check_jars("4.1.4", Settings(environment={"SPARK__JARS": f"{jar}:{missing}"}))

    assert (fine.verdict, fine.fact) == ("ok", "1 from the [spark] settings")
    assert (bad.verdict, bad.fact) == ("failure", f"missing: {missing}")


def test_jars_that_are_not_downloaded_yet_are_only_a_warning(no_java: None) -> None:
    assert doctor._check_jars("4.1.4", Settings()).verdict == "warning"


def test_json_output_has_one_object_per_line_and_a_failure_sets_the_exit_code(no_java: None) -> None:
    done = CliRunner().invoke(app, ["doctor", "--json"])

    findings = read_documents("doctor", done.stdout)
    assert done.exit_code == 1
    assert [finding["verdict"] for finding in findings] == ["ok", "failure", "ok"]


def test_text_output_shows_the_fix_of_a_failure(no_java: None) -> None:
    done = CliRunner().invoke(app, ["doctor"])

    assert done.exit_code == 1
    assert "FAIL Java" in done.stdout
    assert "fix:         install a JDK 17" in done.stdout
    assert "Not ready: fix the failures above." in done.stdout
