from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import pytest

from penstock.config import Settings
from penstock.errors import JarNotVerified, UnsupportedVersion
from penstock.spark.jars import cache_folder, cache_jars, checksums, jar_addresses, jar_conf
from penstock.spark.presets import LOCAL_START_CONF, PRESETS, preset, start_conf

if TYPE_CHECKING:
    from pathlib import Path


UNREACHABLE = Settings(document={"spark": {"jars_repository": "http://127.0.0.1:9"}})


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.mark.parametrize("line", PRESETS)
def test_the_jars_of_a_preset_are_built_for_its_line_of_spark(line: str) -> None:
    found = preset(f"{line}.3", "delta")

    assert all(f"delta-spark_{line}_2.13:" in coordinate for coordinate in found.coordinates)


@pytest.mark.parametrize("version", ["3.5.6", "4.10.0", "4", ""])
def test_a_spark_without_a_preset_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedVersion, match=r"this release supports 4\.0 and 4\.1"):
        preset(version, "delta")


def test_settings_for_the_start_hold_extension_and_catalog_but_no_jars() -> None:
    assert start_conf("4.1.4", ["delta"]) == {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
    assert start_conf("4.1.4", []) == {}


def test_spark_resolves_jars_that_cannot_be_fetched(caplog: pytest.LogCaptureFixture) -> None:
    conf = jar_conf("4.1.4", ["delta"], UNREACHABLE)

    assert conf["spark.jars.packages"] == ",".join(preset("4.1.4", "delta").coordinates)
    assert "spark.driver.extraClassPath" not in conf
    assert jar_conf("4.1.4", [], Settings()) == {}
    assert "jars cannot be fetched from http://127.0.0.1:9, Spark resolves them" in caplog.text


@pytest.mark.parametrize(("version", "own_resolver"), [("4.1.4", True), ("4.0.1", False)])
def test_spark_resolves_jars_with_the_users_resolver_and_those_of_other_lines(
    version: str, own_resolver: bool, home: Path, known: None
) -> None:
    settings = repository(home, {"delta-1.jar": b"jar"})

    assert "spark.jars.packages" in jar_conf(version, ["delta"], settings, own_resolver=own_resolver)


def repository(folder: Path, jars: dict[str, bytes]) -> Settings:
    """Return settings with a repository in a folder, which has these jars of Delta."""
    for name, content in jars.items():
        artifact, _, version = name.removesuffix(".jar").rpartition("-")
        path = folder / "maven" / "io" / "delta" / artifact / version / name
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
    return Settings(document={"spark": {"jars_repository": (folder / "maven").as_uri()}})


def test_jars_are_fetched_once_with_a_message_that_says_where_they_are_kept(
    home: Path, known: None, caplog: pytest.LogCaptureFixture
) -> None:
    settings = repository(home, {"delta-1.jar": b"jar", "delta_storage-1.jar": b"jar"})
    folder = cache_folder("4.1.4", ("delta",))
    folder.mkdir(parents=True)
    (folder / "delta.jar").write_bytes(b"half of a copy")

    confs = [jar_conf("4.1.4", ["delta"], settings) for _ in range(2)]

    joined = f"{folder}/delta-1.jar:{folder}/delta_storage-1.jar"
    assert [conf["spark.driver.extraClassPath"] for conf in confs] == [joined] * 2
    assert [record.getMessage() for record in caplog.records] == [
        f"penstock fetches 2 jars (0 MB) from {(home / 'maven').as_uri()} into {folder}, once on this machine"
    ]


def test_a_jar_that_is_not_the_one_of_the_table_is_refused_when_it_was_fetched(
    home: Path, known: None
) -> None:
    settings = repository(home, {"delta-1.jar": b"other", "delta_storage-1.jar": b"jar"})

    with pytest.raises(JarNotVerified, match="unexpected SHA-256"):
        jar_conf("4.1.4", ["delta"], settings)

    assert "spark.jars.packages" in jar_conf("4.1.4", ["delta"], UNREACHABLE)


def test_the_addresses_of_all_jars_of_the_table_are_known() -> None:
    needs = tuple(PRESETS["4.1"])

    addresses = jar_addresses("4.1.4", needs, "https://maven/")

    assert "https://maven/io/delta/delta-spark_4.1_2.13/4.4.0/delta-spark_4.1_2.13-4.4.0.jar" in addresses
    assert (
        "https://maven/org/wildfly/openssl/wildfly-openssl/2.1.4.Final/wildfly-openssl-2.1.4.Final.jar"
        in (addresses)
    )
    assert all(jar_addresses("4.1.4", [need], "https://maven") for need in needs)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of checksums that has the jars of these tests."""
    digest = hashlib.sha256(b"jar").hexdigest()
    table = dict.fromkeys(["delta-1.jar", "storage-1.jar", "delta_storage-1.jar"], digest)
    monkeypatch.setattr("penstock.spark.jars.checksums", lambda: table)
    names = [("delta", "delta-1.jar"), ("delta", "delta_storage-1.jar")]
    monkeypatch.setattr("penstock.spark.jars._locked_names", lambda: names)


def test_the_table_of_checksums_has_every_jar_that_a_preset_names() -> None:
    names = {
        "{1}-{2}.jar".format(*coordinate.split(":"))
        for presets in PRESETS.values()
        for one in presets.values()
        for coordinate in one.coordinates
    }

    assert names - set(checksums()) == set()
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in checksums().values())


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("name", "content"),
    [("io.delta_delta-1.jar", b"other"), ("delta-1.jar", b"other"), ("extra-1.jar", b"jar")],
    ids=["changed", "changed, without its group", "not in the table"],
)
def test_jars_that_are_not_those_of_the_table_are_refused_after_they_were_resolved(
    name: str, content: bytes, home: Path
) -> None:
    (home / name).write_bytes(content)

    with pytest.raises(JarNotVerified) as refused:
        cache_jars("4.1.4", ["delta"], (home / name).as_uri())

    assert refused.value.path == str(home / name)
    assert not cache_folder("4.1.4", ("delta",)).exists()


@pytest.mark.usefixtures("known")
def test_jars_that_changed_in_the_cache_are_not_used(home: Path) -> None:
    jar = home / "io.delta_delta-1.jar"
    jar.write_bytes(b"jar")
    cache_jars("4.1.4", ["delta"], jar.as_uri())
    kept = cache_folder("4.1.4", ("delta",)) / jar.name
    kept.write_bytes(b"other")

    with pytest.raises(JarNotVerified, match="unexpected SHA-256"):
        jar_conf("4.1.4", ["delta"], Settings())


@pytest.mark.usefixtures("known")
def test_jars_that_the_user_adds_are_neither_checked_nor_kept(home: Path) -> None:
    ours, theirs = home / "io.delta_delta-1.jar", home / "own.jar"
    for jar in (ours, theirs):
        jar.write_bytes(b"jar")

    cache_jars("4.1.4", ["delta"], f"{theirs},{ours.as_uri()}", user_jars=str(theirs))

    folder = cache_folder("4.1.4", ("delta",))
    assert [path.name for path in folder.glob("*.jar")] == [ours.name]


@pytest.mark.usefixtures("known")
def test_cached_jars_are_on_the_class_path_of_the_next_session(home: Path) -> None:
    jars = [home / "io.delta_delta-1.jar", home / "storage-1.jar"]
    for jar in jars:
        jar.write_bytes(b"jar")

    for _ in range(2):
        cache_jars("4.1.4", ["delta"], ",".join(jar.as_uri() for jar in jars))

    folder = cache_folder("4.1.4", ("delta",))
    joined = ":".join(str(folder / jar.name) for jar in jars)
    assert jar_conf("4.1.4", ["delta"], Settings()) == {
        "spark.driver.extraClassPath": joined,
        "spark.executor.extraClassPath": joined,
    }


def test_a_copy_that_stopped_half_way_is_not_used() -> None:
    folder = cache_folder("4.1.4", ("delta",))
    folder.mkdir(parents=True)
    (folder / "delta.jar").write_bytes(b"half")

    assert "spark.jars.packages" in jar_conf("4.1.4", ["delta"], UNREACHABLE)


def test_jars_of_the_settings_win() -> None:
    settings = Settings(document={"spark": {"jars": "a.jar:b.jar"}})

    assert jar_conf("4.1.4", ["delta"], settings)["spark.driver.extraClassPath"] == "a.jar:b.jar"


def test_each_set_of_jars_has_a_folder_of_its_own() -> None:
    folders = {cache_folder(f"{line}.0", ("delta",)) for line in PRESETS}

    assert len(folders) == len(PRESETS)


@pytest.mark.parametrize(("version", "hadoop"), [("4.1.4", "3.4.2"), ("4.0.1", "3.4.1")])
def test_the_s3_jars_have_the_version_of_sparks_hadoop(version: str, hadoop: str) -> None:
    assert preset(version, "s3").coordinates == (f"org.apache.hadoop:hadoop-aws:{hadoop}",)


def test_a_session_that_is_started_for_s3_finds_the_keys_of_the_machine() -> None:
    conf = start_conf("4.1.4", ["delta", "s3"])

    found = conf["spark.hadoop.fs.s3a.aws.credentials.provider"].split(",")
    assert found[-1] == "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider"
    assert jar_conf("4.1.4", ["delta", "s3"], UNREACHABLE)["spark.jars.packages"].count(",") == 1


@pytest.mark.parametrize(
    "key",
    [
        *(
            "fs.s3a.bucket.lake.access.key",
            "fs.s3a.bucket.lake.secret.key",
            "fs.s3a.bucket.lake.session.token",
        ),
        *("fs.azure.account.key.x.dfs.core.windows.net", "fs.azure.sas.token.provider.type"),
        *("fs.gs.auth.service.account.private.key", "spark.hadoop.fs.s3a.secret.key"),
    ],
)
def test_spark_masks_the_keys_of_a_store(key: str) -> None:
    assert re.search(LOCAL_START_CONF["spark.redaction.regex"], key)
