"""Iceberg tables in a catalog: `<catalog>.<dataset>.<table>`, with the ledger in files below `bucket_url`."""
