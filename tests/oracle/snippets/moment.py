"""What code may ask while it runs."""

import dlt


@dlt.resource
def here():
    yield {
        "resource": dlt.current.resource_name(),
        "schema": dlt.current.source_schema().name,
        "pipeline": dlt.current.pipeline().pipeline_name,
    }


@dlt.transformer
def there(row):
    yield {**row, "transformer": dlt.current.resource_name()}


@dlt.source
def places():
    assert dlt.current.source_schema().name == "places"
    return here, here | there


def run(extract):
    extract(places())
    extract(here)
