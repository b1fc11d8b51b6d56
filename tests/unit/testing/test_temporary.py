"""Temporary pipelines read no settings of the machine, and leave nothing behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import penstock
from penstock.config import read_settings
from penstock.pipeline.pipeline import active_pipeline
from penstock.testing import temporary_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.pipeline.pipeline import Pipeline

pytest_plugins = ["penstock.testing.fixtures"]
pytestmark = pytest.mark.usefixtures("no_spark")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set up a machine with settings in all places."""
    (tmp_path / ".penstock").mkdir()
    (tmp_path / ".penstock" / "config.toml").write_text("[sources.shop]\nregion = 'of the project'\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / "secrets.toml").write_text("[sources.shop]\napi_key = 'of the machine'\n")
    (home / "secrets.toml").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_HOME", str(home))
    monkeypatch.setenv("SOURCES__SHOP__PAGES", "3")
    monkeypatch.setenv("SPARK__MASTER", "local[7]")


def setting(key: str) -> object:
    return read_settings().get("sources", "shop", key=key)


def test_settings_of_the_machine_are_read_only_if_requested() -> None:
    with temporary_pipeline(settings={"sources.shop.limit": 7, "sources.shop.is_new": True}):
        isolated = [setting(key) for key in ("region", "api_key", "pages", "limit", "is_new")]
        master = read_settings().spark("master")
    with temporary_pipeline(machine_settings=True):
        complete = [setting(key) for key in ("region", "api_key", "pages", "limit")]

    assert isolated == [None, None, None, "7", "true"]
    assert master == "local[7]"
    assert complete == ["of the project", "of the machine", "3", None]
    assert setting("pages") == "3"


def test_nothing_is_left_behind() -> None:
    with temporary_pipeline("shop") as pipeline:
        pipeline.run([{"id": 1}], table_name="orders")
        folder = Path(pipeline.working_dir).parents[1]
        assert pipeline.dataset().row_counts() == {"orders": 1}
        assert (folder / "tables" / "shop" / "orders").is_dir()

    assert not folder.exists()
    assert "PENSTOCK_PROJECT_DIR" not in os.environ


def test_a_second_pipeline_of_the_same_name_starts_empty() -> None:
    for _ in range(2):
        with temporary_pipeline("shop") as pipeline:
            pipeline.run([{"id": 1}], table_name="orders")
            assert pipeline.dataset().row_counts() == {"orders": 1}


def test_the_pipeline_that_was_active_is_active_again(tmp_path: Path) -> None:
    outer = penstock.pipeline("outer", destination="delta", pipelines_dir=tmp_path)

    with temporary_pipeline("inner") as inner:
        assert active_pipeline() is inner
    assert active_pipeline() is outer
    with pytest.raises(ZeroDivisionError), temporary_pipeline("inner"):
        raise ZeroDivisionError
    assert active_pipeline() is outer


def test_other_destinations_and_arguments_are_passed() -> None:
    with temporary_pipeline(
        "shop", destination=penstock.destinations.filesystem, dataset_name="eu", dev_mode=False
    ) as pipeline:
        assert pipeline.destination is not None
        assert pipeline.destination.destination_name == "filesystem"
        assert pipeline.dataset_name == "eu"


def test_the_fixture_creates_several_pipelines(temporary_pipeline: Callable[..., Pipeline]) -> None:
    first, second = temporary_pipeline("first"), temporary_pipeline("second")

    first.run([{"id": 1}], table_name="orders")
    second.run([{"id": 1}, {"id": 2}], table_name="orders")

    assert first.dataset().row_counts() == {"orders": 1}
    assert second.dataset().row_counts() == {"orders": 2}
