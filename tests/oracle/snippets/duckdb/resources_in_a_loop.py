"""Resources that are made in a loop."""

import dlt


@dlt.source
def tables(names):
    def rows(name):
        yield {"table": name, "length": len(name)}

    for name in names:
        yield dlt.resource(rows(name), name=name, write_disposition="replace")


pipeline = dlt.pipeline("resources_in_a_loop", destination="duckdb", dataset_name="many")
pipeline.run(tables(["alpha", "be", "Gamma Ray"]))
