"""Pipelines for tests, whose folders are deleted afterwards."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from penstock.config.folders import classes_folder, jars_folder
from penstock.destinations.factories import delta
from penstock.pipeline.factory import pipeline
from penstock.pipeline.pipeline import active_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from penstock.interfaces import Destination
    from penstock.pipeline.pipeline import Pipeline

_SPARK_PREFIX: Final = "SPARK__"


@contextmanager
def temporary_pipeline(
    name: str = "test",
    *,
    settings: Mapping[str, Any] | None = None,
    machine_settings: bool = False,
    destination: Callable[..., Destination] = delta,
    **arguments: Any,
) -> Iterator[Pipeline]:
    """Create a pipeline whose working folder, packages, tables and state are deleted after the block.

    `destination` is the factory of one that writes to a `bucket_url`. `settings` are those of the test, by
    their names in `config.toml`. Settings of the machine are not read, neither files nor environment
    variables with `__` in their names, except those of `[spark]`; with `machine_settings` all are.
    `arguments` are those of `penstock.pipeline`. The pipeline that was active before is active again
    afterwards.

    >>> with temporary_pipeline("shop", settings={"sources.shop.api_key": "none"}) as shop:
    ...     shop.dataset_name, Path(shop.working_dir).is_relative_to(tempfile.gettempdir())
    ('shop', True)
    """
    previous = active_pipeline()
    with tempfile.TemporaryDirectory(prefix=f"penstock-{name}-") as temporary:
        folder = Path(temporary)
        variables = dict(os.environ) if machine_settings else _isolated_environment(folder)
        variables |= {
            path.replace(".", "__").upper(): _setting_text(value) for path, value in (settings or {}).items()
        }
        options: dict[str, Any] = {
            "pipelines_dir": folder / "pipelines",
            "destination": destination(bucket_url=str(folder / "tables")),
            "progress": "none",
            **arguments,
        }
        try:
            with patch.dict(os.environ, variables, clear=True):
                yield pipeline(name, **options)
        finally:
            if (active := active_pipeline()) is not None:
                active.deactivate()
            if previous is not None:
                previous.activate()


def _isolated_environment(folder: Path) -> dict[str, str]:
    """Return the environment without settings, and with empty folders of settings."""
    home = folder / "home"
    home.mkdir()
    for cache in (jars_folder(), classes_folder()):
        # Caches of Spark have no settings, and filling them again for each test would take minutes.
        cache.mkdir(parents=True, exist_ok=True)
        (home / cache.name).symlink_to(cache, target_is_directory=True)
    variables = {
        name: value
        for name, value in os.environ.items()
        if "__" not in name or name.startswith(_SPARK_PREFIX)
    }
    return {**variables, "PENSTOCK_HOME": str(home), "PENSTOCK_PROJECT_DIR": str(folder)}


def _setting_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
