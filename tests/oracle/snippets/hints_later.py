"""Hints that are changed, added and taken back after a resource was declared."""

import dlt


def lines(**hints):
    return dlt.resource([{"id": 1}], name="lines", **hints)


def run(extract):
    extract(lines(primary_key="id").apply_hints(primary_key="number"))
    extract(lines(primary_key="id").apply_hints(primary_key=""))
    extract(
        lines(columns={"id": {"data_type": "text"}}).apply_hints(columns=[{"name": "b", "data_type": "bool"}])
    )
    extract(lines(columns={"id": {"data_type": "text"}}).apply_hints(columns={"id": {"nullable": False}}))
    extract(lines(columns={"id": {"data_type": "text"}}).apply_hints(columns=[]))
    extract(lines(table_name="a").apply_hints(table_name="b", write_disposition="replace"))
    extract(lines(table_name="a").apply_hints(table_name=""))
    extract(lines().apply_hints(table_name="other", primary_key="id", create_table_variant=True))
