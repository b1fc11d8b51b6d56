"""Hints that are given to the run count for all resources."""

import dlt


def run(extract):
    both = [
        dlt.resource([{"id": 1}], name="a"),
        dlt.resource([{"id": 2}], name="b", write_disposition="merge"),
    ]
    extract(both, write_disposition="replace")
    extract(both, table_name="together")
    extract([{"id": 1}], table_name="plain", primary_key="id", columns={"z": {"data_type": "text"}})
    extract((row for row in [{"id": 1}]), table_name="generated", schema_contract="freeze")
    extract(lambda: [{"id": 1}])
    extract(range(3), table_name="numbers")
