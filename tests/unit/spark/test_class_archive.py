from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.spark.class_archive import class_archive_options


@pytest.fixture(autouse=True)
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like a Java with archives, and an empty home folder."""
    home = tmp_path / "java"
    for name in ("bin/java", "lib/server/classes.jsa", "lib/modules", "release"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return home


def written_path(options: str) -> str:
    return options.split(maxsplit=1)[0].removeprefix("-XX:ArchiveClassesAtExit=")


def write_archive(path: str) -> None:
    Path(path).write_text("classes")


def test_the_second_jvm_writes_the_archive_and_later_ones_use_it() -> None:
    first, second = (class_archive_options("4.1.4", []) for _ in range(2))
    write_archive(written_path(second))
    third = class_archive_options("4.1.4", [])

    assert first == ""
    assert second.startswith("-XX:ArchiveClassesAtExit=")
    assert third.startswith(f"-XX:SharedArchiveFile={written_path(second)} ")


def test_one_jvm_at_a_time_writes_the_archive(tmp_path: Path) -> None:
    class_archive_options("4.1.4", [])
    writing = class_archive_options("4.1.4", [])

    assert class_archive_options("4.1.4", []) == ""
    # The one that wrote it was killed.
    (mark,) = (tmp_path / "home" / "classes").glob("*.writing")
    os.utime(mark, (0, 0))
    assert class_archive_options("4.1.4", []) == writing


@pytest.mark.parametrize("change", ["java", "spark", "jar"])
def test_an_archive_is_not_used_with_another_java_spark_or_jar(
    change: str, java: Path, tmp_path: Path
) -> None:
    jar, version = tmp_path / "delta.jar", "4.1.4"
    jar.write_text("jar")
    options = [class_archive_options(version, [str(jar)]) for _ in range(2)]
    write_archive(written_path(options[-1]))
    if change == "java":
        (java / "release").write_text("a later release")
    elif change == "jar":
        jar.write_text("a later jar")
    else:
        version = "4.1.5"

    assert class_archive_options(version, [str(jar)]) == ""


def test_an_archive_that_was_not_used_for_long_is_deleted(tmp_path: Path) -> None:
    for minor in range(4):
        options = [class_archive_options(f"4.1.{minor}", []) for _ in range(2)]
        write_archive(written_path(options[-1]))
        os.utime(written_path(options[-1]), (minor, minor))

    assert len(list((tmp_path / "home" / "classes").glob("*.jsa"))) == 2
    assert class_archive_options("4.1.3", []).startswith("-XX:SharedArchiveFile=")


def test_a_java_without_archives_gets_no_option(java: Path) -> None:
    (java / "lib" / "server" / "classes.jsa").unlink()

    assert [class_archive_options("4.1.4", []) for _ in range(3)] == [""] * 3


def test_a_home_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "file"))

    assert [class_archive_options("4.1.4", []) for _ in range(3)] == [""] * 3
