from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.config import ConfigAccessor, Settings, TSecretStrValue, read_settings
from penstock.config.folders import home_folder, jars_folder, pipelines_folder, settings_folder
from penstock.config.lookup import Lookup, Sections
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


def write_secrets(folder: Path, text: str, *, mode: int = 0o600) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "secrets.toml").write_text(text, encoding="utf-8")
    (folder / "secrets.toml").chmod(mode)


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


def test_a_short_name_in_the_environment_wins_over_a_long_one_in_a_file() -> None:
    settings = Settings(
        environment={"DESTINATION__BUCKET_URL": "environment"},
        document={"destination": {"delta": {"bucket_url": "file"}}},
    )

    assert settings.get("destination", "delta", key="bucket_url") == "environment"


def test_the_file_too_is_looked_up_with_fewer_sections() -> None:
    settings = Settings(document={"destination": {"bucket_url": "lake"}, "layout": "flat"})

    assert settings.get("destination", "delta", key="bucket_url") == "lake"
    assert settings.get("destination", "delta", key="layout") == "flat"


def test_a_value_is_not_a_section() -> None:
    settings = Settings(document={"destination": "delta"})

    assert settings.get("destination", "delta", key="bucket_url") is None
    assert settings.section("destination") == {}


def test_a_whole_section_is_a_copy() -> None:
    settings = Settings(document={"spark": {"conf": {"spark.x": 1}}})

    settings.section("spark", "conf")["spark.x"] = 2

    assert settings.section("spark", "conf") == {"spark.x": 1}


def test_secrets_do_not_show_when_settings_are_printed() -> None:
    assert "hush" not in repr(Settings(environment={"PASSWORD": "hush"}, document={"spark": {"key": "hush"}}))


def test_the_file_of_the_project_overrides_the_one_in_the_home_folder(project: Path, tmp_path: Path) -> None:
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


def test_the_dlt_folder_is_read_if_the_penstock_folder_is_missing(project: Path) -> None:
    write(project / ".dlt", '[destination]\nbucket_url = "dlt"')

    assert read_settings().get("destination", "delta", key="bucket_url") == "dlt"


def test_the_penstock_folder_hides_the_dlt_folder(project: Path) -> None:
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


def test_an_unset_setting_is_a_missing_key(project: Path) -> None:
    with pytest.raises(KeyError, match=r"destination\.delta\.bucket_url"):
        ConfigAccessor()["destination.delta.bucket_url"]


def test_all_files_of_penstock_are_below_one_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))

    assert [home_folder(), pipelines_folder(), jars_folder()] == [
        tmp_path,
        tmp_path / "pipelines",
        tmp_path / "jars",
    ]


def test_the_penstock_folder_is_in_the_home_folder_by_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))

    assert home_folder() == tmp_path / ".penstock"


def test_secrets_are_read_from_their_own_file_and_before_the_other(project: Path) -> None:
    write(project / ".penstock", '[a]\nkey = "config"')
    write_secrets(project / ".penstock", '[a]\nkey = "secrets"')

    assert read_settings().get("a", key="key") == "secrets"


def test_the_dlt_folder_in_the_home_folder_is_read_if_the_penstock_folder_has_no_files(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    write(tmp_path / "ada" / ".dlt", 'key = "dlt"')
    (tmp_path / "ada" / ".penstock" / "pipelines").mkdir(parents=True)
    before = read_settings().get(key="key")

    write(tmp_path / "ada" / ".penstock", 'key = "ours"')

    assert (before, read_settings().get(key="key")) == ("dlt", "ours")


def test_the_project_can_be_named_by_a_variable(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "other" / ".penstock", 'key = "other"')
    monkeypatch.setenv("PENSTOCK_PROJECT_DIR", str(tmp_path / "other"))

    assert read_settings().get(key="key") == "other"


def test_a_file_that_changes_is_read_again(project: Path) -> None:
    write(project / ".penstock", 'key = "before"')
    before = read_settings().get(key="key")

    write(project / ".penstock", 'key = "afterwards"')

    assert (before, read_settings().get(key="key")) == ("before", "afterwards")


@pytest.mark.parametrize(("mode", "warned"), [(0o644, True), (0o604, True), (0o640, False), (0o600, False)])
def test_a_file_of_secrets_that_everybody_can_read_is_warned_about_once(
    project: Path, caplog: pytest.LogCaptureFixture, mode: int, warned: bool
) -> None:
    write_secrets(project / ".penstock", 'key = "hunter2"', mode=mode)

    for _ in range(2):
        assert read_settings().get(key="key") == "hunter2"

    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    path = project / ".penstock" / "secrets.toml"
    assert said == (
        [f"{path} is readable by all users of this machine: run chmod 600 {path}"] if warned else []
    )


def test_the_other_file_may_be_read_by_everybody(project: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(project / ".penstock", 'key = "open"')

    read_settings()

    assert caplog.records == []


def test_a_mounted_file_is_a_secret_and_wins_over_the_variable_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "sources--hub--my-key").write_text("mounted\n")
    settings = Settings(environment={"SOURCES__HUB__MY_KEY": "variable"}, secrets_folder=tmp_path)
    secret = Lookup(key="my_key", sections=Sections(requested=("sources", "hub")), hint=TSecretStrValue)
    plain = Lookup(key="my_key", sections=Sections(requested=("sources", "hub")), hint=str)

    assert secret.find(settings.providers).value == "mounted"
    assert plain.find(settings.providers).value == "variable"


def test_a_folder_instead_of_a_mounted_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    settings = Settings(environment={"KEY": "variable"}, secrets_folder=tmp_path)

    assert Lookup(key="key", hint=TSecretStrValue).find(settings.providers).value == "variable"


def test_a_spark_setting_is_never_taken_from_its_bare_name() -> None:
    settings = Settings(environment={"MASTER": "yarn", "SPARK__REMOTE": "sc://here"}, document={})

    assert settings.spark("master") is None
    assert settings.spark("remote") == "sc://here"
