"""The format of CSV files is a setting that a third-party destination may have."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from penstock.common.data_writers.configuration import CsvFormatConfiguration
from penstock.config import Settings, configspec, resolve_configuration
from penstock.interfaces import DestinationClientConfiguration


@configspec
class WarehouseConfiguration(DestinationClientConfiguration):
    csv_format: CsvFormatConfiguration | None = None


def test_the_format_is_read_from_the_settings_of_a_destination() -> None:
    settings = Settings(environment={"DESTINATION__WAREHOUSE__CSV_FORMAT__DELIMITER": "|"})

    spec = resolve_configuration(
        WarehouseConfiguration, settings=settings, sections=("destination", "warehouse")
    )

    assert spec.csv_format is not None
    assert (spec.csv_format.delimiter, spec.csv_format.include_header) == ("|", True)


def test_an_unknown_quoting_is_refused() -> None:
    with pytest.raises(ValidationError, match="quote_needed"):
        CsvFormatConfiguration.model_validate({"quoting": "sometimes"})
