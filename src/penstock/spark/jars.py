"""Jars are resolved by Spark once, then kept in a folder and put on the class path."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from penstock.config.places import jars_folder
from penstock.spark.presets import SPARK_BRINGS, preset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from penstock.config import Settings

_COMPLETE = ".complete"


def jar_conf(spark_version: str, needs: Iterable[str], settings: Settings) -> dict[str, str]:
    """How the jars come to a session: from a given folder, from our cache, or by Spark's own resolver.

    The resolver copies for 10 to 20 seconds at every start, the class path costs nothing.
    """
    wanted = tuple(needs)
    given = settings.spark("jars")
    if given:
        return _on_class_path(Path(jar) for jar in given.split(":"))
    cached = cache_folder(spark_version, wanted)
    if (cached / _COMPLETE).exists():
        return _on_class_path(sorted(cached.glob("*.jar")))
    coordinates = [item for need in wanted for item in preset(spark_version, need).coordinates]
    if not coordinates:
        return {}
    return {"spark.jars.packages": ",".join(coordinates), "spark.jars.excludes": ",".join(SPARK_BRINGS)}


def keep_jars(spark_version: str, needs: Iterable[str], resolved: str) -> None:
    """Copy what Spark resolved (its `spark.jars`) into the cache for the next start."""
    cached = cache_folder(spark_version, tuple(needs))
    if not resolved or (cached / _COMPLETE).exists():
        return
    cached.mkdir(parents=True, exist_ok=True)
    for address in resolved.split(","):
        jar = Path(urlsplit(address).path)
        if jar.is_file():
            shutil.copy2(jar, cached / jar.name)
    (cached / _COMPLETE).touch()


def cache_folder(spark_version: str, needs: tuple[str, ...]) -> Path:
    """One folder for each set of coordinates, so that a changed preset is resolved anew."""
    coordinates = sorted(item for need in needs for item in preset(spark_version, need).coordinates)
    name = "_".join(item.split(":", 1)[1].replace(":", "-") for item in coordinates)
    return jars_folder() / name


def _on_class_path(jars: Iterable[Path]) -> dict[str, str]:
    joined = ":".join(str(jar) for jar in jars)
    return {"spark.driver.extraClassPath": joined, "spark.executor.extraClassPath": joined}
