"""A transformer fed by a resource."""

import dlt


@dlt.resource(selected=False)
def authors():
    yield [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Grace"}]


@dlt.transformer(data_from=authors)
def books(page):
    for author in page:
        yield {"author": author["name"], "title": f"Book of {author['name']}", "pages": author["id"] * 100}


@dlt.transformer
def shouted(item, mark="!"):
    return {**item, "title": item["title"].upper() + mark}


pipeline = dlt.pipeline("transformer", destination="duckdb", dataset_name="library")
pipeline.run([authors | books, (authors | books | shouted("?")).with_name("shouted")])
