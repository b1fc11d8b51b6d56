"""Jars for the presets: they are fetched once, verified, cached and put on the class path.

`jars.lock` has the SHA-256 of every jar of a preset, so nothing has to be resolved: the jars are fetched by
their addresses in a Maven repository. Spark's resolver does it where that fails or is not possible.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import uuid
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from penstock.config import logger, redact
from penstock.config.folders import jars_folder
from penstock.errors import JarNotVerified
from penstock.spark.presets import SPARK_PROVIDED, preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.config import Settings

_LOG = logger("penstock.spark")
_COMPLETE = ".complete"
_REPOSITORY: Final = "https://repo1.maven.org/maven2"
# The line of Spark whose jars are in folders of `jars.lock` that have the names of presets.
_LOCKED_LINE: Final = "4.1."
_GROUPS: Final = {
    "analyticsaccelerator": "software.amazon.s3.analyticsaccelerator",
    "bundle": "software.amazon.awssdk",
    "delta": "io.delta",
    "hadoop": "org.apache.hadoop",
    "iceberg": "org.apache.iceberg",
    "mariadb": "org.mariadb.jdbc",
    "mysql": "com.mysql",
    "postgresql": "org.postgresql",
    "protobuf": "com.google.protobuf",
    "unitycatalog": "io.unitycatalog",
    "wildfly": "org.wildfly.openssl",
}
"""The Maven group of a jar by the first word of its name."""
_SECONDS: Final = 20
_PARALLEL: Final = 4
_MEGABYTE: Final = 1_000_000


def jar_conf(
    spark_version: str, needs: Iterable[str], settings: Settings, *, own_resolver: bool = False
) -> dict[str, str]:
    """Return the jar settings of a session: a configured folder, the cache, or Spark's resolver.

    Missing jars are fetched into the cache first, unless the session has an `own_resolver`, with mirrors or a
    proxy. Spark's resolver takes 10 to 20 seconds at every start, the class path takes none.
    """
    wanted = tuple(needs)
    given = settings.spark("jars")
    if given:
        return _class_path_conf(Path(jar) for jar in given.split(":"))
    cached = cache_folder(spark_version, wanted)
    if not (cached / _COMPLETE).exists() and not own_resolver:
        _try_to_fetch(spark_version, wanted, settings.spark("jars_repository") or _REPOSITORY)
    if (cached / _COMPLETE).exists():
        jars = sorted(cached.glob("*.jar"))
        for jar in jars:
            verify_jar(jar)
        return _class_path_conf(jars)
    coordinates = [item for need in wanted for item in preset(spark_version, need).coordinates]
    if not coordinates:
        return {}
    return {"spark.jars.packages": ",".join(coordinates), "spark.jars.excludes": ",".join(SPARK_PROVIDED)}


def _try_to_fetch(spark_version: str, needs: tuple[str, ...], repository: str) -> None:
    """Fetch the jars of these needs into the cache, if a repository can be reached."""
    addresses = jar_addresses(spark_version, needs, repository)
    if not addresses:
        return
    folder = cache_folder(spark_version, needs)
    try:
        with ThreadPoolExecutor(_PARALLEL, thread_name_prefix="penstock-jars") as threads:
            size = sum(threads.map(_remote_size, addresses))
            _LOG.warning(
                "penstock fetches %d jars (%.0f MB) from %s into %s, once on this machine",
                *(len(addresses), size / _MEGABYTE, redact(repository), folder),
            )
            folder.mkdir(parents=True, exist_ok=True)
            fetched = set(threads.map(lambda address: _fetch(address, folder), addresses))
            _LOG.info("%d jars are fetched and verified", len(fetched))
    except (OSError, HTTPException) as error:
        _LOG.warning(
            "jars cannot be fetched from %s, Spark resolves them: %s", redact(repository), redact(str(error))
        )
        return
    for leftover in set(folder.glob("*.jar")) - fetched:  # of a copy that was interrupted
        leftover.unlink(missing_ok=True)
    (folder / _COMPLETE).touch()


def jar_addresses(spark_version: str, needs: Iterable[str], repository: str) -> list[str]:
    """Return the addresses of all jars of these needs; none if the table does not have them by need.

    >>> jar_addresses("4.1.4", ["postgres"], "https://repo1.maven.org/maven2")
    ['https://repo1.maven.org/maven2/org/postgresql/postgresql/42.7.14/postgresql-42.7.14.jar']
    """
    if not spark_version.startswith(_LOCKED_LINE):
        return []
    wanted = set(needs)
    names = [name for folder, name in _locked_names() if folder in wanted]
    return [_address(name, repository.rstrip("/")) for name in names]


def _address(name: str, repository: str) -> str:
    artifact, _, version = name.removesuffix(".jar").rpartition("-")
    group = _GROUPS[re.split("[-_.]", artifact)[0]].replace(".", "/")
    return f"{repository}/{group}/{artifact}/{version}/{name}"


def _remote_size(address: str) -> int:
    with urlopen(Request(address, method="HEAD"), timeout=_SECONDS) as answer:  # noqa: S310 - of the settings
        return int(answer.headers["Content-Length"] or 0)


def _fetch(address: str, folder: Path) -> Path:
    """Fetch one jar, verify it, and return its path; another process may fetch the same one."""
    target = folder / address.rpartition("/")[2]
    arriving = folder / f"{target.name}.{uuid.uuid4().hex[:8]}"
    try:
        with urlopen(address, timeout=_SECONDS) as answer, arriving.open("wb") as file:  # noqa: S310 - as above
            shutil.copyfileobj(answer, file)
        verify_jar(arriving, name=target.name)
        arriving.replace(target)
    finally:
        arriving.unlink(missing_ok=True)
    return target


def cache_jars(spark_version: str, needs: Iterable[str], resolved_jars: str, *, user_jars: str = "") -> None:
    """Verify the jars that Spark resolved (its `spark.jars`) and copy them into the cache.

    `user_jars` are additional jars of the user, which are not verified.
    """
    user_files = {_local_file(address) for address in user_jars.split(",")}
    jars = [
        jar for jar in map(_local_file, resolved_jars.split(",")) if jar not in user_files and jar.is_file()
    ]
    for jar in jars:
        verify_jar(jar)
    cached = cache_folder(spark_version, tuple(needs))
    if not jars or (cached / _COMPLETE).exists():
        return
    cached.mkdir(parents=True, exist_ok=True)
    for jar in jars:
        shutil.copy2(jar, cached / jar.name)
    (cached / _COMPLETE).touch()


def verify_jar(jar: Path, *, name: str | None = None) -> None:
    """Raise `JarNotVerified` unless the checksum of a jar is in the table, by its own name or the given one.

    Spark's resolver prefixes file names with the group: `io.delta_delta-storage-4.4.0.jar`.
    """
    file_name = f"_{name or jar.name}"
    expected = {digest for jar_name, digest in checksums().items() if file_name.endswith(f"_{jar_name}")}
    if not expected:
        raise JarNotVerified(path=str(jar), reason="no preset brings it")
    with jar.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    if checksum not in expected:
        raise JarNotVerified(path=str(jar), reason=f"unexpected SHA-256 {checksum}")


@cache
def checksums() -> Mapping[str, str]:
    """Return the SHA-256 of each jar by name."""
    return {path.rpartition("/")[2]: digest for digest, path in _locked()}


def _locked_names() -> list[tuple[str, str]]:
    """Return the folder and the name of each jar."""
    paths = [path.rpartition("/") for _, path in _locked()]
    return [(folder, name) for folder, _, name in paths]


def _locked() -> list[tuple[str, str]]:
    lines = files("penstock.spark").joinpath("jars.lock").read_text(encoding="utf-8").splitlines()
    return [(digest, path) for digest, path in map(str.split, lines)]


def _local_file(address: str) -> Path:
    return Path(urlsplit(address).path)


def cache_folder(spark_version: str, needs: tuple[str, ...]) -> Path:
    """Return the folder for a set of coordinates, so that a changed preset is resolved again."""
    coordinates = sorted(item for need in needs for item in preset(spark_version, need).coordinates)
    name = "_".join(item.split(":", 1)[1].replace(":", "-") for item in coordinates)
    return jars_folder() / name


def _class_path_conf(jars: Iterable[Path]) -> dict[str, str]:
    joined = ":".join(str(jar) for jar in jars)
    return {"spark.driver.extraClassPath": joined, "spark.executor.extraClassPath": joined}
