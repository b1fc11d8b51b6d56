"""Jars and settings per table format and Spark version, and the installed Spark version."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from penstock.errors import UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Jars by coordinates, and their settings."""

    coordinates: tuple[str, ...]
    extension: str | None = None
    session_conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of a running session; penstock sets them in its own sessions."""
    initial_conf: Mapping[str, str] = field(default_factory=dict)
    """Settings of a session that penstock starts, not of a session of the user."""


_DELTA_CATALOG = {"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}
_DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_ICEBERG_EXTENSION = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"

# Configured keys come first, then those of the machine: environment, profile, container, instance.
_S3_CREDENTIALS_CONF = {
    "spark.hadoop.fs.s3a.aws.credentials.provider": ",".join(
        (
            "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
            "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
        )
    )
}

# Database drivers do not depend on the Spark version.
_DRIVERS = {
    "postgres": Preset(coordinates=("org.postgresql:postgresql:42.7.14",)),
    "mysql": Preset(coordinates=("com.mysql:mysql-connector-j:9.7.0",)),
    "mariadb": Preset(coordinates=("org.mariadb.jdbc:mariadb-java-client:3.5.11",)),
}

PRESETS: Mapping[str, Mapping[str, Preset]] = MappingProxyType(
    {
        "4.1": {
            **_DRIVERS,
            "delta": Preset(
                coordinates=("io.delta:delta-spark_4.1_2.13:4.4.0",),
                extension=_DELTA_EXTENSION,
                session_conf=_DELTA_CATALOG,
            ),
            "iceberg": Preset(
                coordinates=("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",),
                extension=_ICEBERG_EXTENSION,
            ),
            # The version of Hadoop is that of Spark itself.
            "s3": Preset(
                coordinates=("org.apache.hadoop:hadoop-aws:3.4.2",), initial_conf=_S3_CREDENTIALS_CONF
            ),
        },
        "4.0": {
            **_DRIVERS,
            "delta": Preset(
                coordinates=("io.delta:delta-spark_4.0_2.13:4.4.0",),
                extension=_DELTA_EXTENSION,
                session_conf=_DELTA_CATALOG,
            ),
            "iceberg": Preset(
                coordinates=("org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",),
                extension=_ICEBERG_EXTENSION,
            ),
            "s3": Preset(
                coordinates=("org.apache.hadoop:hadoop-aws:3.4.1",), initial_conf=_S3_CREDENTIALS_CONF
            ),
        },
    }
)

# Part of Spark, in newer versions than some jars ask for: one version on the class path.
SPARK_PROVIDED = (
    "com.fasterxml.jackson.*:*",
    "com.github.luben:*",
    "com.google.code.findbugs:*",
    "commons-logging:*",
    "commons-pool:*",
    "io.airlift:*",
    "javax.annotation:*",
    "org.apache.hadoop:hadoop-client-*",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.checkerframework:*",
    "org.locationtech.jts:*",
    "org.roaringbitmap:*",
    "org.scala-lang:*",
    "org.slf4j:*",
    "org.xerial.snappy:*",
)

# Files of a task are moved when it commits and again when its job commits: a zombie task leaves
# no files in the result. Version "2" moves them once, task by task.
SAFE_COMMIT_CONF: Mapping[str, str] = MappingProxyType(
    {"mapreduce.fileoutputcommitter.algorithm.version": "1"}
)

ESCAPED_LITERALS = "spark.sql.parser.escapedStringLiterals"

# Without these settings Spark substitutes SQL text: `${env:HOME}` becomes a value of the driver's
# environment, backslashes stay in literals, and quoted names become regular expressions.
SQL_TEXT_CONF: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.variable.substitute": "false",
        ESCAPED_LITERALS: "false",
        "spark.sql.parser.quotedRegexColumnNames": "false",
    }
)

# Settings of penstock's own sessions. A session that refuses one works without it, with a note.
OWN_CONF: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.ansi.enabled": "true",
        "spark.databricks.delta.schema.autoMerge.enabled": "false",
        # An overwrite replaces the whole table, also if the user's session overwrites single partitions.
        "spark.sql.sources.partitionOverwriteMode": "static",
        # A file that cannot be read is an error; skipped rows would not be noticed.
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        # Spark's default type has no bounds in the footers of files, and Arrow reads it without a time zone.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # The options of a table that plans show.
        "spark.sql.redaction.options.regex": "(?i)url|uri|secret|password|token|credential|access[.]?key",
        **SAFE_COMMIT_CONF,
        **SQL_TEXT_CONF,
    }
)

# On one machine every partition is overhead: a small pipeline must not pay for 200 of them.
LOCAL_CONF: Mapping[str, str] = MappingProxyType(
    {
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "1",
    }
)

MASKING_KEY: Final = "spark.sql.redaction.string.regex"
# All options but those of the query, because any property of a driver may be a secret.
_SECRET_OPTION: Final = r'key: "(?!(?:query|fetchsize|driver)")[^"]*"\s*value: "(?:[^"\\]|\\.)*"'  # noqa: S105 (a pattern)
# Masks the options of JDBC in the plans that a client of Spark Connect sends and its server logs.
MASKING_CONF: Mapping[str, str] = MappingProxyType({MASKING_KEY: _SECRET_OPTION})
_EXAMPLE_OPTION: Final = 'key: "password"\n    value: "hush"'

# For a local session that penstock starts; the user's settings win.
LOCAL_START_CONF: Mapping[str, str] = MappingProxyType(
    {
        **LOCAL_CONF,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.session.timeZone": "UTC",
        "spark.redaction.regex": "(?i)secret|password|passwd|pwd|pgpass|passphrase|token|credential|"
        "access[._-]?key|api[._-]?key|private[._-]?key|account[._-]?key|sas|authorization|conn.*str",
    }
)


def masks_options(pattern: str | None) -> bool:
    """Return whether a pattern of `MASKING_KEY` matches a password among the options of a plan.

    >>> masks_options('value: "[^"]*"'), masks_options("(?i)token"), masks_options(None)
    (True, False, False)
    """
    try:
        return bool(pattern) and "hush" not in re.sub(str(pattern), "", _EXAMPLE_OPTION)
    except re.error:  # a pattern that only Java understands
        return False


def preset(spark_version: str, need: str) -> Preset:
    """Return the preset for a Spark version such as `4.1.4`.

    >>> preset("4.1.4", "delta").coordinates
    ('io.delta:delta-spark_4.1_2.13:4.4.0',)
    """
    line = ".".join(spark_version.split(".")[:2])
    if line not in PRESETS:
        raise UnsupportedVersion(what="Spark", has=spark_version, supports=" and ".join(sorted(PRESETS)))
    return PRESETS[line][need]


def start_conf(spark_version: str, needs: Iterable[str]) -> dict[str, str]:
    """Return the settings that take effect only at the start: extensions and catalogs, without jars."""
    presets = [preset(spark_version, need) for need in needs]
    conf: dict[str, str] = {}
    extensions = [used.extension for used in presets if used.extension]
    if extensions:
        conf["spark.sql.extensions"] = ",".join(extensions)
    for used in presets:
        conf |= {**used.initial_conf, **used.session_conf}
    return conf


# All of Spark, or the Spark Connect client.
_PACKAGES = ("pyspark", "pyspark-client")


def installed_version() -> str | None:
    """Return the version of the installed package; None if there is none."""
    for name in _PACKAGES:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return None
