from __future__ import annotations

import importlib
import inspect
import sys
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.config import Settings
from penstock.errors import InvalidDestinationReference, UnknownDestination, UsageError
from penstock.interfaces import Destination, destination_names, find_destination
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path

DELTA_TYPE = "penstock.destinations.delta"


class Lake(Destination):
    """A class whose instances are destinations, with parameters of its own."""

    def __init__(self, bucket: str = "memory://lake") -> None:
        super().__init__("lake", find_destination("delta"), {"bucket_url": bucket})


def my_destination(bucket_url: str = "memory://mine") -> Destination:
    return penstock.destinations.delta(bucket_url, destination_name="mine")


def test_our_own_destination_is_found_by_name() -> None:
    reference = find_destination("delta")

    assert reference.spec().model_fields["destination_name"].default == "delta"
    assert "append" in reference.capabilities().supported_write_dispositions


def test_an_unknown_name_is_answered_with_the_names_that_work() -> None:
    with pytest.raises(UnknownDestination) as caught:
        find_destination("detla")

    assert vars(caught.value)["known"] == destination_names()
    assert "delta" in destination_names()
    assert "delta" in caught.value.hint


def test_a_name_means_the_destination_without_arguments() -> None:
    made = Destination.from_reference("delta")

    assert made == Destination("delta", find_destination("delta"), {})
    assert Destination.from_reference(made) is made


def test_a_destination_created_directly_keeps_its_arguments() -> None:
    made = penstock.destinations.delta(bucket_url="s3://lake")

    assert (made.destination_name, made.arguments) == ("delta", {"bucket_url": "s3://lake"})


def test_an_entry_point_without_a_destination_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penstock.destinations]\nbroken = json:JSONDecoder\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    with pytest.raises(InvalidDestinationReference, match="'broken' names a type"):
        penstock.pipeline("shop", destination="broken")


@pytest.mark.parametrize(
    "form",
    [
        "delta",
        DELTA_TYPE,
        f"{DELTA_TYPE}.reference.DELTA",
        penstock.destinations.delta,
        penstock.destinations.delta(),
        importlib.import_module(DELTA_TYPE),
        find_destination("delta"),
    ],
    ids=["name", "path", "path of a reference", "factory", "called factory", "module", "reference"],
)
def test_every_form_of_a_registered_destination_means_the_same(form: Any, tmp_path: Path) -> None:
    pipeline = penstock.pipeline("shop", tmp_path, destination=form, staging=form)

    assert pipeline.destination == pipeline.staging == Destination("delta", find_destination("delta"))
    assert pipeline.destination is not None
    assert pipeline.destination.destination_type == DELTA_TYPE
    assert pipeline.destination.configured_name is None


@pytest.mark.parametrize("form", [penstock.destinations, "penstock.destinations"], ids=["module", "path"])
def test_a_module_with_several_destinations_is_refused(form: Any) -> None:
    names = "delta, duckdb, filesystem, iceberg, postgres"
    with pytest.raises(InvalidDestinationReference, match=f"several destinations: {names}"):
        Destination.from_reference(form)


@pytest.mark.parametrize("form", [my_destination, f"{__name__}.my_destination"], ids=["function", "path"])
def test_a_factory_of_the_user_is_called_without_arguments(form: Any) -> None:
    destination = Destination.from_reference(form)

    assert (destination.destination_name, destination.arguments) == ("mine", {"bucket_url": "memory://mine"})


def test_a_class_of_destinations_is_called_and_takes_other_arguments() -> None:
    destination = Destination.from_reference(Lake, destination_name="raw", bucket_url="memory://raw")

    assert isinstance(destination, Lake)
    assert (destination.destination_name, destination.arguments) == ("raw", {"bucket_url": "memory://raw"})


def test_a_named_destination_has_its_type_in_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESTINATION__MYLAKE__DESTINATION_TYPE", "delta")
    monkeypatch.setenv("DESTINATION__MYLAKE__BUCKET_URL", "memory://mine")
    monkeypatch.setenv("DESTINATION__DELTA__BUCKET_URL", "memory://other")
    monkeypatch.setenv("DESTINATION__OPTIMIZE", "true")

    pipeline = penstock.pipeline("shop", tmp_path, destination="mylake")

    assert pipeline.destination is not None
    assert pipeline.destination.destination_description == f"mylake ({DELTA_TYPE})"
    assert pipeline.destination.configured_name == "mylake"
    config: Any = pipeline._target().config
    assert (config.destination_name, config.bucket_url, config.optimize) == ("mylake", "memory://mine", True)


def test_the_settings_of_another_name_or_type_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESTINATION_TYPE", "iceberg")
    monkeypatch.setenv("DESTINATION__DESTINATION_TYPE", "iceberg")

    assert Destination.from_reference("delta").destination_type == DELTA_TYPE
    with pytest.raises(UnknownDestination):
        Destination.from_reference("mylake")


def test_a_name_in_the_settings_is_that_of_the_type_in_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESTINATION_NAME", "lake")
    monkeypatch.setenv("DESTINATION_TYPE", "iceberg")

    named = [
        penstock.pipeline("shop", tmp_path, destination=given).destination
        for given in ("delta", None, penstock.destinations.delta())
    ]

    assert [destination and destination.destination_description for destination in named] == [
        f"delta ({DELTA_TYPE})",
        "lake (penstock.destinations.iceberg)",
        f"delta ({DELTA_TYPE})",
    ]


@pytest.mark.parametrize(
    "path", ["no_such_package.sink", f"{DELTA_TYPE}.reference.DETLA", f"{__name__}.no_such_destination"]
)
def test_a_path_that_leads_nowhere_is_unknown(path: str) -> None:
    with pytest.raises(UnknownDestination, match=path):
        Destination.from_reference(path)


def test_a_module_that_lacks_another_module_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needy_destinations.py").write_text("import no_such_dependency\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(ModuleNotFoundError, match="no_such_dependency"):
        Destination.from_reference("needy_destinations.sink")


@pytest.mark.parametrize("form", [7, importlib, dict, lambda: 7], ids=["number", "module", "class", "lambda"])
def test_an_object_that_is_no_destination_is_refused(form: Any) -> None:
    with pytest.raises(InvalidDestinationReference, match="not a destination"):
        Destination.from_reference(form)


def test_nothing_means_no_destination() -> None:
    assert Destination.from_reference(None) is None


def test_the_arguments_of_a_reference_are_those_of_its_destination() -> None:
    keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}

    destination = Destination.from_reference("delta", keys, "lake", "production", bucket_url="memory://x")

    assert (destination.destination_name, destination.environment) == ("lake", "production")
    assert destination.arguments == {"credentials": keys, "bucket_url": "memory://x"}


@pytest.mark.parametrize("name", ["delta", "filesystem", "iceberg"])
def test_an_unknown_argument_is_refused_with_the_right_name(name: str) -> None:
    factory = getattr(penstock.destinations, name)

    for wrong in (
        lambda: factory(buket_url="memory://x"),
        lambda: factory().with_arguments(buket_url="memory://x"),
        lambda: Destination.from_reference(name, buket_url="memory://x"),
    ):
        with pytest.raises(UsageError, match=f"{name} has no argument 'buket_url'") as caught:
            wrong()
        assert "did you mean 'bucket_url'?" in caught.value.hint


@pytest.mark.parametrize("name", ["delta", "filesystem", "iceberg"])
def test_the_signature_of_a_factory_has_every_setting(name: str) -> None:
    factory = getattr(penstock.destinations, name)
    resolved_by_the_pipeline = {"dataset_name", "default_schema_name", "as_staging"}

    parameters = inspect.signature(factory).parameters

    settings = set(find_destination(name).spec().model_fields) - resolved_by_the_pipeline
    assert set(parameters) == settings | {"environment", "capabilities"}
    assert factory(**dict.fromkeys(set(parameters) - {"capabilities"})).arguments == {}


def test_a_capability_is_an_argument_and_reaches_the_client() -> None:
    destination = penstock.destinations.delta("memory://x", max_parallel_load_jobs=2)
    config = destination.configuration(Settings(), pipeline_name="p", dataset_name="d", master="local")

    client = destination.client(Schema("shop"), config)

    assert (
        destination.capabilities().max_parallel_load_jobs == client.capabilities.max_parallel_load_jobs == 2
    )
    assert find_destination("delta").capabilities().max_parallel_load_jobs is None
    assert isinstance(client, destination.client_class)


def test_a_client_without_configuration_uses_arguments_and_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DESTINATION__LAKE__OPTIMIZE", "true")
    destination = Destination.from_reference("delta", None, "lake", bucket_url="memory://x", dataset_name="d")

    config: Any = destination.client(Schema("shop")).config

    assert (config.bucket_url, config.optimize) == ("memory://x", True)


def test_a_subclass_adjusts_the_capabilities() -> None:
    class Narrow(Lake):
        @classmethod
        def adjust_capabilities(cls, caps: Any, config: Any, naming: Any) -> Any:
            return caps if config is None else type(caps)(**{**_fields(caps), "max_identifier_length": 9})

    destination = Narrow()
    config = destination.configuration(Settings(), pipeline_name="p", dataset_name="d", master="local")

    assert destination.capabilities().max_identifier_length == 255
    assert destination.capabilities(config).max_identifier_length == 9


def _fields(capabilities: Any) -> dict[str, Any]:
    return {name: getattr(capabilities, name) for name in capabilities.__dataclass_fields__}
