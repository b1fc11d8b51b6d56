"""What a caller says of a run, over what the settings say."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from penstock.config import config_value, read_settings, resolve_configuration
from penstock.errors import UsageError
from penstock.extract.settings import ExtractConfiguration


def resolve_extract_settings(pipeline_name: str, **overrides: Any) -> ExtractConfiguration:
    """How a pipeline extracts: as the settings say, and over that what the caller says and is not None."""
    found = resolve_configuration(
        ExtractConfiguration, settings=read_settings(), sections=("extract",), pipeline_name=pipeline_name
    )
    interval = overrides.get("commit_interval")
    if isinstance(interval, timedelta):
        overrides["commit_interval"] = interval.total_seconds()
    changes = {
        key: value for key, value in overrides.items() if value is not None and value is not config_value
    }
    checked = ExtractConfiguration(**{**found.model_dump(), **changes})
    if checked.commit_interval is not None and checked.commit_interval <= 0:
        raise UsageError(
            f"commit_interval is {checked.commit_interval}, and time does not stand still",
            hint="give seconds, or a timedelta, or None to commit once, at the end",
        )
    return checked
