"""Items that are marked with a table or with hints."""

import dlt


@dlt.resource
def letters():
    yield dlt.mark.with_table_name([{"v": "a"}], "vowels")
    yield dlt.mark.with_table_name([{"v": "b"}, {"v": "c"}], "consonants")
    yield dlt.mark.with_hints(
        {"v": "7", "deep": {"er": 1}},
        dlt.mark.make_hints(
            table_name="digits", columns={"v": {"data_type": "bigint"}}, write_disposition="replace"
        ),
        create_table_variant=True,
    )


dlt.pipeline("marked_tables", destination="duckdb", dataset_name="alphabet").run(letters())
