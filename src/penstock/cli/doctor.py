"""The checks of `penstock doctor`. Spark is checked in a child process, because a failing JVM may kill it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from penstock.spark.jars import cache_folder
from penstock.spark.presets import PRESETS, installed_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from penstock.config import Settings

Verdict = Literal["ok", "warning", "failure"]
_JAVA_VERSIONS = (17, 21)
_OLDEST_PYTHON = (3, 11)
_TIMEOUT_SECONDS = 300
_INSTALL_JAVA = """install a JDK 17, such as: apt-get install openjdk-17-jre-headless
or set JAVA_HOME to an installed one"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check, with a fix for a failure."""

    check: str
    verdict: Verdict
    fact: str
    fix: str = ""


def examine(settings: Settings, *, location: str | None) -> Iterator[Finding]:
    """Run all checks, cheap ones first; skip those that depend on a failed one."""
    yield _check_python()
    remote = settings.spark("remote")
    java = _check_java()
    if not remote:
        yield java
    installed = installed_version()
    spark = _check_pyspark(installed)
    yield spark
    if installed is None or "failure" in (spark.verdict, "" if remote else java.verdict):
        return
    if not remote:
        yield _check_jars(installed, settings)
    yield from _examine_spark(location)


def _check_python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info >= _OLDEST_PYTHON:
        return Finding(check="Python", verdict="ok", fact=version)
    fix = "use Python 3.11 or newer"
    return Finding(check="Python", verdict="failure", fact=f"{version} is too old", fix=fix)


def _check_java() -> Finding:
    home = os.environ.get("JAVA_HOME")
    command = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if command is None or not Path(command).exists():
        fact = f"JAVA_HOME is {home}, which has no bin/java" if home else "java is not on the PATH"
        return Finding(check="Java", verdict="failure", fact=fact, fix=_INSTALL_JAVA)
    output = subprocess.run(  # noqa: S603 - the java of the user
        [command, "-version"], capture_output=True, text=True, check=False
    ).stderr
    version = re.search(r'version "(?:1\.)?(\d+)([^"]*)"', output)
    if version is None:
        fact = f"{command} does not print its version"
        return Finding(check="Java", verdict="failure", fact=fact, fix=_INSTALL_JAVA)
    if int(version[1]) not in _JAVA_VERSIONS:
        fact = f"Java {version[1]} does not run Spark 4"
        return Finding(check="Java", verdict="failure", fact=fact, fix=_INSTALL_JAVA)
    return Finding(check="Java", verdict="ok", fact=f"{version[1]}{version[2]} at {command}")


def _check_pyspark(installed: str | None) -> Finding:
    if installed is None:
        fix = "pip install 'penstock[spark]'"
        return Finding(check="Spark", verdict="failure", fact="pyspark is not installed", fix=fix)
    line = ".".join(installed.split(".")[:2])
    if line in PRESETS:
        return Finding(check="Spark", verdict="ok", fact=f"pyspark {installed}")
    fact = f"pyspark {installed} is not supported, only {' and '.join(sorted(PRESETS))}"
    return Finding(
        check="Spark", verdict="failure", fact=fact, fix=f"pip install 'pyspark~={max(PRESETS)}.0'"
    )


def _check_jars(installed: str, settings: Settings) -> Finding:
    given = settings.spark("jars")
    if given:
        missing = [jar for jar in given.split(":") if not Path(jar).is_file()]
        if missing:
            fix = "correct [spark] jars, or remove it to let Spark resolve them"
            return Finding(check="Jars", verdict="failure", fact=f"missing: {', '.join(missing)}", fix=fix)
        fact = f"{len(given.split(':'))} from the [spark] settings"
        return Finding(check="Jars", verdict="ok", fact=fact)
    cached = cache_folder(installed, ("delta",))
    if cached.is_dir():
        return Finding(check="Jars", verdict="ok", fact=f"cached in {cached}")
    fact = "not downloaded yet: the first start downloads them, which takes a while"
    return Finding(check="Jars", verdict="warning", fact=fact)


def _examine_spark(location: str | None) -> Iterator[Finding]:
    """Run the checks that need a session in a child process."""
    command = [sys.executable, "-m", "penstock.cli.sparkcheck", *([location] if location else [])]
    child = subprocess.Popen(  # noqa: S603 - this Python
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        output, errors = child.communicate(timeout=_TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        output, errors = child.communicate()
        errors += f"\nno answer within {_TIMEOUT_SECONDS} s"
    for line in output.splitlines():
        if line.startswith("{"):
            yield Finding(**json.loads(line))
    if child.returncode:
        fix = f"run it manually to see its full output: {' '.join(command)}"
        yield Finding(check="Spark runs", verdict="failure", fact=_error_line(errors), fix=fix)


def _error_line(errors: str) -> str:
    """Return the most informative line of the error output of a process."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    error_lines = [line for line in lines if "Exception" in line or "Error" in line or "no answer" in line]
    return (error_lines or lines or ["it ended without output"])[-1]
