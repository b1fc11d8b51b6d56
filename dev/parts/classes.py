"""The classes that Spark loads, kept in an archive of the JVM's, so that a driver starts sooner."""

import hashlib
import os
from pathlib import Path
from typing import Final

from dev.parts.jars import ensure_jars
from dev.parts.places import REPOSITORY, PartError, Places
from dev.parts.tools import find_tool, run_tool

GROUPS: Final = ("delta", "iceberg")
"""The JVM takes an archive for one class path only, and most tests have this one."""
KEPT: Final = 3
"""Each is as large as Spark itself, and belongs to one environment."""
PROGRAM: Final = "tests.loads"
# The JVM takes an archive only with the very files that it was made from.
SPARK_JARS: Final = """
import pathlib, pyspark
for jar in sorted(pathlib.Path(pyspark.__file__).parent.glob("jars/*.jar")):
    print(jar, jar.stat().st_size, jar.stat().st_mtime_ns)
"""


def class_archive(places: Places) -> Path:
    """Give the archive, after a program of the tests has loaded all the classes once."""
    java = run_tool([str(find_tool("java")), "-Xinternalversion"])
    python = [str(find_tool("uv")), "run", "--no-sync", "python"]
    spark = run_tool([*python, "-c", SPARK_JARS])
    class_paths = ensure_jars(places, GROUPS)
    wishes = "\n".join((java, spark, (REPOSITORY / "tests" / "loads.py").read_text(), *class_paths.values()))
    archive = places.cache / "classes" / f"{hashlib.sha256(wishes.encode()).hexdigest()[:12]}.jsa"
    if not archive.exists():
        archive.parent.mkdir(parents=True, exist_ok=True)
        arriving = archive.with_suffix(f".{os.getpid()}")
        options = f"-XX:TieredStopAtLevel=1 -XX:ArchiveClassesAtExit={arriving} -Xlog:disable"
        # The JVM writes it when it ends, after Python; it holds on to the output, which is read to its end.
        run_tool([*python, "-m", PROGRAM], cwd=REPOSITORY, env={**class_paths, "SPARK_SUBMIT_OPTS": options})
        if not arriving.exists():
            raise PartError(f"{PROGRAM} left no archive: run it with SPARK_SUBMIT_OPTS='{options}'")
        arriving.rename(archive)
        for old in sorted(archive.parent.glob("*.jsa"), key=lambda one: one.stat().st_mtime)[:-KEPT]:
            old.unlink()
    return archive
