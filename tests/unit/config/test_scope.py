from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from penstock.config import Scope, enter_scope, in_scope, resource_sections, scope


def test_a_block_changes_only_the_fields_that_it_sets() -> None:
    with in_scope(pipeline_name="shop", sections=("a",)), in_scope(sections=("b",)) as inner:
        assert inner == Scope(pipeline_name="shop", sections=("b",))
    assert scope() == Scope()


def test_the_scope_is_left_when_the_block_fails() -> None:
    with pytest.raises(KeyError), in_scope(pipeline_name="shop"):
        raise KeyError(scope().pipeline_name)

    assert scope() == Scope()


def test_a_pipeline_that_becomes_active_is_that_of_threads_that_have_set_none() -> None:
    def activated(name: str) -> str | None:
        enter_scope(pipeline_name=name)
        return scope().pipeline_name

    with ThreadPoolExecutor(1) as pool, in_scope(sections=("a",)):
        inside = copy_context().run(activated, "shop")
        bare = pool.submit(scope).result().pipeline_name
        own = scope().pipeline_name
        copy_context().run(activated, "")
        after = pool.submit(scope).result()

    assert (inside, bare, own) == ("shop", "shop", None)
    assert after == Scope()


def test_a_copied_context_carries_the_scope_into_a_thread() -> None:
    with in_scope(pipeline_name="shop"), ThreadPoolExecutor(1) as pool:
        carried = pool.submit(copy_context().run, scope).result()
        bare = pool.submit(scope).result()

    assert (carried.pipeline_name, bare.pipeline_name) == ("shop", None)


def test_a_resource_has_the_section_of_its_source() -> None:
    alone = resource_sections("sources", "module", "issues")
    with in_scope(sections=("sources", "hub", "github")):
        inside = resource_sections("sources", "module", "issues")
    with in_scope(sections=("destination", "delta")):
        elsewhere = resource_sections("sources", "module", "issues")

    assert alone == elsewhere == ("sources", "module", "issues")
    assert inside == ("sources", "hub", "issues")
