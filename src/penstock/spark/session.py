"""The Spark session of a pipeline: passed by the user, active, or built from settings."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.config import home_folder, logger, redact
from penstock.errors import JarNotVerified, SessionLacksConf, SparkNotAvailable
from penstock.interfaces.humanize import human_seconds
from penstock.spark.class_archive import class_archive_options
from penstock.spark.deferred_session import DeferredSession, SessionOutlook
from penstock.spark.jars import cache_jars, jar_conf
from penstock.spark.paths import spark_path
from penstock.spark.presets import (
    ESCAPED_LITERALS,
    LOCAL_START_CONF,
    SQL_TEXT_CONF,
    installed_version,
    preset,
    start_conf,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from penstock.config import Settings

_LOG = logger("penstock.spark")
LOCAL_MASTER = "local[*]"
# Settings of Spark's resolver: where jars come from.
_RESOLVER_CONF: Final = ("spark.jars.ivySettings", "spark.jars.repositories", "spark.jars.ivy")
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_DEFAULT_SETTING: Final = re.compile(r"\s*([^#\s=:]+)[\s=:]+(.*?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSession:
    """The user's session and its facts."""

    spark: SparkSession
    is_connect: bool
    master: str
    origin: str
    """`given`, `active` or `built`."""

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are on this machine."""
        return not self.is_connect and self.master.startswith("local")


def find_session(
    spark: SparkSession | None,
    settings: Settings,
    needs: Iterable[str],
    *,
    notify: Callable[[str], None] | None = None,
) -> UserSession:
    """Return the session of the user; build one only if none was passed and the process has none.

    `notify` gets texts before and after a start of Spark, which takes seconds, and minutes where jars are
    fetched; by default they are logged.
    """
    if spark is not None:
        return _user_session(spark, "given")
    present = existing_session(None)
    if present is not None:
        return _user_session(present, "active")
    report = notify or _log
    report(_start_text(settings))
    began = time.monotonic()
    session = _user_session(_build(settings, tuple(needs), report), "built")
    report(f"Spark {session.spark.version} is ready after {human_seconds(time.monotonic() - began)}")
    return session


def _log(text: str) -> None:
    _LOG.info("%s", text)


def _start_text(settings: Settings) -> str:
    """Return what is started. The address of a server may contain a token."""
    if settings.spark("remote"):
        return "connecting to Spark, a server of Spark Connect"
    return f"starting Spark on {redact(settings.spark('master') or LOCAL_MASTER)}"


def check_session(session: UserSession, needs: Iterable[str]) -> None:
    """Raise an error if a session lacks start settings, with the lines to add."""
    for need in needs:
        if is_extension_missing(session.spark, need):
            conf = start_conf(session.spark.version, [need])
            if has := _extensions(session.spark):
                conf["spark.sql.extensions"] = f"{has},{conf['spark.sql.extensions']}"
            if session.origin != "built" and not session.is_connect:
                conf = {
                    "spark.jars.packages": ",".join(preset(session.spark.version, need).coordinates),
                    **conf,
                }
            raise SessionLacksConf(destination=need, conf=conf)


def existing_session(spark: SparkSession | None) -> SparkSession | None:
    """Return the existing session, if any; build none.

    Spark has an active session per thread. A thread without one uses the session of the process: a builder
    would return that session too, but change its settings.
    """
    if spark is not None:
        return spark
    if (active := SparkSession.getActiveSession()) is not None:
        return active
    try:
        default = SparkSession.active()
    except PySparkException:
        return None
    return default if is_connect(default) or _is_running(default) else None


def _is_running(classic: SparkSession) -> bool:
    """Return whether the session's Spark still runs: a stopped context has no start time."""
    try:
        return bool(classic.sparkContext.startTime)
    except AttributeError:
        return False


def check_format(spark: SparkSession, table_format: str) -> None:
    """Raise an error if a session cannot work with tables of a format."""
    check_session(_user_session(spark, "given"), [table_format])


def is_extension_missing(spark: SparkSession, need: str) -> bool:
    """Return whether a session lacks the extension for a need."""
    extension = preset(spark.version, need).extension
    return bool(extension) and extension not in _extensions(spark).split(",")


def target_master(spark: SparkSession | None, settings: Settings) -> str:
    """Return the master that Spark will use, without starting it."""
    session = existing_session(spark)
    if session is not None:
        return _user_session(session, "given").master
    return settings.spark("remote") or settings.spark("master") or LOCAL_MASTER


def is_remote(spark: SparkSession | None, settings: Settings) -> bool:
    """Return whether this machine is or will be a Spark Connect client, without starting anything."""
    session = existing_session(spark)
    return is_connect(session) if session is not None else bool(settings.spark("remote"))


def is_connect(spark: SparkSession) -> bool:
    """Return whether a session is a Spark Connect client; a deferred one is not opened."""
    if isinstance(spark, DeferredSession):
        return spark.outlook().is_connect
    return type(spark).__module__.startswith("pyspark.sql.connect")


def session_outlook(spark: SparkSession) -> SessionOutlook:
    """Return the facts about a session; a deferred one is not opened."""
    if isinstance(spark, DeferredSession):
        return spark.outlook()
    connect = is_connect(spark)
    # Over Connect the settings are a request, and the commits of other clients are unknown anyway.
    return SessionOutlook(is_connect=connect, conf={} if connect else spark.conf.getAll)


def expected_outlook(
    spark: SparkSession | None, settings: Settings, conf: Mapping[str, str]
) -> SessionOutlook:
    """Return the facts about the sessions of a run: of the existing session, else of the one to be built.

    `conf` is set in all of them.
    """
    session = existing_session(spark)
    if session is not None:
        outlook = session_outlook(session)
        return SessionOutlook(is_connect=outlook.is_connect, conf={**outlook.conf, **conf})
    user_conf = {str(key): str(value) for key, value in settings.section("spark", "conf").items()}
    is_client = bool(settings.spark("remote"))
    return SessionOutlook(is_connect=is_client, conf={**_default_conf(), **user_conf, **conf})


def _default_conf() -> dict[str, str]:
    """Return the settings that every Spark of this machine starts with."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    file = Path(folder or os.devnull, "spark-defaults.conf")
    if not file.is_file():
        return {}
    lines = map(_DEFAULT_SETTING.fullmatch, file.read_text(encoding="utf-8").splitlines())
    return {line[1]: line[2] for line in lines if line is not None}


def missing_conf(conf: Mapping[str, str], spark: SparkSession) -> Mapping[str, str]:
    """Return the settings that a session lacks, to pass them as options of a reader or writer.

    Empty for a Spark Connect client, because the server logs plans with all options.
    """
    if not conf or is_connect(spark):
        return {}
    return {} if all(spark.conf.get(key, None) == value for key, value in conf.items()) else conf


def _extensions(spark: SparkSession) -> str:
    return spark.conf.get("spark.sql.extensions", "") or ""


def _user_session(spark: SparkSession, origin: str) -> UserSession:
    connect = is_connect(spark)
    # A Connect client sees the server's master, which does not tell whether they share a disk.
    master = "a Spark Connect server" if connect else str(spark.conf.get("spark.master"))
    return UserSession(spark=spark, is_connect=connect, master=master, origin=origin)


def _build(settings: Settings, needs: tuple[str, ...], notify: Callable[[str], None]) -> SparkSession:
    remote = settings.spark("remote")
    user_conf = {str(key): str(value) for key, value in settings.section("spark", "conf").items()}
    if remote:
        builder = SparkSession.builder.remote(remote)
        # A deprecated setting that is off by default: setting it warns the user.
        text_conf = {key: value for key, value in SQL_TEXT_CONF.items() if key != ESCAPED_LITERALS}
        for key, value in {**text_conf, **user_conf}.items():
            builder = builder.config(key, value)
        return _start(builder)
    spark_version = installed_version()
    if spark_version is None:
        raise SparkNotAvailable(reason="pyspark is not installed", hint="pip install 'penstock[spark]'")
    master = settings.spark("master") or LOCAL_MASTER
    # Executors of a cluster do not have the cache: Spark sends them what it resolved.
    own_resolver = not master.startswith("local") or not user_conf.keys().isdisjoint(_RESOLVER_CONF)
    jars = jar_conf(spark_version, needs, settings, own_resolver=own_resolver)
    if coordinates := jars.get("spark.jars.packages"):
        notify(f"Spark fetches jars: {coordinates.replace(',', ', ')}")
    conf = {**SQL_TEXT_CONF, **start_conf(spark_version, needs), **jars}
    if master.startswith("local"):
        # Otherwise Spark creates a folder `spark-warehouse` in the working folder.
        warehouse = {"spark.sql.warehouse.dir": spark_path(str(home_folder() / "warehouse"))}
        conf = {**LOCAL_START_CONF, **warehouse, **conf}
        if _JAVA_OPTIONS not in user_conf:
            conf[_JAVA_OPTIONS] = _java_options(spark_version, {**conf, **user_conf}, settings)
        # Workers of a local Spark use this Python, whatever `python3` is on the PATH; no conf sets it.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("penstock")
    for key, value in {**conf, **user_conf}.items():
        builder = builder.config(key, value)
    spark = _start(builder)
    if "spark.jars.packages" in conf and "spark.jars.packages" not in user_conf:
        _cache_jars_or_stop(spark, spark_version, needs, user_conf.get("spark.jars", ""))
    return spark


def _cache_jars_or_stop(
    spark: SparkSession, spark_version: str, needs: tuple[str, ...], user_jars: str
) -> None:
    """Verify and cache the jars that Spark resolved; stop the session if one is not verified."""
    try:
        cache_jars(spark_version, needs, spark.conf.get("spark.jars", "") or "", user_jars=user_jars)
    except JarNotVerified:
        spark.stop()
        raise


def _start(builder: SparkSession.Builder) -> SparkSession:
    before = signal.getsignal(signal.SIGINT)
    try:
        spark = builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise SparkNotAvailable(
            reason=str(error).splitlines()[0] if str(error) else type(error).__name__,
            hint="read what Spark printed above; `penstock doctor` checks Java, Spark and jars one by one",
        ) from error
    # A classic session installs a handler that breaks the JVM connection in the middle of a call.
    if before is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)
    return spark


def _java_options(spark_version: str, conf: Mapping[str, str], settings: Settings) -> str:
    """Return the options of a local JVM: no warnings at the start, and the archive of its classes."""
    log_settings = files("penstock.spark").joinpath("log4j2.properties")
    options = f"-Dlog4j2.configurationFile=file:{log_settings}"
    class_path = conf.get("spark.driver.extraClassPath", "")
    # The resolver brings the jars after the start: an archive of these classes would not fit the next one.
    if settings.spark("class_archive") in {"false", "False"} or "spark.jars.packages" in conf:
        return options
    archive = class_archive_options(spark_version, class_path.split(":") if class_path else ())
    return f"{options} {archive}".rstrip()
