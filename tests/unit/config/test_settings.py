from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import ConfigAccessor, Settings, read_settings
from penstock.config.places import home_folder, jars_folder, pipelines_folder, settings_folder
from penstock.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

names = st.text(alphabet="abcxyz_", min_size=1, max_size=6)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder to stand in, with a home folder of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    for name in ("BUCKET_URL", "DESTINATION__BUCKET_URL", "DESTINATION__DELTA__BUCKET_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder


def write(folder: Path, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"DESTINATION__DELTA__BUCKET_URL": "full", "DESTINATION__BUCKET_URL": "short"}, "full"),
        ({"DESTINATION__BUCKET_URL": "short", "BUCKET_URL": "bare"}, "short"),
        ({"BUCKET_URL": "bare"}, "bare"),
        ({"DELTA__BUCKET_URL": "the left section is not dropped"}, None),
        ({}, None),
    ],
)
def test_sections_are_dropped_from_the_right(environment: dict[str, str], found: str | None) -> None:
    settings = Settings(environment=environment)

    assert settings.get("destination", "delta", key="bucket_url") == found


@given(sections=st.lists(names, max_size=4), key=names, kept=st.integers(0, 4))
def test_any_prefix_of_the_sections_is_enough_in_the_environment(
    sections: list[str], key: str, kept: int
) -> None:
    name = "__".join((*sections[:kept], key)).upper()

    assert Settings(environment={name: "here"}).get(*sections, key=key) == "here"


def test_a_shorter_name_in_the_environment_beats_a_longer_one_in_the_file() -> None:
    settings = Settings(
        environment={"DESTINATION__BUCKET_URL": "environment"},
        document={"destination": {"delta": {"bucket_url": "file"}}},
    )

    assert settings.get("destination", "delta", key="bucket_url") == "environment"


def test_the_file_too_is_looked_up_with_fewer_sections() -> None:
    settings = Settings(document={"destination": {"bucket_url": "lake"}, "layout": "flat"})

    assert settings.get("destination", "delta", key="bucket_url") == "lake"
    assert settings.get("destination", "delta", key="layout") == "flat"


def test_a_value_where_a_section_is_expected_is_no_section() -> None:
    settings = Settings(document={"destination": "delta"})

    assert settings.get("destination", "delta", key="bucket_url") is None
    assert settings.section("destination") == {}


def test_a_whole_section_is_a_copy() -> None:
    settings = Settings(document={"spark": {"conf": {"spark.x": 1}}})

    settings.section("spark", "conf")["spark.x"] = 2

    assert settings.section("spark", "conf") == {"spark.x": 1}


def test_secrets_do_not_show_when_settings_are_printed() -> None:
    assert "hush" not in repr(Settings(environment={"PASSWORD": "hush"}, document={"spark": {"key": "hush"}}))


def test_the_projects_file_is_laid_over_the_one_in_the_home_folder(project: Path, tmp_path: Path) -> None:
    write(
        tmp_path / "home", '[spark]\nmaster = "home"\nremote = "home"\n[spark.conf]\na = "home"\nb = "home"'
    )
    write(project / ".penstock", '[spark]\nmaster = "project"\n[spark.conf]\nb = "project"')

    settings = read_settings()

    assert settings.get("spark", key="master") == "project"
    assert settings.get("spark", key="remote") == "home"
    assert settings.section("spark", "conf") == {"a": "home", "b": "project"}


def test_the_environment_beats_the_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(project / ".penstock", '[destination.delta]\nbucket_url = "file"')
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "environment")

    assert read_settings().get("destination", "delta", key="bucket_url") == "environment"


def test_a_folder_of_dlt_is_read_where_ours_is_not_there(project: Path) -> None:
    write(project / ".dlt", '[destination]\nbucket_url = "dlt"')

    assert read_settings().get("destination", "delta", key="bucket_url") == "dlt"


def test_a_folder_of_ours_hides_the_one_of_dlt(project: Path) -> None:
    write(project / ".dlt", '[destination]\nbucket_url = "dlt"')
    (project / ".penstock").mkdir()

    assert read_settings().get("destination", "delta", key="bucket_url") is None
    assert settings_folder() == project / ".penstock"


def test_another_folder_can_be_the_project(project: Path, tmp_path: Path) -> None:
    write(tmp_path / "other" / ".penstock", '[spark]\nmaster = "other"')
    write(project / ".penstock", '[spark]\nmaster = "here"')

    assert read_settings(tmp_path / "other").get("spark", key="master") == "other"


@pytest.mark.parametrize("content", [b"[spark\n", b"\xff\xfe", b"a = 1\na = 2"])
def test_a_file_that_is_not_toml_is_named(project: Path, content: bytes) -> None:
    (project / ".penstock").mkdir()
    (project / ".penstock" / "config.toml").write_bytes(content)

    with pytest.raises(UsageError) as caught:
        read_settings()

    assert str(project / ".penstock" / "config.toml") in caught.value.message


def test_public_access_reads_afresh_each_time(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = ConfigAccessor()
    before = config.get("destination.delta.bucket_url")

    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "lake")

    assert (before, config["destination.delta.bucket_url"]) == (None, "lake")


def test_a_setting_that_is_not_there_is_a_missing_key(project: Path) -> None:
    with pytest.raises(KeyError, match=r"destination\.delta\.bucket_url"):
        ConfigAccessor()["destination.delta.bucket_url"]


def test_all_files_of_ours_stand_below_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))

    assert [home_folder(), pipelines_folder(), jars_folder()] == [
        tmp_path,
        tmp_path / "pipelines",
        tmp_path / "jars",
    ]


def test_the_folder_of_ours_is_in_the_home_folder_unless_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert home_folder() == tmp_path / ".penstock"


def test_a_spark_setting_is_never_taken_from_its_bare_name() -> None:
    settings = Settings(environment={"MASTER": "yarn", "SPARK__REMOTE": "sc://here"}, document={})

    assert settings.spark("master") is None
    assert settings.spark("remote") == "sc://here"
