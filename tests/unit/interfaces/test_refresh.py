from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.interfaces import RENEW, Refresh, TRefreshMode, check_refresh, renewal_of
from penstock.schema import Schema, Table

MODES = st.sampled_from(get_args(TRefreshMode))
RESOURCES = st.lists(st.sampled_from(["orders", "buyers", "other"]), unique=True).map(tuple)


def schema() -> Schema:
    found = Schema("shop")
    for name, said in {
        "orders": {"resource": "orders"},
        "orders_eu": {"resource": "orders"},
        "orders__items": {"parent": "orders"},
        "orders__items__parts": {"parent": "orders__items"},
        "buyers": {"resource": "buyers"},
        "_dlt_quarantine": {"resource": "orders"},
    }.items():
        document: dict[str, Any] = {"name": name, **said}
        found.update_table(Table.from_dict(document))
    return found


def test_the_tables_of_a_resource_are_reset_with_their_nested_tables() -> None:
    found = Refresh(mode="drop_resources", resources=("orders",)).affected_tables(schema().tables)

    assert found == ("orders", "orders_eu", "orders__items", "orders__items__parts")


@given(mode=MODES, resources=RESOURCES)
def test_a_source_is_reset_without_its_system_tables(mode: TRefreshMode, resources: tuple[str, ...]) -> None:
    tables = schema().tables

    found = Refresh(mode=mode, resources=resources).affected_tables(tables)

    assert not any(name.startswith("_dlt") for name in found)
    if mode == "drop_sources":
        assert set(found) == {name for name in tables if not name.startswith("_dlt")}
    else:
        assert ("buyers" in found) == ("buyers" in resources)


@given(mode=MODES, resources=RESOURCES)
def test_it_is_read_back_as_it_was_written(mode: TRefreshMode, resources: tuple[str, ...]) -> None:
    refresh = Refresh(mode=mode, resources=resources)

    assert Refresh.from_dict(refresh.to_dict()) == refresh
    assert refresh.drops_tables is (mode != "drop_data")


@pytest.mark.parametrize(
    "document", [{"mode": "all", "resources": []}, {"mode": "drop_data", "resources": [1]}]
)
def test_an_invalid_refresh_document_is_an_error(document: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Refresh.from_dict(document)


def test_an_unknown_refresh_mode_is_an_error() -> None:
    assert check_refresh(None) is None
    with pytest.raises(UsageError, match="unknown refresh 'drop_all'"):
        check_refresh("drop_all")


def test_a_chain_is_renewed_by_the_hint_of_its_root() -> None:
    found = schema()
    found.update_table(found.tables["orders"].with_extras(**{RENEW: "rows"}))

    assert renewal_of("orders__items__parts", found.tables) == "rows"
    assert renewal_of("buyers", found.tables) is None
