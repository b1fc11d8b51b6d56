"""The reference page of pipelines, argument by argument."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from tests.rule_assertions import assert_no_offenders, assert_sentences_have_tests
from tests.unit.pipeline.sentences import SENTENCES
from tests.unit.pipeline.signatures import ATTRIBUTES, FUNCTIONS, METHODS, PROPERTIES, parameters_of

import penstock
from penstock.pipeline.types import SupportsPipeline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = {
    **{f"Pipeline.{name}": text for name, text in METHODS.items()},
    **FUNCTIONS,
}

GAPS: dict[tuple[str, str], str] = {
    ("pipeline", "full_refresh"): "dlt has given it up for dev_mode",
}
"""Function and argument: why penstock differs from the page."""


def public(name: str) -> Any:
    """Return a method or function of penstock; None where it does not exist."""
    owner, _, method = name.rpartition(".")
    return inspect.getattr_static(penstock.Pipeline, method, None) if owner else getattr(penstock, name)


def parameters(name: str) -> dict[str, inspect.Parameter] | None:
    """Return the parameters of a function of penstock; None where it does not exist."""
    function = public(name)
    if function is None:
        return None
    signature = inspect.signature(function)
    return {name: parameter for name, parameter in signature.parameters.items() if name != "self"}


def gaps(name: str) -> set[str]:
    """Return the arguments by which a function may differ from the page."""
    return {argument for function, argument in GAPS if function == name}


def differences(name: str) -> Iterator[str]:
    """Yield the arguments of the page that are missing or differ; `*` for a missing function."""
    actual_parameters = parameters(name)
    if actual_parameters is None:
        yield "*"
        return
    for expected in parameters_of(NAMES[name]):
        actual = actual_parameters.get(expected.name)
        if actual is None or (actual.kind, actual.default) != (expected.kind, expected.default):
            yield expected.name


def test_arguments_have_the_names_kinds_and_defaults_of_the_page() -> None:
    assert_no_offenders(
        (f"{name}: {argument}" for name in NAMES for argument in sorted(set(differences(name)) ^ gaps(name))),
        "declare the argument as the page does, or correct GAPS",
    )


def test_positional_arguments_are_in_the_order_of_the_page() -> None:
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    offenders: list[str] = []
    for name, text in NAMES.items():
        actual_parameters = parameters(name)
        orders = [
            [each.name for each in listed if each.kind is positional and each.name not in gaps(name)]
            for listed in (parameters_of(text), (actual_parameters or {}).values())
        ]
        if actual_parameters is not None and orders[0] != orders[1]:
            offenders.append(f"{name}: {orders[1]}, not {orders[0]}")

    assert_no_offenders(offenders, "take positional arguments in the order of the page")


def test_arguments_that_the_page_lacks_are_optional_keywords() -> None:
    offenders: list[str] = []
    for name, text in NAMES.items():
        page = {parameter.name for parameter in parameters_of(text)}
        offenders += [
            f"{name}: {parameter}"
            for parameter in (parameters(name) or {}).values()
            if parameter.name not in page
            and (
                parameter.kind is not inspect.Parameter.KEYWORD_ONLY
                or parameter.default is inspect.Parameter.empty
            )
        ]

    assert_no_offenders(offenders, "make the argument keyword-only, with a default")


def test_every_function_of_the_page_has_a_docstring() -> None:
    assert_no_offenders(
        (
            name
            for name in NAMES
            if not name.endswith("__init__")
            and public(name) is not None
            and not (inspect.getdoc(public(name)) or "").strip()
        ),
        "write a docstring",
    )


def test_every_property_of_the_page_is_a_property() -> None:
    assert_no_offenders(
        (name for name in PROPERTIES if not isinstance(public(f"Pipeline.{name}"), property)),
        "make it a property of Pipeline",
    )


def test_every_attribute_of_the_page_exists(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    assert_no_offenders(
        (name for name in ATTRIBUTES if hasattr(pipeline, name) is (("attributes", name) in GAPS)),
        "add the attribute to Pipeline, or correct GAPS",
    )


def test_every_sentence_of_the_page_has_a_test() -> None:
    assert_sentences_have_tests(SENTENCES, "name an existing test in tests/unit/pipeline/sentences.py")


def test_every_sentence_is_counted() -> None:
    assert len(SENTENCES) == 80


# Where the names are that stand in the page's signatures.
WHERE = {
    "penstock": ("Pipeline", "TSecretValue"),
    "penstock.config": ("ConfigValue",),
    "penstock.interfaces": ("JobClientBase", "TLoaderFileFormat", "TRefreshMode"),
    "penstock.schema": ("NamingConvention", "Schema", "TSchemaTables"),
    "penstock.package": ("LoadJobInfo", "LoadPackageInfo", "TLoadPackageState"),
    "penstock.extract.report": ("ExtractInfo",),
    "penstock.normalize.report": ("NormalizeInfo",),
    "penstock.load.report": ("LoadInfo",),
    "penstock.dataset.sqlclient": ("DatasetSqlClient",),
    "penstock.pipeline.configuration": ("PipelineConfiguration",),
    "penstock.pipeline.settings": ("RunConfiguration",),
    "penstock.pipeline.state": ("TPipelineState",),
    "penstock.pipeline.trace": ("PipelineTrace",),
    "penstock.pipeline.types": (
        *("SupportsPipeline", "TAnySchemaColumns", "TColumnNames", "TDestination"),
        *("TDestinationReferenceArg", "TRefreshMode", "TSchemaContract", "TWriteDispositionConfig"),
    ),
}


def test_names_in_the_signatures_of_the_page_exist() -> None:
    assert_no_offenders(
        (
            f"{module}.{name}"
            for module, names in WHERE.items()
            for name in names
            if not hasattr(importlib.import_module(module), name)
        ),
        "export the name",
    )


def test_a_pipeline_implements_the_protocol_of_the_page(tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", pipelines_dir=tmp_path)

    assert SupportsPipeline in penstock.Pipeline.__mro__
    assert isinstance(pipeline, SupportsPipeline)
    assert {name for name in vars(SupportsPipeline) if not name.startswith("_")} <= set(dir(pipeline))


def test_every_gap_is_on_the_page_and_has_a_reason() -> None:
    assert {function for function, _ in GAPS} <= {*NAMES, "attributes"}
    assert all(len(why.split()) > 2 for why in GAPS.values())
