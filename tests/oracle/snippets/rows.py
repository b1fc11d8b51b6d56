"""A generator of nested rows."""

import dlt


@dlt.resource
def orders():
    yield {"id": 1, "customer": {"name": "Ada"}, "lines": [{"sku": "a"}, {"sku": "b"}]}
    yield {"id": 2, "customer": None, "lines": []}


def run(extract):
    extract(orders)
    extract(orders(), table_name="renamed")
