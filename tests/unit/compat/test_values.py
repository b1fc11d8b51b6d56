"""Functions on values have the results that programs written for dlt store and compare."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest

from penstock.common import jsonpath, logger
from penstock.common.data_types import py_type_to_sc_type
from penstock.common.utils import digest128, map_nested_in_place, uniq_id


class Size(Enum):
    LARGE = 1


@pytest.mark.parametrize(
    ("kind", "data_type"),
    [
        (bool, "bool"),
        (int, "bigint"),
        (float, "double"),
        (Size, "text"),
        (str, "text"),
        (bytes, "binary"),
        (Decimal, "decimal"),
        (datetime, "timestamp"),
        (date, "date"),
        (dict, "json"),
        (list, "json"),
    ],
)
def test_a_class_of_python_has_the_data_type_of_its_values(kind: type, data_type: str) -> None:
    assert py_type_to_sc_type(kind) == data_type


@pytest.mark.parametrize("kind", [UUID, set, type(None), object])
def test_a_class_without_a_data_type_is_refused(kind: type) -> None:
    with pytest.raises(TypeError, match=kind.__name__):
        py_type_to_sc_type(kind)


def test_digests_are_those_that_dlt_stores() -> None:
    assert digest128("abc") == "WIEJLdgYv1z4o923k/vL"
    assert digest128("abc", 6) == "WIEJLdgY"


def test_ids_are_random() -> None:
    assert uniq_id() != uniq_id()


def test_nested_values_are_replaced_in_the_same_lists_and_dicts() -> None:
    row: dict[str, Any] = {"a": [1, {"b": 2}], "c": (1, 2)}
    inner = row["a"]

    assert map_nested_in_place(lambda value, by: value * by, row, 2) is row
    assert row == {"a": [2, {"b": 4}], "c": (2, 4)}
    assert row["a"] is inner


def test_a_path_that_the_data_lacks_has_no_values() -> None:
    assert jsonpath.find_values("$.x", {"a": 1}) == []


def test_messages_of_sources_are_logged_without_their_secrets(caplog: pytest.LogCaptureFixture) -> None:
    logger.warning("login with password=%s", "hunter2-hunter2")

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "hunter2" not in caplog.text
    assert (logger.log_level(), logger.is_logging()) == ("WARNING", True)
