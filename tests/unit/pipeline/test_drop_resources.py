"""Dropping single resources: what it selects, and the package that drops them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from penstock.errors import UsageError
from penstock.package import Packages
from penstock.package.extract_manifest import ExtractManifest
from penstock.package.lease import LeaseTimes
from penstock.pipeline.drop_resources import plan_drop, save_as_package
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

STATE: dict[str, Any] = {
    "sources": {
        "shop": {
            "cursor": 7,
            "pages": {"last": 3, "first": 1},
            "resources": {"orders": {"page": 3}, "customers": {"page": 5}, "gone": {"page": 1}},
        },
        "crm": {"resources": {"orders": {"page": 9}}},
    }
}
SEEN = {"x-normalizer": {"seen-data": True}}
ID = {"id": {"name": "id", "data_type": "bigint"}}


def shop() -> Schema:
    tables: dict[str, Any] = {
        "orders": {"name": "orders", "resource": "orders", "columns": ID, **SEEN},
        "orders__items": {"name": "orders__items", "parent": "orders", "columns": ID, **SEEN},
        "order_events": {"name": "order_events", "resource": "orders", "columns": ID, **SEEN},
        "customers": {"name": "customers", "resource": "customers", "columns": ID, **SEEN},
        "planned": {"name": "planned", "resource": "planned", "columns": ID},
        "_dlt_quarantine": {"name": "_dlt_quarantine", "columns": ID, **SEEN},
    }
    document = Schema("shop").to_dict()
    return Schema.from_dict({**document, "tables": {**document["tables"], **tables}})


def test_a_resource_loses_all_its_tables_and_its_state() -> None:
    plan = plan_drop(shop(), STATE, resources=["orders"])

    assert plan.resources == plan.resource_states == ("orders",)
    assert set(plan.tables) == {"orders", "orders__items", "order_events"}
    after = plan.state_after(STATE)
    assert after["sources"]["shop"]["resources"].keys() == {"customers", "gone"}
    assert after["sources"]["crm"] == STATE["sources"]["crm"]
    assert "orders" in STATE["sources"]["shop"]["resources"], "the state itself is unchanged"


def test_patterns_select_resources_with_tables_or_state() -> None:
    plan = plan_drop(shop(), STATE, resources=["re:(or|go)", "re:^x", "nothing"])

    assert plan.resources == ("gone", "orders")
    assert plan.unmatched == ("re:^x", "nothing")
    with pytest.raises(UsageError, match="is no pattern"):
        plan_drop(shop(), STATE, resources=["re:("])


def test_all_resources_lose_all_tables_but_those_of_the_system() -> None:
    plan = plan_drop(shop(), STATE, drop_all=True)

    assert set(plan.tables) == {"orders", "orders__items", "order_events", "customers"}
    assert plan.resource_states == ("customers", "gone", "orders")
    assert plan.refresh.mode == "drop_sources"
    assert plan.state_after(STATE)["sources"]["shop"]["cursor"] == 7


def test_only_the_state_can_be_dropped_also_by_keys() -> None:
    plan = plan_drop(
        shop(), STATE, resources=["orders"], state_paths=["cursor", "pages.last", "no.such"], state_only=True
    )

    assert (plan.tables, plan.resource_states) == ((), ("orders",))
    assert (plan.state_paths, plan.unmatched) == (("cursor", "pages.last"), ("no.such",))
    after = plan.state_after(STATE)["sources"]["shop"]
    assert after == {"pages": {"first": 1}, "resources": {"customers": {"page": 5}, "gone": {"page": 1}}}


def test_nothing_is_dropped_without_a_resource_that_has_something() -> None:
    assert plan_drop(shop(), STATE).is_empty
    assert plan_drop(shop(), STATE, resources=["planned"]).is_empty
    assert not plan_drop(shop(), STATE, resources=["customers"]).is_empty


@pytest.mark.parametrize("state_only", [True, False])
def test_a_package_without_rows_drops_the_resources_unless_others_are_pending(
    tmp_path: Path, state_only: bool
) -> None:
    packages = Packages.at(str(tmp_path))
    plan = plan_drop(shop(), STATE, resources=["orders"], state_only=state_only)
    options: dict[str, Any] = {
        "pipeline_name": "shop",
        "lease_times": LeaseTimes(beat=60.0, alive=120.0),
    }

    load_id = save_as_package(plan, STATE, packages, **options)

    manifest = ExtractManifest.from_dict(packages.package(load_id).read_extracted())
    assert (manifest.schema_name, manifest.tables) == ("shop", ())
    assert manifest.refresh == (None if state_only else plan.refresh)
    assert manifest.state is not None
    assert manifest.state["shop"]["resources"].keys() == {"customers", "gone"}
    with pytest.raises(UsageError, match="are pending"):
        save_as_package(plan, STATE, packages, **options)
