"""An archive of the classes that Spark loads, so that later JVMs on this machine start faster.

The second JVM writes the archive when it exits, and later ones map it into memory: a container that is thrown
away after its first run does not pay for it. An archive belongs to one Java, one Spark and one set of jars;
the JVM checks that itself, and ignores an archive that does not fit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from penstock.config.folders import classes_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

# A JVM that was killed has written no archive: another one may try after this time.
_WRITER_SECONDS: Final = 600
# An archive has about 200 MB; those of earlier versions of Java, Spark and the jars are deleted.
_MAX_ARCHIVES: Final = 2
# A start must not fail or print anything because of an archive.
_QUIET: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off"


def class_archive_options(spark_version: str, class_path: Iterable[str]) -> str:
    """Return the options of a JVM that uses the archive, or writes it if there is none; empty if neither."""
    java = _java_home()
    if java is None:
        return ""
    archive = classes_folder() / f"{_key(java, spark_version, class_path)}.jsa"
    # Options are separated by blanks, without quotes.
    if " " in str(archive):
        return ""
    if archive.exists():
        _keep(archive)
        return f"-XX:SharedArchiveFile={archive} {_QUIET}"
    return f"-XX:ArchiveClassesAtExit={archive} {_QUIET}" if _reserve(archive) else ""


def _java_home() -> Path | None:
    """Return the folder of the Java that Spark starts, if its JVM is one that has archives."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        return None
    folder = Path(java).resolve().parents[1]
    # The archive of Java's own classes, on which others build.
    return folder if (folder / "lib" / "server" / "classes.jsa").is_file() else None


def _key(java: Path, spark_version: str, class_path: Iterable[str]) -> str:
    """Return the name of the archive for a Java, a Spark and the jars on the class path."""
    parts = [str(java), spark_version, os.environ.get("SPARK_HOME", "")]
    for path in (java / "release", java / "lib" / "modules", *map(Path, class_path)):
        try:
            status = path.stat()
        except OSError:
            continue
        parts.append(f"{path} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _keep(archive: Path) -> None:
    """Mark an archive as used."""
    with suppress(OSError):
        os.utime(archive)
        archive.with_suffix(".writing").unlink(missing_ok=True)


def _reserve(archive: Path) -> bool:
    """Reserve the archive for the JVM of this process; False for the first one, or if another writes it."""
    started, writing = archive.with_suffix(".started"), archive.with_suffix(".writing")
    try:
        if not started.exists():
            archive.parent.mkdir(parents=True, exist_ok=True)
            started.touch()
            return False
        if writing.exists() and time.time() - writing.stat().st_mtime > _WRITER_SECONDS:
            writing.unlink(missing_ok=True)
        writing.open("x").close()
        archives = sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
        for outdated in archives[_MAX_ARCHIVES - 1 :]:
            outdated.unlink(missing_ok=True)
    except OSError:
        return False
    return True
