"""What is called in a run: by a class that inherits, or by any object that has some of the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import penstock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Stranger:
    """Inherits nothing and wants to hear of failures only."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, BaseException]] = []

    def on_failure(self, *, pipeline_name: str, step: str, error: BaseException) -> None:
        self.heard.append((pipeline_name, step, error))


class Broken(penstock.RunHooks):
    def on_run_start(self, *, pipeline_name: str, transaction_id: str) -> None:
        raise RuntimeError(f"no {pipeline_name}, no {transaction_id}")


def rows() -> Iterator[Any]:
    yield {"n": 1}
    raise KeyError("bad")


def test_an_object_with_some_of_the_methods_is_a_valid_hook(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stranger: Any = Stranger()
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, hooks=[stranger])

    pipeline.extract([{"n": 1}], table_name="items")
    with pytest.raises(penstock.PenstockError) as failed:
        pipeline.extract(rows, table_name="items")

    assert [(name, step) for name, step, _ in stranger.heard] == [("shop", "extract")]
    assert stranger.heard[0][2] is failed.value.__cause__
    assert caplog.text == ""


def test_the_error_of_a_hook_is_logged_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stranger: Any = Stranger()
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path, hooks=[Broken(), stranger])

    info = pipeline.extract([{"n": 1}], table_name="items")

    assert len(info.loads_ids) == 1
    assert "Broken raised RuntimeError: no shop" in caplog.text
