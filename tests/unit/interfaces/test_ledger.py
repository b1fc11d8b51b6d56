"""The rows of the system tables, as destinations store and read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from penstock.interfaces import StateInfo, StorageSchemaInfo
from penstock.schema import naming_convention

MOMENT = datetime(2026, 11, 15, tzinfo=UTC)
STATE = StateInfo(1, 4, "shop", "{}", MOMENT, "hash", "17.5")
UPPER = naming_convention("tests.unit.interfaces.upper_case")


def test_a_state_is_read_from_columns_with_the_names_of_a_convention() -> None:
    columns = {key.upper(): value for key, value in STATE.as_doc().items()}

    assert StateInfo.from_normalized_mapping(columns, UPPER) == STATE
    optional = {key: columns[key] for key in list(columns)[:5]}
    assert StateInfo.from_normalized_mapping(optional, UPPER) == StateInfo(1, 4, "shop", "{}", MOMENT)
    with pytest.raises(KeyError, match="created_at"):
        StateInfo.from_normalized_mapping({key: columns[key] for key in list(columns)[:4]}, UPPER)


def test_a_state_without_a_hash_or_a_load_has_no_such_columns() -> None:
    document = StateInfo(1, 4, "shop", "{}", MOMENT).as_doc()

    assert list(document) == ["version", "engine_version", "pipeline_name", "state", "created_at"]
    assert STATE.as_doc()["_dlt_load_id"] == STATE.load_id == "17.5"


def test_a_schema_is_written_and_read_with_the_names_of_a_convention() -> None:
    row = StorageSchemaInfo("hash", "shop", 1, 11, MOMENT, "{}")

    columns = row.to_normalized_mapping(UPPER)

    assert list(columns)[:2] == ["VERSION_HASH", "SCHEMA_NAME"]
    assert StorageSchemaInfo.from_normalized_mapping(columns, UPPER) == row
