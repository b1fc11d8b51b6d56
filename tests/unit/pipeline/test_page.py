"""The reference page of pipelines, argument by argument."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.pipeline.sentences import SENTENCES
from tests.unit.pipeline.signatures import ATTRIBUTES, FUNCTIONS, METHODS, PROPERTIES, parameters_of

import penstock
from penstock.pipeline.names import SupportsPipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[2]
NAMES = {
    **{f"Pipeline.{name}": text for name, text in METHODS.items()},
    **FUNCTIONS,
}

GAPS: dict[tuple[str, str], str] = {
    ("pipeline", "full_refresh"): "dlt has given it up for dev_mode",
    ("Pipeline.load", "workers"): "a worker has a Spark session of its own, so the settings say how many: 4",
    ("Pipeline.load", "raise_on_failed_jobs"): "true unless the settings say otherwise",
}
"""Function and argument: why ours differs from the page."""


def found(name: str) -> Any:
    """A method or function of ours; None where there is none."""
    owner, _, method = name.rpartition(".")
    return inspect.getattr_static(penstock.Pipeline, method, None) if owner else getattr(penstock, name)


def ours(function: Any) -> list[inspect.Parameter]:
    return [one for one in inspect.signature(function).parameters.values() if one.name != "self"]


def differences(name: str) -> Iterator[str]:
    """The arguments of the page that ours has not, or otherwise; `*` for a function that is not there."""
    function = found(name)
    if function is None:
        yield "*"
        return
    known = {one.name: one for one in ours(function)}
    for said in parameters_of(NAMES[name]):
        has = known.get(said.name)
        if has is None or (has.kind, has.default) != (said.kind, said.default):
            yield said.name


@pytest.mark.parametrize("name", NAMES)
def test_arguments_have_the_names_kinds_and_defaults_of_the_page(name: str) -> None:
    assert set(differences(name)) == {argument for function, argument in GAPS if function == name}


@pytest.mark.parametrize("name", NAMES)
def test_arguments_that_are_given_by_place_are_in_the_order_of_the_page(name: str) -> None:
    by_place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    gaps = {argument for function, argument in GAPS if function == name}

    said = [one.name for one in parameters_of(NAMES[name]) if one.kind is by_place and one.name not in gaps]
    has = [one.name for one in ours(found(name)) if one.kind is by_place] if found(name) else said

    assert [one for one in has if one not in gaps] == said


@pytest.mark.parametrize("name", NAMES)
def test_arguments_of_our_own_can_be_left_out(name: str) -> None:
    page = {one.name for one in parameters_of(NAMES[name])}
    more = [one for one in ours(found(name)) if one.name not in page] if found(name) else []

    assert [one.name for one in more if one.kind is not inspect.Parameter.KEYWORD_ONLY] == []
    assert [one.name for one in more if one.default is inspect.Parameter.empty] == []


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("__init__")])
def test_everything_on_the_page_is_explained(name: str) -> None:
    assert found(name) is None or (inspect.getdoc(found(name)) or "").strip()


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_of_the_page_is_one(name: str) -> None:
    assert isinstance(found(f"Pipeline.{name}"), property)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_the_page_is_there(name: str, tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    assert hasattr(pipeline, name) is (("attributes", name) not in GAPS)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_of_the_page_is_shown_by_a_test_that_exists(sentence: str) -> None:
    _, file, name = SENTENCES[sentence]
    text = (TESTS / file).read_text(encoding="utf-8")

    assert re.search(rf"^def test_{name}\(", text, re.MULTILINE)


def test_every_sentence_is_counted() -> None:
    assert len(SENTENCES) == 79


# Where the names are that stand in the page's signatures.
WHERE = {
    "penstock": ("Pipeline", "TSecretValue"),
    "penstock.config": ("ConfigValue",),
    "penstock.interfaces": ("JobClientBase", "TLoaderFileFormat", "TRefreshMode"),
    "penstock.schema": ("NamingConvention", "Schema", "TSchemaTables"),
    "penstock.package": ("LoadJobInfo", "LoadPackageInfo", "TLoadPackageState"),
    "penstock.extract.report": ("ExtractInfo",),
    "penstock.normalize.info": ("NormalizeInfo",),
    "penstock.load.report": ("LoadInfo",),
    "penstock.dataset.sqlclient": ("SqlClient",),
    "penstock.pipeline.configuration": ("PipelineConfiguration",),
    "penstock.pipeline.settings": ("RunConfiguration",),
    "penstock.pipeline.state": ("TPipelineState",),
    "penstock.pipeline.trace": ("PipelineTrace",),
    "penstock.pipeline.names": (
        *("SupportsPipeline", "TAnySchemaColumns", "TColumnNames", "TDestination"),
        *("TDestinationReferenceArg", "TRefreshMode", "TSchemaContract", "TWriteDispositionConfig"),
    ),
}


@pytest.mark.parametrize("module", WHERE)
def test_names_in_the_signatures_of_the_page_exist(module: str) -> None:
    there = importlib.import_module(module)

    assert [name for name in WHERE[module] if not hasattr(there, name)] == []


def test_a_pipeline_is_what_the_page_says_it_supports(tmp_path: Path) -> None:
    assert isinstance(penstock.pipeline("shop", pipelines_dir=tmp_path), SupportsPipeline)


def test_every_gap_is_one_of_the_page_and_says_why() -> None:
    assert {function for function, _ in GAPS} <= {*NAMES, "attributes"}
    assert all(len(why.split()) > 2 for why in GAPS.values())
