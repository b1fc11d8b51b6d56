"""A source, of which some resources are selected."""

import dlt


@dlt.source(name="shop")
def shop(size=2):
    @dlt.resource
    def products():
        yield [{"sku": number} for number in range(size)]

    @dlt.resource(write_disposition="replace")
    def orders():
        yield {"order": 1, "lines": [{"sku": 0, "amount": 2}]}

    return products, orders, dlt.resource([{"never": "loaded"}], name="secret", selected=False)


source = shop(size=3)
print(sorted(source.resources), sorted(source.selected_resources))
pipeline = dlt.pipeline("source_of_resources", destination="duckdb", dataset_name="shop_data")
pipeline.run(source)
pipeline.run(shop().with_resources("orders"))
print(list(pipeline.schemas))
