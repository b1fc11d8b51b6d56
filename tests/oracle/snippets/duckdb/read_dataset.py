"""Reading tables as relations."""

import dlt

pipeline = dlt.pipeline("read_dataset", destination="duckdb", dataset_name="shop")
pipeline.run(
    [{"id": number, "price": number * 1.5, "tags": [{"tag": f"t{number % 2}"}]} for number in range(5)],
    table_name="items",
)
dataset = pipeline.dataset()
items = dataset["items"]
print(items.select("id", "price").order_by("id").limit(2).fetchall())
print(items.where("price", "gt", 3.0).select("id").order_by("id", "desc").fetchall())
print(items["id"].max().fetchscalar(), len(dataset.items.df()), items.columns[:2])
print(dataset("SELECT count(*) FROM items__tags WHERE tag = 't1'").fetchone())
print(sorted(dataset.row_counts().fetchall()))
for chunk in items.select("id").order_by("id").iter_fetch(2):
    print(chunk)
