"""Tables that are declared before they have rows."""

import dlt


@dlt.resource(columns=[{"name": "id", "data_type": "bigint"}, {"name": "text", "data_type": "text"}])
def nothing():
    yield dlt.mark.materialize_table_schema()


pipeline = dlt.pipeline("declared_tables", destination="duckdb", dataset_name="empty")
pipeline.run([nothing(), dlt.resource([{"a": 1}], name="something")])
print(pipeline.dataset().row_counts().fetchall() == [("nothing", 0), ("something", 1)])
