"""References between tables, contracts and other properties of tables."""

import dlt

ROWS = [{"Order Id": 1, "customer": 7}]
REFERENCE = {"columns": ["Order Id"], "referenced_table": "All Orders", "referenced_columns": ["Id"]}


def run(extract):
    extract(dlt.resource(ROWS, name="lines", references=[REFERENCE]))
    extract(dlt.resource(ROWS, name="strict", schema_contract={"data_type": "freeze"}))
    extract(
        dlt.resource(ROWS, name="noted").apply_hints(
            additional_table_hints={"x-owner": "ada", "description": "lines of orders"}
        )
    )
