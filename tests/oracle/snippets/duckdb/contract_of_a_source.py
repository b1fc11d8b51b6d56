"""A contract for all tables of a source, which a resource loosens."""

import dlt


@dlt.source(schema_contract={"columns": "discard_value", "tables": "evolve"})
def measured(extra):
    @dlt.resource(columns={"id": {"data_type": "bigint"}})
    def strict():
        yield {"id": 1, **extra}

    @dlt.resource(schema_contract="evolve")
    def loose():
        yield {"id": 1, **extra}

    return strict, loose


pipeline = dlt.pipeline("contract_of_a_source", destination="duckdb", dataset_name="lab")
pipeline.run(measured({}))
pipeline.run(measured({"more": "x"}))
