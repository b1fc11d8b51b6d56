"""Rows of one dataset, loaded into another one."""

import dlt

first = dlt.pipeline("moved_first", destination="duckdb", dataset_name="raw")
first.run(
    [{"id": number, "city": "Rome" if number % 2 else "Oslo"} for number in range(6)], table_name="visits"
)


@dlt.resource(name="visits_per_city", write_disposition="replace")
def per_city():
    query = "SELECT city, count(*) AS visits FROM visits GROUP BY city ORDER BY city"
    for city, visits in first.dataset()(query).fetchall():
        yield {"city": city, "visits": visits}


second = dlt.pipeline("moved_second", destination="duckdb", dataset_name="reports")
second.run(per_city())
