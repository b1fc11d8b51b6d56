"""Delta tables, by path (`<bucket_url>/<dataset>/<table>`, with the ledger beside them) or in a catalog."""
