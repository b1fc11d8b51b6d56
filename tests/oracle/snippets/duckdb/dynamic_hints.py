"""Hints that are functions of the row."""

import dlt


@dlt.resource(
    table_name=lambda row: f"log_{row['level']}",
    primary_key=lambda row: "id" if row["level"] == "info" else "code",
    write_disposition=lambda row: "merge" if row["level"] == "info" else "append",
)
def log(rows):
    yield rows


pipeline = dlt.pipeline("dynamic_hints", destination="duckdb", dataset_name="logs")
for text in ("a", "b"):
    pipeline.run(log([{"level": "info", "id": 1, "text": text}, {"level": "error", "code": 5, "text": text}]))
