"""Jars for the presets: Spark resolves them once, they are verified, cached and put on the class path.

`jars.lock` has the SHA-256 of every jar of a preset.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.config.folders import jars_folder
from penstock.errors import JarNotVerified
from penstock.spark.presets import SPARK_PROVIDED, preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from penstock.config import Settings

_COMPLETE = ".complete"


def jar_conf(spark_version: str, needs: Iterable[str], settings: Settings) -> dict[str, str]:
    """Return the jar settings of a session: a configured folder, the cache, or Spark's resolver.

    The resolver takes 10 to 20 seconds at every start, the class path takes none.
    """
    wanted = tuple(needs)
    given = settings.spark("jars")
    if given:
        return _class_path_conf(Path(jar) for jar in given.split(":"))
    cached = cache_folder(spark_version, wanted)
    if (cached / _COMPLETE).exists():
        jars = sorted(cached.glob("*.jar"))
        for jar in jars:
            verify_jar(jar)
        return _class_path_conf(jars)
    coordinates = [item for need in wanted for item in preset(spark_version, need).coordinates]
    if not coordinates:
        return {}
    return {"spark.jars.packages": ",".join(coordinates), "spark.jars.excludes": ",".join(SPARK_PROVIDED)}


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


def verify_jar(jar: Path) -> None:
    """Raise `JarNotVerified` unless the checksum of a jar is in the table.

    Spark's resolver prefixes file names with the group: `io.delta_delta-storage-4.4.0.jar`.
    """
    expected = {digest for name, digest in checksums().items() if f"_{jar.name}".endswith(f"_{name}")}
    if not expected:
        raise JarNotVerified(path=str(jar), reason="no preset brings it")
    with jar.open("rb") as content:
        checksum = hashlib.file_digest(content, "sha256").hexdigest()
    if checksum not in expected:
        raise JarNotVerified(path=str(jar), reason=f"unexpected SHA-256 {checksum}")


@cache
def checksums() -> Mapping[str, str]:
    """Return the SHA-256 of each jar by name."""
    lines = files("penstock.spark").joinpath("jars.lock").read_text(encoding="utf-8").splitlines()
    return {name.rpartition("/")[2]: digest for digest, name in map(str.split, lines)}


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
