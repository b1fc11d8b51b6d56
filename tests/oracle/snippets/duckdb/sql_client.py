"""Statements by the SQL client."""

import dlt

pipeline = dlt.pipeline("sql_client", destination="duckdb", dataset_name="shop")
pipeline.run([{"id": number, "name": f"n{number}"} for number in range(4)], table_name="items")
with pipeline.sql_client() as client:
    print(client.execute_sql("SELECT count(*) FROM items WHERE id > %s", 1))
    client.execute_sql("DELETE FROM items WHERE name = %s", "n0")
    with client.execute_query("SELECT id, name FROM items ORDER BY id") as cursor:
        print(cursor.fetchmany(2), [column[0] for column in cursor.description])
    with client.begin_transaction():
        client.execute_sql("CREATE TABLE copied AS SELECT id FROM items")
    print(client.dataset_name)
