from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest

import penstock
from penstock.config import BaseConfiguration, configspec, read_settings
from penstock.errors import ConfigFieldMissing, UsageError
from penstock.interfaces import Destination
from penstock.schema import Schema

if TYPE_CHECKING:
    from pathlib import Path


@penstock.destination(batch_size=100, name="api")
def post_rows(
    items: Any,
    table: Any,
    url: str = penstock.config.value,
    token: str = penstock.secrets.value,
    pages: int = 3,
) -> None:
    """Post rows."""


def plain_function(items: Any, table: Any) -> None:
    """Do nothing."""


def config_of(destination: Any) -> Any:
    return Destination.from_reference(destination).configuration(
        read_settings(), pipeline_name="shop", dataset_name="raw", master="local"
    )


def test_the_arguments_of_a_function_come_from_its_section(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigFieldMissing, match="url"):
        config_of(post_rows)
    monkeypatch.setenv("DESTINATION__API__URL", "http://hub")
    monkeypatch.setenv("DESTINATION__API__TOKEN", "hush")
    monkeypatch.setenv("DESTINATION__API__BATCH_SIZE", "7")

    config = config_of(post_rows)

    assert (config.url, config.token, config.pages, config.batch_size) == ("http://hub", "hush", 3, 100)
    assert "hush" not in repr(config)


def test_a_call_of_the_function_is_a_destination_with_arguments() -> None:
    destination = post_rows(url="http://other", token="hush", destination_name="other", environment="test")

    assert (destination.destination_name, destination.environment) == ("other", "test")
    assert config_of(destination).url == "http://other"
    assert "hush" not in repr(config_of(destination))
    assert destination.destination_type == f"{__name__}.post_rows"


def test_the_signature_and_the_docstring_are_those_of_the_function() -> None:
    assert list(inspect.signature(post_rows).parameters) == ["items", "table", "url", "token", "pages"]
    assert post_rows.__doc__ == "Post rows."


@pytest.mark.parametrize(
    "form",
    [
        penstock.destination(plain_function),
        penstock.destination()(plain_function),
        penstock.destination(destination_callable=plain_function),
        penstock.destinations.destination(destination_callable=f"{__name__}.plain_function"),
    ],
    ids=["function", "decorator", "callable", "path"],
)
def test_every_form_has_the_defaults(form: Any, tmp_path: Path) -> None:
    destination = penstock.pipeline("shop", tmp_path, destination=form).destination

    assert destination is not None
    capabilities = destination.capabilities()
    assert (destination.destination_name, destination.arguments) == ("plain_function", {})
    assert (capabilities.naming_convention, capabilities.max_table_nesting) == ("direct", 0)
    config = config_of(destination)
    assert (config.batch_size, config.loader_file_format, config.where) == (10, "typed-jsonl", "driver")
    assert config.skip_dlt_columns_and_tables


def test_a_path_names_a_decorated_function(tmp_path: Path) -> None:
    destination = penstock.pipeline("shop", tmp_path, destination=f"{__name__}.post_rows").destination

    assert destination is not None
    assert destination.destination_name == "api"


def test_options_are_settings_or_capabilities() -> None:
    sink = penstock.destination(
        naming_convention="snake_case",
        max_table_nesting=2,
        max_parallel_load_jobs=1,
        loader_parallelism_strategy="sequential",
        loader_file_format="parquet",
        where="executors",
    )(plain_function)

    capabilities = sink().capabilities()

    assert (capabilities.naming_convention, capabilities.max_table_nesting) == ("snake_case", 2)
    assert capabilities.max_parallel_load_jobs == 1
    assert capabilities.loader_parallelism_strategy == "sequential"
    assert (config_of(sink).loader_file_format, config_of(sink).where) == ("parquet", "executors")


def test_a_spec_declares_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    @configspec
    class Account(BaseConfiguration):
        account: str = None  # type: ignore[assignment]

    @penstock.destination(spec=Account)
    def sink(items: Any, table: Any, account: str = penstock.config.value) -> None: ...

    monkeypatch.setenv("DESTINATION__SINK__ACCOUNT", "ada")

    assert config_of(sink).account == "ada"


def test_an_unknown_argument_is_refused_with_the_right_name() -> None:
    with pytest.raises(UsageError, match="api has no argument 'urll'") as caught:
        post_rows(urll="http://hub")

    assert "did you mean 'url'?" in caught.value.hint


def test_a_function_without_items_or_with_arguments_that_nobody_sets_is_refused() -> None:
    def only_items(items: Any) -> None: ...
    def needs_more(items: Any, table: Any, url: str) -> None: ...

    for function, message in ((only_items, "items and table"), (needs_more, "without a value: url")):
        with pytest.raises(UsageError, match=message):
            penstock.destination(function)


def test_a_name_instead_of_a_function_is_a_destination_of_that_name() -> None:
    lake = penstock.destination("lake", destination_type="delta", bucket_url="memory://x")

    assert lake.destination_description == "lake (penstock.destinations.delta)"
    assert penstock.destination("delta").destination_name == "delta"


def test_a_table_has_no_system_columns_unless_they_are_wanted() -> None:
    columns = {name: {"name": name, "data_type": "text"} for name in ("id", "_dlt_id", "_dlt_load_id")}
    document = {"name": "shop", "version": 1, "engine_version": 11, "tables": {"items": {"columns": columns}}}
    schema = Schema.from_dict(document)

    sink = penstock.destination(plain_function)
    clients = [sink(skip_dlt_columns_and_tables=skip).client(schema) for skip in (True, False)]
    tables = [client.prepare_load_table("items") for client in clients]

    assert [list(table["columns"]) for table in tables] == [["id"], ["id", "_dlt_id", "_dlt_load_id"]]
