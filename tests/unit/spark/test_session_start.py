"""The start of a session: texts about it, where a jar is not the verified one and nothing is started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.config import Settings
from penstock.errors import JarNotVerified
from penstock.spark.jars import cache_folder
from penstock.spark.presets import installed_version
from penstock.spark.session import find_session

if TYPE_CHECKING:
    from pathlib import Path


def test_the_start_of_spark_is_reported_before_it_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path))
    jars = cache_folder(installed_version() or "", ("postgres",))
    jars.mkdir(parents=True)
    (jars / "other-1.0.jar").touch()
    (jars / ".complete").touch()
    settings = Settings(document={"spark": {"master": "local[1]"}})
    texts: list[str] = []

    with pytest.raises(JarNotVerified):
        find_session(None, settings, ("postgres",), notify=texts.append)
    with caplog.at_level("INFO", "penstock.spark"), pytest.raises(JarNotVerified):
        find_session(None, settings, ("postgres",))

    assert texts == ["starting Spark on local[1]"]
    assert "starting Spark on local[1]" in caplog.messages
