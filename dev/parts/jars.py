"""Jars that Spark lacks, resolved once with Maven and checked against `src/penstock/spark/jars.lock`."""

import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dev.parts.folders import REPOSITORY, PartError, PartFolders
from dev.parts.tools import download, find_tool

LOCK: Final = REPOSITORY / "src" / "penstock" / "spark" / "jars.lock"
COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

GROUPS: Final = {
    "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "postgres": "org.postgresql:postgresql:42.7.14",
    "mysql": "com.mysql:mysql-connector-j:9.7.0",
    "mariadb": "org.mariadb.jdbc:mariadb-java-client:3.5.11",
    "s3": "org.apache.hadoop:hadoop-aws:3.4.2",
}
DEFAULT_GROUPS: Final = ("delta", "iceberg", "postgres")  # s3 brings half a gigabyte

# Spark has its own copy of these; a second one on the class path is a second version of the same classes.
SPARK_BRINGS: Final = (
    "com.fasterxml.jackson.core",
    "com.fasterxml.jackson.datatype",
    "com.github.luben",
    "com.google.code.findbugs",
    "commons-logging",
    "commons-pool",
    "io.airlift",
    "javax.annotation",
    "org.apache.logging.log4j",
    "org.apache.parquet",
    "org.checkerframework",
    "org.locationtech.jts",
    "org.roaringbitmap",
    "org.scala-lang",
    "org.slf4j",
    "org.xerial.snappy",
)
SPARK_BRINGS_FROM_HADOOP: Final = ("hadoop-client-api", "hadoop-client-runtime", "hadoop-common")

Digests = dict[str, str]
"""Hash by `group/file name`."""


def ensure_jars(folders: PartFolders, groups: Sequence[str]) -> dict[str, str]:
    """Resolve the groups that the cache lacks, compare each file with the lock, return the class paths."""
    locked = _read_lock()
    for group in groups:
        wanted = _of_group(locked, group)
        if not wanted:
            raise PartError(f"{LOCK.name} has no {group}: run `python3 -m dev.parts jars --lock {group}`")
        result = _hash_group(folders, group)
        if result.keys() != wanted.keys():
            _resolve(folders, group)
            result = _hash_group(folders, group)
        if result != wanted:
            raise PartError(
                f"the jars in {_folder(folders, group)} are not those of {LOCK.name}: remove them"
            )
    return {f"PENSTOCK_TEST_JARS_{group.upper()}": _class_path(folders, group) for group in groups}


def lock_jars(folders: PartFolders, groups: Sequence[str]) -> None:
    """Resolve groups again and write their hashes; other groups keep theirs."""
    locked = _read_lock()
    for group in groups:
        _resolve(folders, group)
        others = {name: digest for name, digest in locked.items() if name not in _of_group(locked, group)}
        locked = {**others, **_hash_group(folders, group)}
    LOCK.write_text("".join(f"{locked[name]}  {name}\n" for name in sorted(locked)))


def _folder(folders: PartFolders, group: str) -> Path:
    return folders.cache / "jars" / group


def _jars(folders: PartFolders, group: str) -> list[Path]:
    return sorted(_folder(folders, group).glob("*.jar"))


def _class_path(folders: PartFolders, group: str) -> str:
    return ":".join(str(path) for path in _jars(folders, group))


def _hash_group(folders: PartFolders, group: str) -> Digests:
    return {f"{group}/{path.name}": _hash_file(path) for path in _jars(folders, group)}


def _hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_lock() -> Digests:
    lines = LOCK.read_text().splitlines() if LOCK.exists() else []
    pairs = (line.split(maxsplit=1) for line in lines)
    return {name: digest for digest, name in pairs}


def _of_group(locked: Digests, group: str) -> Digests:
    return {name: digest for name, digest in locked.items() if name.startswith(f"{group}/")}


def _resolve(folders: PartFolders, group: str) -> None:
    find_tool("java")
    folder = _folder(folders, group)
    with tempfile.TemporaryDirectory() as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(_pom(GROUPS[group]))
        arriving = Path(scratch) / "jars"
        maven = [str(find_tool("mvn")), "-B", "-q", "-C", "-f", str(pom)]
        download([*maven, COPY, "-DincludeScope=runtime", f"-DoutputDirectory={arriving}"])
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(arriving, folder)


def _pom(coordinate: str) -> str:
    excluded = [(name, "*") for name in SPARK_BRINGS]
    excluded += [("org.apache.hadoop", name) for name in SPARK_BRINGS_FROM_HADOOP]
    exclusions = "".join(f"<exclusion>{_ids(*pair)}</exclusion>" for pair in excluded)
    group, artifact, version = coordinate.split(":")
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        f"{_ids('penstock.dev', 'jars')}<version>1</version><dependencies><dependency>{_ids(group, artifact)}"
        f"<version>{version}</version><exclusions>{exclusions}</exclusions></dependency></dependencies></project>"
    )


def _ids(group: str, artifact: str) -> str:
    return f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
