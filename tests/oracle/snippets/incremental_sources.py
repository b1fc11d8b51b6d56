"""Each resource of each source has a cursor of its own; a copy under another name begins anew."""

import dlt


def numbers(n=dlt.sources.incremental("n")):
    yield [{"n": 1, "from": n.last_value}, {"n": 2, "from": n.last_value}]


@dlt.source
def shop():
    return dlt.resource(numbers, name="orders"), dlt.resource(numbers, name="carts")


def run(extract):
    extract(shop())
    extract(shop().with_resources("carts"))
    extract(dlt.resource(numbers, name="orders"))
    extract(shop.clone(name="other")())
    renamed = shop()
    extract([renamed.orders.with_name("late"), renamed.orders])
