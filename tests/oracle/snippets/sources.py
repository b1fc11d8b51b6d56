"""What a source says of its schema, and copies of sources."""

import dlt


@dlt.source(max_table_nesting=1, root_key=True, schema_contract={"columns": "evolve"})
def shop(count=1):
    return dlt.resource([{"id": number} for number in range(count)], name="orders")


def run(extract):
    extract(shop())
    extract(shop.clone(name="market")(2))
    extract(shop(2).clone(with_name="bazaar"))
    more = shop()
    more.resources.add(dlt.resource([{"c": 1}], name="customers"))
    extract(more)
    extract([shop(), shop.clone(name="market")()])
