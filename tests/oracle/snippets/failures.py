"""What is refused, and what fails while it is read."""

import dlt


@dlt.resource
def breaking():
    yield {"n": 1}
    raise KeyError("gone")


@dlt.resource(parallelized=True)
def breaking_in_a_thread():
    yield {"n": 1}
    raise KeyError("gone")


@dlt.transformer
def refusing(row):
    raise ValueError("no")


def run(extract):
    extract(breaking)
    extract(breaking_in_a_thread)
    extract(dlt.resource([1], name="ones") | refusing)
    extract(dlt.resource([1], name="ones").add_map(lambda row: 1 / 0))
    extract([{"a": 1}])
    extract({"a": 1}, table_name="t")
    extract("text", table_name="t")
    extract(7, table_name="t")
    extract([dlt.resource([1], name="same"), dlt.resource([2], name="same")])
    extract(refusing)
    extract.declaring(lambda: dlt.resource([1]))
    extract.declaring(lambda: dlt.resource({"a": 1}, name="t"))
    extract.declaring(dlt.source(lambda: None, name="nothing"))
